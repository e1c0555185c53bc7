//! Failed checks of fields, as `k8s.io/apimachinery/pkg/util/validation/field` prints them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use crate::status::{Cause, Status};

use super::go;

/// A path to a field, made on the stack and printed only for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The path of a field of the object.
    pub(crate) const fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// `path.name`.
    pub(crate) const fn child(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Name(name) }
    }

    /// `path[index]`.
    pub(crate) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match (self.step, self.parent) {
            (Step::Name(name), None) => formatter.write_str(name),
            (Step::Name(name), Some(_)) => write!(formatter, ".{name}"),
            (Step::Index(index), _) => write!(formatter, "[{index}]"),
        }
    }
}

/// A value that a check refuses.
pub(crate) enum Bad<'a> {
    /// A Go `string`, printed with `%q`.
    Text(&'a str),
    /// A number or boolean.
    Plain(i64),
    /// Anything else, also strings of a named type: printed as JSON.
    Json(Cow<'a, Value>),
    /// Printed as it is.
    Raw(String),
}

impl From<String> for Bad<'_> {
    fn from(printed: String) -> Self {
        Self::Raw(printed)
    }
}

impl<'a> From<&'a str> for Bad<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Bad<'_> {
    fn from(number: i64) -> Self {
        Self::Plain(number)
    }
}

impl<'a> From<&'a Value> for Bad<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Json(Cow::Borrowed(value))
    }
}

impl From<Value> for Bad<'_> {
    fn from(value: Value) -> Self {
        Self::Json(Cow::Owned(value))
    }
}

impl fmt::Display for Bad<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(&go::quote(text)),
            Self::Plain(number) => number.fmt(formatter),
            Self::Raw(printed) => formatter.write_str(printed),
            Self::Json(value) => formatter.write_str(&go::json(value)),
        }
    }
}

/// One failed check of one field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FieldError {
    /// The type as in `Status.details.causes[].reason`, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// The path, such as `spec.ports[0].port`.
    pub(crate) field: String,
    /// The message without the path.
    pub(crate) detail: String,
}

/// The failed checks of an object, in upstream's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Errors(Vec<FieldError>);

impl Errors {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Keeps the first of equal errors (`ErrorList.Filter`, which since 1.37 all errors of kinds pass).
    pub(crate) fn deduplicate(&mut self) {
        let mut seen = HashSet::new();
        self.0.retain(|error| seen.insert(error.clone()));
    }

    /// A value that must be given is not.
    pub(crate) fn required(&mut self, path: &Path<'_>, detail: &str) {
        self.push("FieldValueRequired", path, "Required value".to_owned(), detail);
    }

    /// A malformed value.
    pub(crate) fn invalid<'a>(&mut self, path: &Path<'_>, bad: impl Into<Bad<'a>>, detail: &str) {
        self.push("FieldValueInvalid", path, format!("Invalid value: {}", bad.into()), detail);
    }

    /// A malformed value, once for each message.
    pub(crate) fn invalid_each(&mut self, path: &Path<'_>, bad: &str, messages: &[String]) {
        for message in messages {
            self.invalid(path, bad, message);
        }
    }

    /// A value that is none of the known ones.
    pub(crate) fn not_supported<'a>(&mut self, path: &Path<'_>, bad: impl Into<Bad<'a>>, known: &[&str]) {
        let known: Vec<_> = known.iter().map(|known| go::quote(known)).collect();
        let detail =
            if known.is_empty() { String::new() } else { format!("supported values: {}", known.join(", ")) };
        self.push("FieldValueNotSupported", path, format!("Unsupported value: {}", bad.into()), &detail);
    }

    /// A value that must be unique and is not.
    pub(crate) fn duplicate<'a>(&mut self, path: &Path<'_>, bad: impl Into<Bad<'a>>) {
        self.push("FieldValueDuplicate", path, format!("Duplicate value: {}", bad.into()), "");
    }

    /// A value that is well-formed but not allowed here.
    pub(crate) fn forbidden(&mut self, path: &Path<'_>, detail: &str) {
        self.push("FieldValueForbidden", path, "Forbidden".to_owned(), detail);
    }

    /// A failure that is not the client's.
    pub(crate) fn internal(&mut self, path: &Path<'_>, detail: &str) {
        self.push("InternalError", path, "Internal error".to_owned(), detail);
    }

    /// A value of too many bytes.
    pub(crate) fn too_long(&mut self, path: &Path<'_>, limit: usize) {
        let detail = format!("may not be more than {limit} byte{}", if limit == 1 { "" } else { "s" });
        self.push("FieldValueTooLong", path, "Too long".to_owned(), &detail);
    }

    /// A list of too many items.
    pub(crate) fn too_many(&mut self, path: &Path<'_>, actual: usize, limit: usize) {
        let detail = format!("must have at most {limit} item{}", if limit == 1 { "" } else { "s" });
        self.push("FieldValueTooMany", path, format!("Too many: {actual}"), &detail);
    }

    /// The checks as 422 `Invalid` (`errors.NewInvalid`).
    pub(crate) fn into_status(self, group: &str, kind: &str, name: &str) -> Status {
        let of = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let colon = if self.is_empty() { "" } else { ": " };
        let message = format!("{of} {} is invalid{colon}{self}", go::quote(name));
        let mut status = Status::new(422, "Invalid", message).about(group, kind, name);
        status.details.get_or_insert_default().causes = self
            .0
            .into_iter()
            .map(|error| Cause {
                reason: Cow::Borrowed(error.reason),
                message: error.detail,
                field: error.field,
            })
            .collect();
        status
    }

    fn push(&mut self, reason: &'static str, path: &Path<'_>, mut body: String, detail: &str) {
        if !detail.is_empty() {
            body.push_str(": ");
            body.push_str(detail);
        }
        self.0.push(FieldError { reason, field: path.to_string(), detail: body });
    }
}

impl fmt::Display for Errors {
    /// Prints all messages, each once (`ToAggregate`).
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.0.iter().map(|error| format!("{}: {}", error.field, error.detail));
        let mut seen = HashSet::new();
        let messages: Vec<String> = all.filter(|message| seen.insert(message.clone())).collect();
        match messages.as_slice() {
            [one] => formatter.write_str(one),
            [] => Ok(()),
            many => write!(formatter, "[{}]", many.join(", ")),
        }
    }
}
