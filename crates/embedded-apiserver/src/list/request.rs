//! One list or watch: its parameters, applied to a kind and a path.

use std::sync::Arc;

use super::options::ListOptions;
use super::validation::validate;
use crate::selectors::{FieldSelector, SelectableField, Selection};
use crate::status::Status;
use crate::store::{Resource, Stored, key};

/// The longest name of a namespace.
const MAX_NAMESPACE: usize = 63;

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
    /// The field by which its watch cache is indexed: `spec.nodeName` for Pods.
    pub(crate) index: Option<&'static str>,
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
    /// The indexed field and its value, if the selection requires one.
    pub(crate) index: Option<(&'static str, String)>,
    pub(crate) options: ListOptions,
}

impl Request {
    /// Checks the parameters. `name` is the name of the paths `/watch/…/name`.
    ///
    /// # Errors
    /// 422 for parameters that exclude each other, 400 for a field that the kind does not have.
    pub(crate) fn new(target: Target, name: Option<&str>, mut options: ListOptions) -> Result<Self, Status> {
        validate(&options)?;
        let mut fields = std::mem::take(&mut options.fields)
            .for_kind(target.namespaced, &target.selectable)
            .map_err(Status::bad_request)?;
        if let Some(name) = name {
            if fields.is_empty() {
                fields = FieldSelector::of_name(name);
            } else if fields.required_name() != Some(name) {
                return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
            }
        }
        // A continued list is not narrowed. A watch does not look at the token.
        let narrow = options.watch || options.continue_token.is_empty();
        let namespace = match fields.required_namespace() {
            Some(required) if target.namespace.is_empty() && narrow && is_namespace(required) => required,
            _ => &target.namespace,
        };
        let single = match fields.required_name() {
            Some(name) if narrow && is_path_segment(name) && target.namespaced != namespace.is_empty() => {
                Some(key(namespace, name))
            }
            _ => None,
        };
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let index = target.index.and_then(|field| Some((field, fields.required(field)?.to_owned())));
        let labels = std::mem::take(&mut options.labels);
        let selection = Selection { labels, fields, selectable: target.selectable };
        let (resource, cached) = (target.resource, target.cached);
        Ok(Self { resource, cached, prefix, single, selection, index, options })
    }

    /// True if the path selects an object.
    pub(crate) fn in_scope(&self, object: &Stored) -> bool {
        match &self.single {
            Some(key) => object.key() == key,
            None => object.key().starts_with(&self.prefix),
        }
    }
}

fn is_namespace(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_NAMESPACE
        && name.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
        && name.bytes().next().is_some_and(alphanumeric)
        && name.bytes().next_back().is_some_and(alphanumeric)
}

/// True if a name can stand in a path.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}
