//! The errors of the API, as `meta/v1 Status`.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// An error as clients see it: `meta/v1 Status` with status `Failure`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Status {
    /// The HTTP status code.
    pub(crate) code: u16,
    /// The machine-readable reason, such as `NotFound`. Empty if unknown.
    pub(crate) reason: Cow<'static, str>,
    /// The text for people.
    pub(crate) message: String,
    /// The object and the causes.
    pub(crate) details: Option<Box<Details>>,
    /// `metadata.continue`: continues a list whose version is compacted, at the current version. Usually empty.
    pub(crate) continue_token: String,
}

/// The subject of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Details {
    /// The name of the object.
    pub(crate) name: String,
    /// Its API group, empty for the core group.
    pub(crate) group: String,
    /// Its kind or, in most errors, its resource.
    pub(crate) kind: String,
    /// Single causes.
    pub(crate) causes: Vec<Cause>,
    /// Seconds to wait before a retry; 0 if there is no such advice.
    pub(crate) retry_after_seconds: u32,
}

/// One cause of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The machine-readable type, such as `FieldValueInvalid`.
    pub(crate) reason: Cow<'static, str>,
    /// The text for people.
    pub(crate) message: String,
    /// The path of the field.
    pub(crate) field: String,
}

impl Status {
    /// An error without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: message.into(),
            details: None,
            continue_token: String::new(),
        }
    }

    /// Adds empty details, which some errors have.
    pub(crate) fn with_details(mut self) -> Self {
        self.details.get_or_insert_default();
        self
    }

    /// Adds the subject: group, resource (or kind) and name.
    pub(crate) fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        group.clone_into(&mut details.group);
        kind.clone_into(&mut details.kind);
        name.clone_into(&mut details.name);
        self
    }

    /// 404: no such object.
    pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let of = qualified(resource, group);
        Self::new(404, "NotFound", format!("{of} \"{name}\" not found")).about(group, resource, name)
    }

    /// 409: an object of this name exists.
    pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let of = qualified(resource, group);
        Self::new(409, "AlreadyExists", format!("{of} \"{name}\" already exists"))
            .about(group, resource, name)
    }

    /// 409: the write does not fit the stored object.
    pub(crate) fn conflict(group: &str, resource: &str, name: &str, cause: &str) -> Self {
        let of = qualified(resource, group);
        let message = format!("Operation cannot be fulfilled on {of} \"{name}\": {cause}");
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    /// 400: the request cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403: the request is understood and refused.
    pub(crate) fn forbidden(group: &str, resource: &str, name: &str, cause: &str) -> Self {
        let of = qualified(resource, group);
        let message = if name.is_empty() {
            format!("{of} is forbidden: {cause}")
        } else {
            format!("{of} \"{name}\" is forbidden: {cause}")
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    /// 500: an error of this server.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        let message = format!("Internal error occurred: {cause}");
        let mut status = Self::new(500, "InternalError", message);
        status.details.get_or_insert_default().causes.push(Cause {
            reason: Cow::Borrowed(""),
            message: cause.to_string(),
            field: String::new(),
        });
        status
    }

    /// 410: the requested version was compacted.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The object as JSON, with kind and apiVersion.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = Map::new();
        status.insert("kind".into(), "Status".into());
        status.insert("apiVersion".into(), "v1".into());
        let mut metadata = Map::new();
        insert_unless_empty(&mut metadata, "continue", &self.continue_token);
        status.insert("metadata".into(), metadata.into());
        status.insert("status".into(), "Failure".into());
        insert_unless_empty(&mut status, "message", &self.message);
        insert_unless_empty(&mut status, "reason", &self.reason);
        if let Some(details) = &self.details {
            status.insert("details".into(), details.to_json());
        }
        status.insert("code".into(), self.code.into());
        Value::Object(status)
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut details = Map::new();
        for (key, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            insert_unless_empty(&mut details, key, value);
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(|cause| {
                let mut fields = Map::new();
                insert_unless_empty(&mut fields, "reason", &cause.reason);
                insert_unless_empty(&mut fields, "message", &cause.message);
                insert_unless_empty(&mut fields, "field", &cause.field);
                Value::Object(fields)
            });
            details.insert("causes".into(), causes.collect());
        }
        if self.retry_after_seconds > 0 {
            details.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(details)
    }
}

fn insert_unless_empty(fields: &mut Map<String, Value>, key: &str, value: &str) {
    if !value.is_empty() {
        fields.insert(key.to_owned(), value.into());
    }
}

/// `endpointslices.discovery.k8s.io`, or `pods` in the core group.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}
