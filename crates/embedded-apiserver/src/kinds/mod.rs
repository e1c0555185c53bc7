//! The table of kinds: one entry each, with its names, its schema type and its rules.

mod strategy;
mod table;

pub(crate) use strategy::{FieldError, Scope, Strategy};
pub(crate) use table::KINDS;

/// One kind in one API version.
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
    /// The resource whose objects it shows. Both versions of Events show one; all other kinds show their own.
    pub(crate) storage: &'static str,
    pub(crate) verbs: &'static [&'static str],
    pub(crate) subresources: &'static [Subresource],
    /// Labels of field selectors besides `metadata.name` and `metadata.namespace`, each with its path in the object.
    pub(crate) selectable_fields: &'static [(&'static str, &'static str)],
    pub(crate) strategy: &'static dyn Strategy,
}

/// A part of an object, or an action on it, with an address of its own.
pub(crate) struct Subresource {
    /// The last segment of the path, such as `status`.
    pub(crate) name: &'static str,
    /// The kind of its bodies, as discovery names it.
    pub(crate) kind: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

impl Kind {
    /// The group and version as in `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}
