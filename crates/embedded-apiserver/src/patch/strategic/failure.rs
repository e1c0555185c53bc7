//! The errors of strategic merge patches, and the keys of their directives.

use serde_json::{Map, Value};

use crate::patch::go_text;
use crate::patch::refusal::unprocessable;
use crate::status::Status;

/// The key of a directive in an object: `delete`, `replace` or, in lists, `merge`.
pub(super) const DIRECTIVE: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// The error of a patch, by the response that it gives.
#[derive(Debug)]
pub(super) enum Failure {
    BadRequest(&'static str),
    Unprocessable,
    Other(String),
}

impl Failure {
    pub(super) const BAD_RETAIN_KEYS: Self = Self::BadRequest("invalid patch format of retainKeys");
    pub(super) const BAD_ELEMENT_ORDER: Self =
        Self::BadRequest("invalid patch format of setElementOrder list");
    pub(super) const BAD_PRIMITIVE_LIST: Self = Self::BadRequest("invalid patch format of primitive list");

    /// A value has another type than a directive or merge needs.
    pub(super) fn wrong_type(expected: &'static str, actual: &Value) -> Self {
        let actual = if actual.is_null() { "%!s(<nil>)" } else { go_text::type_of(actual) };
        Self::Other(format!("expected a {expected}, but received a {actual}"))
    }

    pub(super) fn no_merge_key(item: &Map<String, Value>, key: &str) -> Self {
        let item = go_text::plain(&Value::Object(item.clone()));
        Self::Other(format!("map: {item} does not contain declared merge key: {key}"))
    }

    pub(super) fn unknown_directive(directive: &Value, item: &Map<String, Value>) -> Self {
        let item = go_text::plain(&Value::Object(item.clone()));
        let directive = go_text::as_text(directive);
        Self::Other(format!("unknown patch type: {directive} in map: {item}"))
    }

    pub(super) fn into_status(self) -> Status {
        match self {
            Self::BadRequest(message) => Status::bad_request(message),
            Self::Unprocessable => unprocessable(),
            Self::Other(message) => Status::new(500, "", message),
        }
    }
}
