//! One allocation for each distinct string, label set and list.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::labels::{Label, LabelSet};
use super::ports::{NamedPort, ServicePort};

/// Shares equal strings, label sets and lists between objects.
///
/// A cluster has few distinct namespaces, node names, label sets and container port lists compared with its pods;
/// sharing them takes a cached pod from kilobytes to bytes. Entries without other references are dropped when a table
/// has doubled since the last sweep, in entries or in bytes, so that the interner never holds more than twice what is in
/// use, and when many objects are [released](Self::released), so that it keeps nothing of a peak.
///
/// The interner also decides which annotations Pods and Services keep, see [`Self::keeping_annotations`], and whether
/// conditions are read, see [`Self::reading_conditions`].
///
/// Cost: one hash and one comparison for each hit, no allocation.
#[derive(Default)]
pub struct Interner {
    strings: Table<Arc<str>>,
    labels: Table<LabelSet>,
    ports: Table<Arc<[NamedPort]>>,
    service_ports: Table<Arc<[ServicePort]>>,
    lists: Table<Arc<[Arc<str>]>>,
    kept_annotations: Vec<String>,
    reads_conditions: bool,
    /// Objects that were released since the last sweep of all tables.
    released: usize,
    /// Seeded at random, because tenants choose the strings. No result depends on the order of a table.
    hasher: RandomState,
}

struct Table<T> {
    entries: HashTable<T>,
    sweep_at: usize,
    /// Those of all entries: tenants choose the length of annotations and of label sets.
    bytes: usize,
    sweep_at_bytes: usize,
}

/// Annotations with more bytes than this are not shared: a table keeps dead entries until it is swept, and tenants choose their
/// size.
const MAX_INTERNED_ANNOTATIONS: usize = 512;

/// Below this size a table is not swept.
const SWEEP_MINIMUM: usize = 1024;
const SWEEP_MINIMUM_BYTES: usize = 16 << 20;

/// The entries that one object may have for itself: where its share of them is larger, its sweep comes later.
const ENTRIES_OF_AN_OBJECT: usize = 8;

/// A value that objects share.
trait Shared {
    fn hash_with(&self, hasher: &RandomState) -> u64;
    /// True if something else than the table refers to it.
    fn is_used(&self) -> bool;
    fn bytes(&self) -> usize;
}

impl Shared for Arc<str> {
    fn hash_with(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one(&**self)
    }

