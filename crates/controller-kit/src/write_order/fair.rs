//! A queue of keys that serves namespaces in proportion: start-time fair queueing with equal weights.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::key::ObjectKey;

/// The keys of one urgency. The namespace that has received least comes first; within it, the key that came first.
///
/// A namespace without keys is remembered until the others have received as much: one that comes back takes up its place, and has
/// no claim on the past. Cost: O(log n).
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    namespaces: BTreeMap<Arc<str>, Namespace>,
    /// The namespaces that have keys, by the service that they have received.
    turns: BTreeSet<(u64, Arc<str>)>,
    /// The others, in the same way.
    idle: BTreeSet<(u64, Arc<str>)>,
    /// The service that the last served namespace had received before its turn; a new namespace begins there.
    virtual_time: u64,
}

#[derive(Debug)]
struct Namespace {
    served: u64,
    keys: BTreeMap<u64, ObjectKey>,
}

impl FairQueue {
    /// Adds a key with a number that orders it within its namespace.
    pub(super) fn insert(&mut self, number: u64, key: ObjectKey) {
        let (served, name) = (self.virtual_time, Arc::clone(&key.namespace));
        let new = || Namespace { served, keys: BTreeMap::new() };
        let namespace = self.namespaces.entry(Arc::clone(&name)).or_insert_with(new);
        if namespace.keys.is_empty() {
            self.idle.remove(&(namespace.served, Arc::clone(&name)));
            self.turns.insert((namespace.served, name));
        }
        namespace.keys.insert(number, key);
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, number: u64, namespace: &Arc<str>) {
        let Some(of_key) = self.namespaces.get_mut(namespace) else { return };
        of_key.keys.remove(&number);
        if of_key.keys.is_empty() && self.turns.remove(&(of_key.served, Arc::clone(namespace))) {
            self.idle.insert((of_key.served, Arc::clone(namespace)));
            self.forget_idle();
        }
    }

    /// The key whose turn it is.
    pub(super) fn first(&self) -> Option<&ObjectKey> {
        let (_, namespace) = self.turns.first()?;
        self.namespaces.get(namespace)?.keys.first_key_value().map(|(_, key)| key)
    }

    /// Charges the namespace whose turn it is for `cost` writes.
    pub(super) fn charge(&mut self, cost: u32) {
        let Some((served, name)) = self.turns.pop_first() else { return };
        // Before this turn: one that is new comes after those that have received less, and waits for no longer than a round.
        self.virtual_time = self.virtual_time.max(served);
        let served = served.saturating_add(u64::from(cost));
        if let Some(namespace) = self.namespaces.get_mut(&name) {
            namespace.served = served;
            self.turns.insert((served, name));
        }
        self.forget_idle();
    }

    /// Forgets the namespaces without keys that would begin where one that is new does; all of them if no key waits.
    fn forget_idle(&mut self) {
        let is_quiet = self.turns.is_empty();
        while let Some((served, name)) = self.idle.first().cloned()
            && (is_quiet || served <= self.virtual_time)
        {
            self.idle.pop_first();
            self.namespaces.remove(&name);
        }
    }
}
