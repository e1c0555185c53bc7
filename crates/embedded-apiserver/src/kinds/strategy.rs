//! A kind, and its rules as functions that [`write`](super::write) calls in upstream's order.

use std::sync::Arc;

use serde_json::Value;

use crate::environment::Environment;
use crate::status::Status;

use super::allocation::{Allocators, Reservation};
use super::field::Errors;

/// One kind in one API version.
#[expect(clippy::struct_field_names, reason = "the API calls the field so")]
pub(crate) struct Kind {
    /// The API group; empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    /// The resource, such as `pods`.
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// The name of its Go type in the schema.
    pub(crate) type_name: &'static str,
    pub(crate) verbs: &'static [&'static str],
    pub(crate) subresources: &'static [Subresource],
    /// Labels of field selectors besides `metadata.name` and `metadata.namespace`.
    pub(crate) selectable_fields: &'static [SelectableField],
    /// The text of the `Warning` header of every request.
    pub(crate) deprecation: Option<&'static str>,
    pub(crate) strategy: &'static dyn Strategy,
}

/// A label that field selectors may use.
pub(crate) struct SelectableField {
    pub(crate) label: &'static str,
    /// Dotted paths in the stored object: the first that is neither absent nor empty is the value.
    pub(crate) paths: &'static [&'static str],
    /// The value if there is none.
    pub(crate) absent: &'static str,
}

/// A part of an object, or an action on it, with an address of its own.
pub(crate) struct Subresource {
    /// The last segment of the path, such as `status`.
    pub(crate) name: &'static str,
    /// The group and version of its bodies, if they are not those of the resource.
    pub(crate) group_version: Option<(&'static str, &'static str)>,
    /// The kind of its bodies, as discovery names it.
    pub(crate) kind: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

impl Kind {
    /// The group and version as in `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Answers what a rule asks about other objects.
pub(crate) trait Cluster: Send + Sync {
    /// The labels of a node; absent if there is no such node.
    fn node_labels(&self, name: &str) -> Option<Value>;
}

/// The request in which a strategy is called.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) kind: &'a Kind,
    /// The namespace of the path; empty for cluster-scoped kinds.
    pub(crate) namespace: &'a str,
    /// `status`, …, or empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) dry_run: bool,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) allocators: &'a Arc<Allocators>,
    pub(crate) cluster: &'a dyn Cluster,
}

/// The rules of a kind. Objects are canonical trees: fields are absent if Go's encoder would leave them out.
///
/// [`default`](Self::default) is a function of the object alone; the others are called by [`super::before_create`] and
/// [`super::before_update`].
pub(crate) trait Strategy: Send + Sync {
    /// Fills the defaults of a decoded object, at every write and before patches are validated, and does what upstream's
    /// conversion to the internal type and back does to it.
    fn default(&self, _object: &mut Value) {}

    /// Does what upstream's built-in admission plugins do to the object. `old` is absent at creation.
    fn admit(&self, _scope: &Scope<'_>, _object: &mut Value, _old: Option<&Value>) {}

    /// Allocates what is unique in the cluster, such as cluster IPs, before the object is validated (upstream's
    /// `BeginCreate` and `BeginUpdate`). `old` is absent at creation.
    /// Errors: nothing is left to allocate, or the requested value is taken.
    fn begin(
        &self,
        _scope: &Scope<'_>,
        _object: &mut Value,
        _old: Option<&Value>,
    ) -> Result<Reservation, Status> {
        Ok(Reservation::default())
    }

    /// Clears what clients may not set and fills what the server sets.
    fn prepare_for_create(&self, _scope: &Scope<'_>, _object: &mut Value) {}

    /// Checks a new object.
    fn validate(&self, _scope: &Scope<'_>, _object: &Value, _errors: &mut Errors) {}

    /// Restores what this request may not change, and bumps `metadata.generation` where the kind has one.
    fn prepare_for_update(&self, _scope: &Scope<'_>, _object: &mut Value, _old: &Value) {}

    /// Checks a changed object.
    fn validate_update(&self, _scope: &Scope<'_>, _object: &Value, _old: &Value, _errors: &mut Errors) {}

    /// Changes the object after it was found valid.
    fn canonicalize(&self, _object: &mut Value) {}

    /// True if a `PUT` of an unknown name creates it (upstream's `AllowCreateOnUpdate`).
    fn creates_on_update(&self) -> bool {
        false
    }

    /// True if an update without a resourceVersion overwrites what is there (`AllowUnconditionalUpdate`).
    fn updates_unconditionally(&self) -> bool {
        true
    }

    /// The grace period in seconds of a deletion, from the one that the client asks for (`CheckGracefulDelete`). Absent if
    /// the kind knows no graceful deletion; 0 deletes at once.
    fn grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// True if the garbage collector follows owners and dependents of this kind (`DefaultGarbageCollectionPolicy`).
    fn is_collected(&self) -> bool {
        true
    }

    /// Releases what a deleted object had allocated.
    fn release(&self, _allocators: &Allocators, _object: &Value) {}

    /// Reserves what a stored object has allocated, when objects are loaded without the rules.
    fn adopt(&self, _allocators: &Allocators, _object: &Value) {}
}
