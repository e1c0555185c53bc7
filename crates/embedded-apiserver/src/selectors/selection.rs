//! All selectors of a request together.

use std::sync::Arc;

use super::fields::{FieldSelector, SelectableField, field_is};
use super::labels::LabelSelector;
use super::scan::metadata;
use super::shards::ShardSelector;
use crate::store::Stored;

/// The objects that a list or watch asks for within its namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) shards: Option<ShardSelector>,
    /// The fields of the kind.
    pub(crate) selectable: Arc<[SelectableField]>,
}

impl Selection {
    /// True if labels and fields select everything. Shards are no part of this, as in `SelectionPredicate.Empty`.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True if every object matches, so that scanning can be skipped.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_empty() && self.shards.is_none()
    }

    /// True if an object is selected.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        let body = object.body();
        (self.labels.is_empty() || self.labels.matches(metadata(body)))
            && self.fields.matches(object.namespace(), object.name(), body, &self.selectable)
            && self.shards.as_ref().is_none_or(|shards| shards.matches(object))
    }

    /// True if an object has a value in one field of its kind.
    pub(crate) fn field_is(&self, object: &Stored, label: &str, value: &str) -> bool {
        field_is(object.body(), label, value, &self.selectable)
    }
}
