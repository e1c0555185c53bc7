//! One list or watch: its parameters, applied to a kind and a path.

use std::sync::Arc;

use super::options::ListOptions;
use crate::kinds::content;
use crate::selectors::{SelectableField, Selection};
use crate::status::Status;
use crate::store::{Resource, Stored, key};

/// The resource that a path names.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: Resource,
    pub(crate) namespaced: bool,
    /// The namespace of the path; empty for all.
    pub(crate) namespace: String,
    /// True if the API server has a watch cache for it: false for Events.
    pub(crate) cached: bool,
    /// The fields of the kind besides name and namespace.
    pub(crate) selectable: Arc<[SelectableField]>,
}

/// A list or watch, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) resource: Resource,
    pub(crate) cached: bool,
    /// Empty, or `namespace/`.
    pub(crate) prefix: String,
    /// The key of the only object that can be selected.
    pub(crate) single: Option<String>,
    pub(crate) selection: Selection,
    pub(crate) options: ListOptions,
}

impl Request {
    /// Checks the parameters.
    /// Errors: 400 for a field that the kind does not have.
    pub(crate) fn new(target: Target, mut options: ListOptions) -> Result<Self, Status> {
        let fields = std::mem::take(&mut options.fields)
            .for_kind(target.namespaced, &target.selectable)
            .map_err(Status::bad_request)?;
        // A continued list is not narrowed. A watch does not look at the token.
        let narrow = options.watch || options.continue_token.is_empty();
        let namespace = match fields.required_namespace() {
            Some(required)
                if target.namespace.is_empty() && narrow && content::dns_label(required).is_empty() =>
            {
                required
            }
            _ => &target.namespace,
        };
        let single = match fields.required_name() {
            Some(name) if narrow && is_possible(name) && target.namespaced != namespace.is_empty() => {
                Some(key(namespace, name))
            }
            _ => None,
        };
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let labels = std::mem::take(&mut options.labels);
        let selection = Selection { labels, fields, selectable: target.selectable };
        let (resource, cached) = (target.resource, target.cached);
        Ok(Self { resource, cached, prefix, single, selection, options })
    }

    /// True if the path selects an object.
    pub(crate) fn in_scope(&self, object: &Stored) -> bool {
        match &self.single {
            Some(key) => object.key() == key,
            None => object.key().starts_with(&self.prefix),
        }
    }
}

/// True if an object can have this name.
fn is_possible(name: &str) -> bool {
    !name.is_empty() && content::path_segment(name, false).is_empty()
}