    fn is_used(&self) -> bool {
        Arc::strong_count(self) > 1
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Hash> Shared for Arc<[T]> {
    fn hash_with(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one(&**self)
    }

    fn is_used(&self) -> bool {
        Arc::strong_count(self) > 1
    }

    fn bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

impl Shared for LabelSet {
    fn hash_with(&self, hasher: &RandomState) -> u64 {
        label_hash(hasher, self.iter())
    }

    fn is_used(&self) -> bool {
        self.is_shared()
    }

    fn bytes(&self) -> usize {
        self.len() * size_of::<Label>()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let (sweep_at, sweep_at_bytes) = (SWEEP_MINIMUM, SWEEP_MINIMUM_BYTES);
        Self { entries: HashTable::new(), sweep_at, bytes: 0, sweep_at_bytes }
    }
}

fn label_hash<K: AsRef<str>, V: AsRef<str>>(
    hasher: &RandomState,
    labels: impl Iterator<Item = (K, V)>,
) -> u64 {
    use std::hash::Hasher;
    let mut hasher = hasher.build_hasher();
    for (key, value) in labels {
        key.as_ref().hash(&mut hasher);
        value.as_ref().hash(&mut hasher);
    }
    hasher.finish()
}

impl Interner {
    /// Creates an interner through which Pods and Services keep the annotations with these keys. By default they keep
    /// none: annotations are often larger than all fields that endpoints depend on.
    pub fn keeping_annotations(keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { kept_annotations: keys.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same interner, through which Pods and Nodes keep what their conditions say about kubelets, for
    /// [`disruption`](crate::disruption). By default they don't, because reading all conditions costs time.
    #[must_use]
    pub fn reading_conditions(self) -> Self {
        Self { reads_conditions: true, ..self }
    }

    /// True if Pods and Nodes keep what their conditions say about kubelets.
    pub fn reads_conditions(&self) -> bool {
        self.reads_conditions
    }

    /// The annotations to keep.
    pub(crate) fn annotations(&mut self, annotations: &[(&str, &str)]) -> LabelSet {
        let is_kept = |key: &str| self.kept_annotations.iter().any(|kept| kept == key);
        let mut kept: Vec<_> = annotations.iter().filter(|(key, _)| is_kept(key)).copied().collect();
        let length: usize = kept.iter().map(|(_, value)| value.len()).sum();
        if kept.is_empty() {
            LabelSet::default()
        } else if length <= MAX_INTERNED_ANNOTATIONS {
            self.labels(&mut kept)
        } else {
            kept.sort_unstable();
            kept.dedup_by_key(|(key, _)| *key);
            LabelSet::from_sorted(
                kept.into_iter().map(|(key, value)| (self.string(key), value.into())).collect(),
            )
        }
    }

    /// The shared form of `text`.
    pub fn string(&mut self, text: &str) -> Arc<str> {
        let hasher = &self.hasher;
        let hash = hasher.hash_one(text);
        if let Some(found) = self.strings.entries.find(hash, |entry| **entry == *text) {
            return Arc::clone(found);
        }
        let new: Arc<str> = text.into();
        self.strings.insert(hash, Arc::clone(&new), hasher);
        new
    }

    /// The shared form of `text`, or `None` if it is empty: in Kubernetes' types the two mean the same.
    pub fn non_empty(&mut self, text: &str) -> Option<Arc<str>> {
        (!text.is_empty()).then(|| self.string(text))
    }

    /// The shared list of these strings, in order.
    pub fn strings<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Arc<[Arc<str>]> {
        let list = texts.into_iter().map(|text| self.string(text)).collect();
        self.lists.list(&self.hasher, list)
    }

    /// The shared label set with these labels, in any order. Sorts `labels` in place; a repeated key keeps one value.
    pub fn labels(&mut self, labels: &mut Vec<(&str, &str)>) -> LabelSet {
        if !labels.is_sorted() {
            labels.sort_unstable();
        }
        labels.dedup_by(|later, earlier| later.0 == earlier.0);
        let hash = label_hash(&self.hasher, labels.iter().copied());
        let equal = |entry: &LabelSet| entry.iter().map(|(k, v)| (&**k, &**v)).eq(labels.iter().copied());
        if let Some(found) = self.labels.entries.find(hash, equal) {
            return found.clone();
        }
        let shared: Vec<Label> = labels.iter().map(|(k, v)| (self.string(k), self.string(v))).collect();
        let new = LabelSet::from_sorted(shared);
        self.labels.insert(hash, new.clone(), &self.hasher);
        new
    }

    /// The shared list of named container ports, in order.
    pub fn ports(&mut self, ports: Vec<NamedPort>) -> Arc<[NamedPort]> {
        self.ports.list(&self.hasher, ports)
    }

    /// The shared list of a Service's ports, in order.
    pub(crate) fn service_ports(&mut self, ports: Vec<ServicePort>) -> Arc<[ServicePort]> {
        self.service_ports.list(&self.hasher, ports)
    }

    /// Records the number of objects with values of this interner that were dropped, and sweeps once their entries may be many.
    ///
    /// Cost: a look at about eight entries for each object, of all objects of a sweep at once.
    pub fn released(&mut self, objects: usize) {
        self.released += objects;
        let Self { strings, labels, ports, service_ports, lists, hasher, .. } = self;
        let others = labels.entries.len() + ports.entries.len() + service_ports.entries.len();
        let entries = strings.entries.len() + lists.entries.len() + others;
        if entries <= SWEEP_MINIMUM || self.released.saturating_mul(ENTRIES_OF_AN_OBJECT) < entries {
            return;
        }
        labels.sweep(hasher);
        ports.sweep(hasher);
        service_ports.sweep(hasher);
        lists.sweep(hasher);
        // The others refer to strings.
        strings.sweep(hasher);
        self.released = 0;
    }
}

impl<T: Hash + Eq> Table<Arc<[T]>> {
    /// The shared form of a list.
    fn list(&mut self, hasher: &RandomState, list: Vec<T>) -> Arc<[T]> {
        let hash = hasher.hash_one(list.as_slice());
        if let Some(found) = self.entries.find(hash, |entry| **entry == *list) {
            return Arc::clone(found);
        }
        let new: Arc<[T]> = list.into();
        self.insert(hash, Arc::clone(&new), hasher);
        new
    }
}

impl<T: Shared> Table<T> {
    fn insert(&mut self, hash: u64, value: T, hasher: &RandomState) {
        if self.entries.len() >= self.sweep_at || self.bytes >= self.sweep_at_bytes {
            self.sweep(hasher);
        }
        self.bytes += value.bytes();
        self.entries.insert_unique(hash, value, |entry| entry.hash_with(hasher));
    }

    /// Drops entries without other references.
    fn sweep(&mut self, hasher: &RandomState) {
        self.entries.retain(|entry| entry.is_used());
        self.entries.shrink_to_fit(|entry| entry.hash_with(hasher));
        self.sweep_at = (self.entries.len() * 2).max(SWEEP_MINIMUM);
        self.bytes = self.entries.iter().map(T::bytes).sum();
        self.sweep_at_bytes = (self.bytes * 2).max(SWEEP_MINIMUM_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_allocation() {
        let mut interner = Interner::default();
        assert!(Arc::ptr_eq(&interner.string("a"), &interner.string("a")));
        let one = interner.labels(&mut vec![("b", "2"), ("a", "1")]);
        let other = interner.labels(&mut vec![("a", "1"), ("b", "2")]);
        assert!(one.same(&other));
        assert_eq!(one.get("b"), Some("2"));
        assert_eq!(one.identity(), other.identity());
        assert!(Arc::ptr_eq(&interner.strings(["a", "b"]), &interner.strings(["a", "b"])));
        assert_ne!(interner.strings(["a", "b"]), interner.strings(["b", "a"]));
    }

    /// Tenants choose their size, and a table keeps what no object has any more.
    #[test]
    fn long_annotations_are_not_kept_next_to_their_objects() {
        let mut interner = Interner::keeping_annotations(["b", "a"]);
        let long = "x".repeat(MAX_INTERNED_ANNOTATIONS);
        let annotations = [("b", &*long), ("a", "1")];
        let (one, other) = (interner.annotations(&annotations), interner.annotations(&annotations));
        assert!(one == other && one.get("b") == Some(&*long) && one.get("a") == Some("1"));
        assert!(
            interner.strings.entries.iter().all(|entry| entry.len() == 1)
                && interner.labels.entries.is_empty()
        );
    }

    #[test]
    fn annotations_are_kept_by_their_keys() {
        let annotations = [("b", "2"), ("c", "3"), ("a", "1")];
        assert!(Interner::default().annotations(&annotations).is_empty());
        let kept = Interner::keeping_annotations(["a", "b", "d"]).annotations(&annotations);
        let kept: Vec<(&str, &str)> = kept.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(kept, [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn entries_without_references_are_dropped() {
        let mut interner = Interner::default();
        let kept = interner.string("kept");
        for number in 0..100 * SWEEP_MINIMUM {
            interner.labels(&mut vec![("pod", number.to_string().as_str())]);
        }
        let (strings, labels) = (interner.strings.entries.len(), interner.labels.entries.len());
        assert!(strings <= 2 * SWEEP_MINIMUM + 2 && labels <= 2 * SWEEP_MINIMUM, "{strings} {labels}");
        assert!(Arc::ptr_eq(&kept, &interner.string("kept")));
    }

    /// As by a tenant who changes a long annotation or one of thousands of labels, again and again.
    #[test]
    fn few_large_entries_are_dropped_as_early_as_many() {
        let mut interner = Interner::default();
        let keys: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        let padding = "x".repeat(100_000);
        for number in 0..SWEEP_MINIMUM {
            interner.string(&format!("{number}{padding}"));
            let value = number.to_string();
            interner.labels(&mut keys.iter().map(|key| (&**key, &*value)).collect());
        }
        let (strings, labels) = (interner.strings.bytes, interner.labels.bytes);
        assert!(strings.max(labels) < 2 * SWEEP_MINIMUM_BYTES, "{strings} {labels}");
    }

    #[test]
    fn nothing_of_a_peak_is_kept_when_its_objects_are_released() {
        let mut interner = Interner::default();
        let kept = interner.string("kept");
        let object = |number: usize| interner.labels(&mut vec![("pod", number.to_string().as_str())]);
        let objects: Vec<LabelSet> = (0..100 * SWEEP_MINIMUM).map(object).collect();
        for object in objects {
            drop(object);
            interner.released(1);
        }
        let (strings, labels) = (&interner.strings.entries, &interner.labels.entries);
        assert!(strings.len() + labels.len() <= SWEEP_MINIMUM, "{} {}", strings.len(), labels.len());
        assert!(strings.num_buckets().max(labels.num_buckets()) <= 4 * SWEEP_MINIMUM);
        assert!(Arc::ptr_eq(&kept, &interner.string("kept")));
    }
}
