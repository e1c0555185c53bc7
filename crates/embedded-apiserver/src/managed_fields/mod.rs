//! Field management: which client owns which fields, and server-side apply.
//!
//! Every write records in `metadata.managedFields` what it has changed. Sources: KEP-555, structured-merge-diff v6,
//! apimachinery `util/managedfields`.

mod apply;
mod check;
mod collect;
mod compare;
mod conflict;
mod element;
mod entries;
mod fields_v1;
mod last_applied;
mod merge;
mod owners;
mod remove;
mod reset;
mod set;
mod shape;
mod times;
mod update;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::schema::Type;

use compare::Comparison;

pub(crate) use reset::reset_fields;
pub(crate) use times::keep_times;
pub(crate) use update::manager_of;

/// The field management of a resource, or of a subresource of it, in one API version.
#[derive(Clone, Copy)]
pub(crate) struct FieldManager<'k> {
    /// The type of its objects.
    pub(crate) of: &'static Type,
    /// Group and version as in `apiVersion`.
    pub(crate) api_version: &'k str,
    /// The kind.
    pub(crate) kind: &'k str,
    /// `status`, …, or empty for the object itself.
    pub(crate) subresource: &'k str,
    /// Fields that requests cannot change here; see [`reset_fields`].
    pub(crate) reset: &'k [&'k [&'k str]],
}

impl FieldManager<'_> {
    /// Leaves the fields out of a comparison that requests cannot change.
    fn filter(&self, comparison: &mut Comparison<'_>) {
        for path in self.reset {
            comparison.removed.remove_below(path);
            comparison.modified.remove_below(path);
            comparison.added.remove_below(path);
        }
    }
}

/// The fields of every object that have no owner. Source: apimachinery `stripMetaManager`.
const OWNERLESS: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

fn stored_entries(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn set_entries(object: &mut Value, entries: Option<Value>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    match entries {
        Some(entries) => drop(metadata.insert("managedFields".to_owned(), entries)),
        None => drop(metadata.remove("managedFields")),
    }
}
