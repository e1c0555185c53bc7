//! Changes of kinds that this crate does not know.

use std::any::Any;

use crate::resource::{Change, Resource};

/// A change of an object of some [`CustomResource`](super::CustomResource).
#[derive(Clone, Copy)]
pub struct CustomChange<'a> {
    /// A [`Change`].
    change: &'a (dyn Any + Send + Sync),
    namespace: &'a str,
}

impl<'a> CustomChange<'a> {
    pub(crate) fn new<K: Resource>(change: &'a Change<K>) -> Self {
        Self { change, namespace: change.latest().namespace() }
    }

    /// The namespace of the object; empty for cluster-scoped kinds.
    pub(crate) fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// The change, if it is one of this kind.
    pub fn of<K: Resource>(&self) -> Option<&'a Change<K>> {
        self.change.downcast_ref()
    }
}
