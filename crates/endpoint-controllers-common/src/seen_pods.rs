//! The pods that the last sync of a Service saw, to find what has changed since.

use std::hash::BuildHasher;
use std::sync::Arc;

use endpoint_informers::kinds::SelectedPods;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::{Pod, Service};
use foldhash::quality::RandomState;
use hashbrown::HashTable;

/// The pods of one Service as its last sync saw them, each with a value that the controller keeps for it.
///
/// A change of a pod replaces its `Arc` in the cache, so a pod is unchanged exactly if the cache has the same `Arc`, and no
/// pod needs to be read to find that out. The pods are kept, so that no other can take the address of one.
///
/// Memory: 32 bytes for each pod and the value, and the pods that the cache has dropped since.
#[derive(Debug)]
pub struct SeenPods<T> {
    slots: Vec<Option<SeenPod<T>>>,
    free: Vec<u32>,
    by_address: HashTable<u32>,
    by_name: HashTable<u32>,
    hasher: RandomState,
}

/// A pod, and the value that is kept for it.
#[derive(Debug)]
pub struct SeenPod<T> {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The value.
    pub value: T,
}

/// The difference between the pods that a sync saw and those in the cache.
#[derive(Debug)]
#[must_use]
pub struct PodChanges {
    /// Pods that are new or changed.
    pub new: SelectedPods,
    /// Slots of the pods that are gone or changed.
    gone: Vec<u32>,
}

/// The pods of a Service that have changed since its last sync.
#[derive(Debug)]
pub struct ChangedPods {
    /// Pods as they were, which have changed or are no longer selected.
    pub gone: Vec<Arc<Pod>>,
    /// Pods as they are, which have changed or are newly selected, by name.
    pub new: Vec<Arc<Pod>>,
}

impl ChangedPods {
    /// The time of the change that a sync is for, recorded in `times`: that of these pods if the last sync `is_known`, and
    /// otherwise that of all pods, which are those `seen`.
    pub fn trigger_time<T>(
        &self,
        times: &mut TriggerTimes,
        service: &Service,
        is_known: bool,
        seen: &SeenPods<T>,
    ) -> Option<String> {
        let (gone, new) = (self.gone.iter().map(|pod| &**pod), self.new.iter().map(|pod| &**pod));
        let advanced = if is_known { times.advance(service, gone, new) } else { None };
        advanced.unwrap_or_else(|| times.compute(service, seen.iter().map(|seen| &*seen.pod)))
    }
}

impl<T> Default for SeenPods<T> {
    fn default() -> Self {
        let (slots, free, by_address, by_name, hasher) = Default::default();
        Self { slots, free, by_address, by_name, hasher }
    }
}

impl<T> SeenPods<T> {
    /// The number of pods.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Compares with the pods that the Service has `now`. Changes nothing. Cost: a lookup of each pointer, about ten
    /// nanoseconds; no pod is read.
    pub fn changes<'a>(&self, now: impl Iterator<Item = &'a Arc<Pod>>) -> PodChanges {
        let (mut new, mut seen, mut found) = (vec![], vec![false; self.slots.len()], 0);
        for pod in now {
            match self.slot_of(pod) {
                Some(slot) => {
                    if let Some(seen) = seen.get_mut(slot as usize) {
                        *seen = true;
                    }
                    found += 1;
                }
                None => new.push(Arc::clone(pod)),
            }
        }
        let mut gone = vec![];
        if found < self.len() {
            let unseen =
                (0..).zip(&self.slots).zip(&seen).filter(|((_, pod), seen)| pod.is_some() && !**seen);
            gone.extend(unseen.map(|((slot, _), _)| slot));
        }
        PodChanges { new: new.into_iter().collect(), gone }
    }

    /// Applies changes. For each of them, `value` gets the pod that is gone and the pod that is there now, which are of the
    /// same name if there are both, and returns the value of the latter.
    pub fn apply(
        &mut self,
        PodChanges { new, gone }: PodChanges,
        mut value: impl FnMut(Option<SeenPod<T>>, Option<&Arc<Pod>>) -> Option<T>,
    ) -> ChangedPods {
        let mut gone: Vec<SeenPod<T>> = gone.into_iter().filter_map(|slot| self.remove(slot)).collect();
        gone.sort_unstable_by(|a, b| a.pod.name.cmp(&b.pod.name));
        let left = gone.iter().map(|seen| Arc::clone(&seen.pod)).collect();
        let mut gone = gone.into_iter().peekable();
        let new = new.sorted();
        for pod in &new {
            while let Some(other) = gone.next_if(|other| other.pod.name < pod.name) {
                value(Some(other), None);
            }
            let before = gone.next_if(|other| other.pod.name == pod.name);
            if let Some(value) = value(before, Some(pod)) {
                self.insert(SeenPod { pod: Arc::clone(pod), value });
            }
        }
        gone.for_each(|other| drop(value(Some(other), None)));
        ChangedPods { gone: left, new }
    }

    /// The pod of this name.
    pub fn find_mut(&mut self, name: &str) -> Option<&mut SeenPod<T>> {
        let Self { slots, by_name, hasher, .. } = self;
        let named = |slot: &u32| get(slots, *slot).is_some_and(|seen| *seen.pod.name == *name);
        let slot = *by_name.find(hasher.hash_one(name), named)?;
        slots.get_mut(slot as usize)?.as_mut()
    }

    /// The pods, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &SeenPod<T>> {
        self.slots.iter().flatten()
    }

    fn slot_of(&self, pod: &Arc<Pod>) -> Option<u32> {
        let same = |slot: &u32| get(&self.slots, *slot).is_some_and(|seen| Arc::ptr_eq(&seen.pod, pod));
        self.by_address.find(self.hasher.hash_one(address(pod)), same).copied()
    }

    fn insert(&mut self, seen: SeenPod<T>) {
        let hashes = (self.hasher.hash_one(address(&seen.pod)), self.hasher.hash_one(&*seen.pod.name));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = Some(seen);
        }
        let Self { slots, by_address, by_name, hasher, .. } = self;
        let hash_of = |slot: &u32| get(slots, *slot).map_or(0, |seen| hasher.hash_one(address(&seen.pod)));
        by_address.insert_unique(hashes.0, slot, hash_of);
        let hash_of = |slot: &u32| get(slots, *slot).map_or(0, |seen| hasher.hash_one(&*seen.pod.name));
        by_name.insert_unique(hashes.1, slot, hash_of);
    }

    fn remove(&mut self, slot: u32) -> Option<SeenPod<T>> {
        let seen = self.slots.get_mut(slot as usize)?.take()?;
        let is_slot = |other: &u32| *other == slot;
        if let Ok(entry) = self.by_address.find_entry(self.hasher.hash_one(address(&seen.pod)), is_slot) {
            entry.remove();
        }
        if let Ok(entry) = self.by_name.find_entry(self.hasher.hash_one(&*seen.pod.name), is_slot) {
            entry.remove();
        }
        self.free.push(slot);
        Some(seen)
    }
}

