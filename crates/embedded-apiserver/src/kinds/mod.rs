//! The table of kinds: one entry each, with its names, its schema type and its rules.

mod allocation;
mod checks;
mod content;
mod endpoints;
mod endpointslice;
mod event;
mod field;
mod go;
mod ip;
mod lease;
mod metadata;
mod namespace;
mod node;
mod pod;
mod quantity;
mod service;
mod service_account;
mod strategy;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod workload;
mod write;

pub(crate) use allocation::{Allocators, Ranges};
pub(crate) use field::{Errors, FieldError, Path};
pub(crate) use strategy::{Cluster, Scope, Strategy};
pub(crate) use table::KINDS;
pub(crate) use write::{Prepared, before_create, before_update};

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
    /// Labels of field selectors besides `metadata.name` and `metadata.namespace`. Paths are those of the storage type.
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

    /// Says whether field selectors may use the label.
    ///
    /// # Errors
    /// They may not; the text is that of upstream's 400 `BadRequest`.
    pub(crate) fn check_field_label(&self, label: &str) -> Result<(), String> {
        if matches!(label, "metadata.name" | "metadata.namespace")
            && (self.namespaced || label == "metadata.name")
        {
            return Ok(());
        }
        if self.selectable_fields.iter().any(|field| field.label == label) {
            return Ok(());
        }
        if self.selectable_fields.is_empty() {
            if label == "metadata.namespace" {
                return Ok(());
            }
            let label = go::quote(label);
            return Err(format!(
                "{label} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ));
        }
        Err(format!("field label not supported: {label}"))
    }
}
