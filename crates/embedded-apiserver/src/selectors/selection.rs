//! All selectors of a request together.

use std::sync::Arc;

use super::fields::{FieldSelector, SelectableField};
use super::labels::LabelSelector;
use super::scan::metadata;
use crate::store::Stored;

/// The objects that a list or watch asks for within its namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// The fields of the kind.
    pub(crate) selectable: Arc<[SelectableField]>,
}

impl Selection {
    /// True if every object matches, so that scanning can be skipped.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True if an object is selected.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        let body = object.body();
        (self.labels.is_empty() || self.labels.matches(metadata(body)))
            && self.fields.matches(object.namespace(), object.name(), body, &self.selectable)
    }
}