fn get<T>(slots: &[Option<SeenPod<T>>], slot: u32) -> Option<&SeenPod<T>> {
    slots.get(slot as usize)?.as_ref()
}

fn address(pod: &Arc<Pod>) -> usize {
    Arc::as_ptr(pod).addr()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use endpointslice::Interner;
    use endpointslice::model::PodFields;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pod(name: u8, version: u8) -> Arc<Pod> {
        let (name, version) = (format!("pod-{name}"), version.to_string());
        let fields = PodFields { name: &name, resource_version: &version, ..PodFields::default() };
        Arc::new(Pod::new(fields, &mut Interner::default()))
    }

    proptest! {
        /// A model of names and versions; the value is the number of times that a pod was renewed.
        #[test]
        fn the_pods_are_those_of_the_last_sync(syncs in vec(vec((0_u8..20, 0_u8..3), 0..20), 1..8)) {
            let mut seen: SeenPods<u32> = SeenPods::default();
            let mut pods: BTreeMap<u8, (u8, Arc<Pod>, u32)> = BTreeMap::new();
            for sync in syncs {
                let wanted: BTreeMap<u8, u8> = sync.into_iter().collect();
                let mut expected = vec![];
                let mut now = BTreeMap::new();
                for (name, version) in &wanted {
                    let entry = match pods.remove(name) {
                        Some((before, pod, renewed)) if before == *version => (before, pod, renewed),
                        Some((_, _, renewed)) => {
                            expected.push(format!("pod-{name}"));
                            (*version, pod(*name, *version), renewed + 1)
                        }
                        None => (*version, pod(*name, *version), 0),
                    };
                    now.insert(*name, entry);
                }
                let released: Vec<String> = pods.keys().map(|name| format!("pod-{name}")).collect();
                pods = now;
                let changes = seen.changes(pods.values().map(|(_, pod, _)| pod));
                let (mut renewed, mut gone) = (vec![], vec![]);
                let changed = seen.apply(changes, |before, pod| match (before, pod) {
                    (Some(before), Some(pod)) => {
                        renewed.push(pod.name.to_string());
                        Some(before.value + 1)
                    }
                    (Some(before), None) => {
                        gone.push(before.pod.name.to_string());
                        None
                    }
                    (None, _) => Some(0),
                });
                prop_assert_eq!(changed.gone.len(), renewed.len() + gone.len());
                prop_assert!(changed.new.is_sorted_by(|a, b| a.name < b.name));
                for (list, expected) in [(&mut renewed, expected), (&mut gone, released)] {
                    list.sort();
                    let mut expected = expected;
                    expected.sort();
                    prop_assert_eq!(&*list, &expected);
                }
                prop_assert_eq!(seen.len(), pods.len());
                prop_assert_eq!(seen.iter().count(), pods.len());
                for (_, pod, renewed) in pods.values() {
                    let found = seen.find_mut(&pod.name).unwrap();
                    prop_assert!(Arc::ptr_eq(&found.pod, pod));
                    prop_assert_eq!(found.value, *renewed);
                }
            }
        }
    }
}
