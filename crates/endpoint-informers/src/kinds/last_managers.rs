//! The clients that wrote an object last.

use std::sync::Arc;

use endpointslice::Interner;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};

/// The field managers of the newest entries of an object's `metadata.managedFields`.
///
/// Times there are whole seconds, so there may be several managers. There are none if the last change left no entry, as
/// a change that only removes fields of others.
///
/// Memory: two words, and a shared list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastManagers(Arc<[Arc<str>]>);

impl LastManagers {
    /// Managers with these names.
    pub(crate) fn new<'a>(managers: impl IntoIterator<Item = &'a str>, interner: &mut Interner) -> Self {
        Self(interner.strings(managers))
    }

    /// The last managers of decoded metadata, by the rules of [`kube_protobuf::last_managers`].
    pub(crate) fn of(metadata: &ObjectMeta, interner: &mut Interner) -> Self {
        let entries = || metadata.managed_fields.iter().flatten();
        let second = |entry: &ManagedFieldsEntry| entry.time.as_ref().map(|time| time.0.as_second());
        let newest = entries().filter_map(second).max();
        let mut managers: Vec<&str> = Vec::new();
        for entry in entries().filter(|entry| newest.is_some() && second(entry) == newest) {
            let manager = entry.manager.as_deref().unwrap_or_default();
            if managers.len() < kube_protobuf::MAX_LAST_MANAGERS && !managers.contains(&manager) {
                managers.push(manager);
            }
        }
        Self::new(managers, interner)
    }

    /// The last manager other than `manager`, if one is known.
    pub(crate) fn other_than(&self, manager: &str) -> Option<&Arc<str>> {
        self.0.iter().find(|other| ***other != *manager)
    }

    /// True if `manager` wrote last, and no other client in the same second.
    pub(crate) fn are_only(&self, manager: &str) -> bool {
        matches!(&*self.0, [only] if **only == *manager)
    }
}
