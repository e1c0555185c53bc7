//! The clients that wrote an object last.

use std::sync::Arc;

use endpointslice::Interner;

/// The field managers of the newest entries of an object's `metadata.managedFields`. Times there are whole seconds, so
/// there may be several; and none, if the last change left no entry, as one that only removes fields of others.
///
/// Memory: two words, and a shared string for each manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writers(Box<[Arc<str>]>);

impl Writers {
    /// These managers, with shared names.
    pub(crate) fn new<'a>(managers: impl IntoIterator<Item = &'a str>, interner: &mut Interner) -> Self {
        Self(managers.into_iter().map(|manager| interner.string(manager)).collect())
    }

    /// The last writer that is not `manager`, if one is known.
    pub fn other_than(&self, manager: &str) -> Option<&Arc<str>> {
        self.0.iter().find(|writer| ***writer != *manager)
    }

    /// True if `manager` wrote last, and no other client in the same second.
    pub fn are_only(&self, manager: &str) -> bool {
        matches!(&*self.0, [writer] if **writer == *manager)
    }
}
