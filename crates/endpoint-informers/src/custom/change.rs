//! Changes of kinds that this crate does not know.

use std::any::Any;

use crate::resource::{Change, Resource};

/// A change of an object of some [`CustomResource`](super::CustomResource).
#[derive(Clone, Copy)]
pub struct CustomChange<'a>(&'a (dyn Any + Send + Sync));

impl<'a> CustomChange<'a> {
    pub(crate) fn new<K: Resource>(change: &'a Change<K>) -> Self {
        Self(change)
    }

    /// The change, if it is one of this kind.
    pub fn of<K: Resource>(&self) -> Option<&'a Change<K>> {
        self.0.downcast_ref()
    }
}
