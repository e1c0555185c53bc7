//! The errors of the API, as `meta/v1 Status`.

use std::borrow::Cow;

use serde_json::{Value, json};

/// An error as clients see it: `meta/v1 Status` with status `Failure`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`. Empty if unknown.
    pub reason: Cow<'static, str>,
    /// The text for people.
    pub message: String,
    /// The object and the causes.
    pub details: Option<Box<Details>>,
    /// `metadata.continue`: continues a list whose version is compacted, at the current version. Usually empty.
    pub continue_token: String,
}

/// The subject of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// The name of the object.
    pub name: String,
    /// Its API group, empty for the core group.
    pub group: String,
    /// Its kind or, in most errors, its resource.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// Single causes.
    pub causes: Vec<Cause>,
    /// Seconds to wait before a retry; 0 if there is no such advice.
    pub retry_after_seconds: u32,
}

/// One cause of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable type, such as `FieldValueInvalid`.
    pub reason: Cow<'static, str>,
    /// The text for people.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

impl Status {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: message.into(),
            details: None,
            continue_token: String::new(),
        }
    }

    /// Adds empty details, which some errors have.
    #[must_use]
    pub fn with_details(mut self) -> Self {
        self.details.get_or_insert_default();
        self
    }

    /// Adds the subject: group, resource (or kind) and name.
    #[must_use]
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        group.clone_into(&mut details.group);
        kind.clone_into(&mut details.kind);
        name.clone_into(&mut details.name);
        self
    }

    /// 404: no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let of = qualified(resource, group);
        Self::new(404, "NotFound", format!("{of} \"{name}\" not found")).about(group, resource, name)
    }

    /// 409: an object of this name exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let of = qualified(resource, group);
        Self::new(409, "AlreadyExists", format!("{of} \"{name}\" already exists"))
            .about(group, resource, name)
    }

    /// 409: the write does not fit the stored object.
    pub fn conflict(group: &str, resource: &str, name: &str, cause: &str) -> Self {
        let of = qualified(resource, group);
        let message = format!("Operation cannot be fulfilled on {of} \"{name}\": {cause}");
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403: the request is understood and refused.
    pub fn forbidden(group: &str, resource: &str, name: &str, cause: &str) -> Self {
        let of = qualified(resource, group);
        let message = if name.is_empty() {
            format!("{of} is forbidden: {cause}")
        } else {
            format!("{of} \"{name}\" is forbidden: {cause}")
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    /// 500: an error of this server.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
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
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The object as JSON, with kind and apiVersion.
    pub fn to_json(&self) -> Value {
        let details = self.details.as_ref().map(|details| {
            let causes = details.causes.iter().map(|Cause { reason, message, field }| {
                present(json!({ "reason": reason, "message": message, "field": field }))
            });
            present(json!({
                "name": details.name,
                "group": details.group,
                "kind": details.kind,
                "uid": details.uid,
                "causes": causes.collect::<Value>(),
                "retryAfterSeconds": details.retry_after_seconds,
            }))
        });
        present(json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": present(json!({ "continue": self.continue_token })),
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }))
    }
}

/// The object without fields that are empty, zero or null. Objects stay.
fn present(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !(value.is_null() || *value == "" || *value == 0 || *value == json!([])));
    }
    object
}

/// `endpointslices.discovery.k8s.io`, or `pods` in the core group.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}
