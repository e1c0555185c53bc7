//! A queue of keys that serves namespaces in proportion: self-clocked fair queueing with equal weights.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::key::ObjectKey;

/// The keys of one urgency. The namespace that has received least comes first; within it, the key that came first.
///
/// A namespace without keys is forgotten, so that one that comes back has no claim on the past. Cost: O(log n).
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    namespaces: BTreeMap<Arc<str>, Namespace>,
    /// The namespaces by the service that they have received.
    turns: BTreeSet<(u64, Arc<str>)>,
    /// The most service that a namespace has received; one that is new begins there (self-clocked fair queueing).
    virtual_time: u64,
}

#[derive(Debug, Default)]
struct Namespace {
    served: u64,
    keys: BTreeMap<u64, ObjectKey>,
}

impl FairQueue {
    /// Adds a key with a number that orders it within its namespace.
    pub(super) fn insert(&mut self, number: u64, key: ObjectKey) {
        let virtual_time = self.virtual_time;
        let (turns, name) = (&mut self.turns, Arc::clone(&key.namespace));
        let namespace = self.namespaces.entry(Arc::clone(&name)).or_insert_with(|| {
            turns.insert((virtual_time, name));
            Namespace { served: virtual_time, keys: BTreeMap::new() }
        });
        namespace.keys.insert(number, key);
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, number: u64, namespace: &Arc<str>) {
        let Some(of_key) = self.namespaces.get_mut(namespace) else { return };
        of_key.keys.remove(&number);
        if of_key.keys.is_empty() {
            self.turns.remove(&(of_key.served, Arc::clone(namespace)));
            self.namespaces.remove(namespace);
        }
    }

    /// The key whose turn it is.
    pub(super) fn first(&self) -> Option<&ObjectKey> {
        let (_, namespace) = self.turns.first()?;
        self.namespaces.get(namespace)?.keys.first_key_value().map(|(_, key)| key)
    }

    /// Charges a namespace for `cost` writes.
    pub(super) fn charge(&mut self, namespace: &Arc<str>, cost: u32) {
        let Some(charged) = self.namespaces.get_mut(namespace) else { return };
        self.turns.remove(&(charged.served, Arc::clone(namespace)));
        charged.served = charged.served.saturating_add(u64::from(cost));
        // With this turn: a namespace that drains and comes back at once must not come before those that have waited.
        self.virtual_time = self.virtual_time.max(charged.served);
        self.turns.insert((charged.served, Arc::clone(namespace)));
    }
}
