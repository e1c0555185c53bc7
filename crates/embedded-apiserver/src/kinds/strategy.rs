//! The rules of a kind, as functions that the write verbs call in a fixed order.

use serde_json::Value;

use crate::environment::Environment;
use crate::status::Status;

use super::Kind;

/// The request in which a strategy is called.
pub(crate) struct Scope<'a> {
    pub(crate) kind: &'a Kind,
    /// The namespace of the path; empty for cluster-scoped kinds.
    pub(crate) namespace: &'a str,
    /// `status`, …, or empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) dry_run: bool,
    pub(crate) environment: &'a dyn Environment,
}

/// One failed check of one field, as `field.Error` of apimachinery prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The type as in `Status.details.causes[].reason`, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// The path, such as `spec.ports[0].port`.
    pub(crate) field: String,
    /// The message without the path.
    pub(crate) detail: String,
}

/// The rules of a kind. Objects are canonical trees: fields are absent if Go's encoder would leave them out.
///
/// Order of a create: decode, [`default`](Self::default), [`prepare_for_create`](Self::prepare_for_create), metadata is
/// filled, [`validate`](Self::validate), [`allocate`](Self::allocate), commit. Of an update: decode, `default`,
/// [`prepare_for_update`](Self::prepare_for_update), [`validate_update`](Self::validate_update), `allocate`, commit.
pub(crate) trait Strategy: Send + Sync {
    /// Fills the defaults of a decoded object, at every write and before patches are validated.
    fn default(&self, _object: &mut Value) {}

    /// Clears what clients may not set and fills what the server sets.
    fn prepare_for_create(&self, _scope: &Scope<'_>, _object: &mut Value) {}

    /// Checks a new object.
    fn validate(&self, _scope: &Scope<'_>, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Restores what this request may not change, and bumps `metadata.generation` where the kind has one.
    fn prepare_for_update(&self, _scope: &Scope<'_>, _object: &mut Value, _old: &Value) {}

    /// Checks a changed object.
    fn validate_update(&self, _scope: &Scope<'_>, _object: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Allocates what is unique in the cluster, such as cluster IPs. `old` is absent at creation, `object` at deletion.
    ///
    /// # Errors
    /// Nothing is left to allocate, or the requested value is taken.
    fn allocate(&self, _scope: &Scope<'_>, _object: Option<&mut Value>, _old: Option<&Value>) -> Result<(), Status> {
        Ok(())
    }

    /// Whether a `PUT` of an unknown name creates it (Leases, EndpointSlices and some others do not: see upstream's
    /// `AllowCreateOnUpdate`).
    fn creates_on_update(&self) -> bool {
        false
    }

    /// Whether an update without a resourceVersion overwrites what is there (`AllowUnconditionalUpdate`).
    fn updates_unconditionally(&self) -> bool {
        true
    }

    /// Texts for the `Warning` header.
    fn warnings(&self, _scope: &Scope<'_>, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }
}

/// The rules of kinds that are only stored.
pub(crate) struct Plain;

impl Strategy for Plain {}
