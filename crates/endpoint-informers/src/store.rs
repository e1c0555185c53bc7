//! The table of one kind: objects by name, and an index that is kept consistent with it.

pub(crate) mod hash;
pub(crate) mod small_set;
pub(crate) mod table;
pub(crate) mod unreadable;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::hash::{Seed, spread};
use self::table::Table;
use self::unreadable::{UnreadableNames, UnreadableObject};
use crate::resource::{Change, Index as _, Resource};

/// The objects of one kind.
///
/// Cost: one hash and one comparison of names for each access, plus the index. Memory besides the objects: about twenty
/// bytes each, because names are read from the objects themselves.
pub struct Store<T: Resource> {
    objects: Table<Entry<T>>,
    seed: Seed,
    index: T::Index,
    unreadable: UnreadableNames,
    /// The number of lists that have begun. An entry of an older generation has not been shown by the list in progress.
    generation: u32,
    /// A list is in progress.
    listing: bool,
    /// The resourceVersion up to which every change is in the table.
    observed: AtomicU64,
    /// The API server's storage was restored, and no list has shown it since.
    restored: bool,
}

/// An object, and what fits alongside the pointer.
struct Entry<T> {
    object: Arc<T>,
    hash: u32,
    /// The store's generation when the object was last listed or changed.
    seen: u32,
}

impl<T: Resource> Entry<T> {
    /// True if this is the object of this name, which hashes to `hash`.
    fn is_named(&self, hash: u32, namespace: &str, name: &str) -> bool {
        self.hash == hash && self.object.name() == name && self.object.namespace() == namespace
    }
}

fn hash_of<T>(entry: &Entry<T>) -> u64 {
    spread(entry.hash)
}

impl<T: Resource> Default for Store<T> {
    fn default() -> Self {
        Self {
            objects: Table::default(),
            seed: Seed::default(),
            index: T::Index::default(),
            unreadable: UnreadableNames::default(),
            generation: 0,
            listing: false,
            observed: AtomicU64::default(),
            restored: false,
        }
    }
}

impl<T: Resource> Store<T> {
    fn hash(&self, namespace: &str, name: &str) -> u32 {
        self.seed.short((namespace, name))
    }

    /// The object of this name; `namespace` is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let hash = self.hash(namespace, name);
        self.objects
            .find(spread(hash), |entry| entry.is_named(hash, namespace, name))
            .map(|entry| &entry.object)
    }

    /// All objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.iter().map(|entry| &entry.object)
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if there are no objects.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The resourceVersion up to which the table shows every change; 0 if it is not known.
    ///
    /// Versions of one kind are numbers that grow (KEP-5504), unless the API server is restored from a backup: then
    /// a list may lower this value.
    pub fn observed(&self) -> u64 {
        self.observed.load(Ordering::Relaxed)
    }

    /// [`Self::observed`], or `None` if the table shows objects from before a restore of the API server's storage: then its
    /// versions and those of writes have no order.
    pub fn comparable(&self) -> Option<u64> {
        (!self.restored).then(|| self.observed())
    }

    /// Records that the API server's storage was restored: until the end of the next list, versions have no order.
    pub(crate) fn storage_restored(&mut self) {
        self.restored = true;
    }

    /// Fails if the object is missing here and may exist all the same: the API server has shown an object of this name,
    /// or one whose name could not be decoded either, that could not be decoded. Otherwise a missing object doesn't
    /// exist.
    pub fn check_absent(&self, namespace: &str, name: &str) -> Result<(), UnreadableObject> {
        let may_exist = !self.unreadable.is_empty()
            && (self.unreadable.has_unnamed() || self.unreadable.contains(namespace, name))
            && self.get(namespace, name).is_none();
        if may_exist { Err(UnreadableObject::new(T::KIND, namespace, name)) } else { Ok(()) }
    }

    /// Fails if an object of this namespace exists that could not be decoded, or one whose name could not be either: for callers
    /// that find objects by something else than their name.
    pub fn check_readable(&self, namespace: &str) -> Result<(), UnreadableObject> {
        let named = self.unreadable.names_in(namespace).into_iter().min();
        match named {
            Some(name) => Err(UnreadableObject::new(T::KIND, namespace, &name)),
            None if self.unreadable.has_unnamed() => Err(UnreadableObject::new(T::KIND, namespace, "")),
            None => Ok(()),
        }
    }

    /// True if an object exists that is missing here because it could not be decoded.
    pub(crate) fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    pub(crate) fn unreadable(&self) -> &UnreadableNames {
        &self.unreadable
    }

    /// Records the resourceVersion that the watch has reached. A version that isn't a number is ignored.
    pub(crate) fn observe(&self, resource_version: &str) {
        if let Ok(version) = resource_version.parse() {
            self.observed.fetch_max(version, Ordering::Relaxed);
        }
    }

    /// The secondary index.
    pub fn index(&self) -> &T::Index {
        &self.index
    }

    /// Adds or replaces an object; `None` if nothing has changed.
    pub(crate) fn upsert(&mut self, object: Arc<T>) -> Option<Change<T>> {
        let (namespace, name, seen) = (object.namespace(), object.name(), self.generation);
        let hash = self.hash(namespace, name);
        if let Some(present) =
            self.objects.find_mut(spread(hash), |entry| entry.is_named(hash, namespace, name))
        {
            present.seen = seen;
            if present.object.is_same(&object) {
                return None;
            }
            self.index.replace(&present.object, &object);
            let old = std::mem::replace(&mut present.object, Arc::clone(&object));
            return Some(Change::Updated { old, new: object });
        }
        self.unreadable.remove(namespace, name);
        let entry = Entry { object: Arc::clone(&object), hash, seen };
        self.objects.insert_unique(entry, hash_of);
        self.index.insert(&object);
        Some(Change::Added(object))
    }

    /// Replaces an object with another reading of the same state; `None` if it is not there or nothing has changed.
    ///
    /// Unlike [`Self::upsert`], this is not news: a list in progress still has to show the object.
    pub(crate) fn revise(&mut self, object: Arc<T>) -> Option<Change<T>> {
        let (namespace, name) = (object.namespace(), object.name());
        let hash = self.hash(namespace, name);
        let present = self.objects.find_mut(spread(hash), |entry| entry.is_named(hash, namespace, name))?;
        if present.object.is_same(&object) {
            return None;
        }
        self.index.replace(&present.object, &object);
        let old = std::mem::replace(&mut present.object, Arc::clone(&object));
        Some(Change::Updated { old, new: object })
    }

    /// Removes an object that was deleted at this resourceVersion; `None` if there is none of this name.
    pub(crate) fn remove(&mut self, namespace: &str, name: &str, at: Option<u64>) -> Option<Change<T>> {
        self.unreadable.remove(namespace, name);
        let hash = self.hash(namespace, name);
        let Entry { object: last, .. } =
            self.objects.remove(spread(hash), |entry| entry.is_named(hash, namespace, name))?;
        self.objects.shrink(spread(hash), hash_of);
        self.index.remove(&last);
        Some(Change::Deleted { last, at })
    }

    /// Records that an object exists that could not be decoded. An older state of it stays in the table.
    pub(crate) fn mark_unreadable(&mut self, namespace: &str, name: &str) {
        let seen = self.generation;
        if name.is_empty() || T::NAMESPACED && namespace.is_empty() {
            self.unreadable.add_unnamed(seen);
            return;
        }
        let hash = self.hash(namespace, name);
        match self.objects.find_mut(spread(hash), |entry| entry.is_named(hash, namespace, name)) {
            Some(present) => present.seen = seen,
            None => self.unreadable.add(namespace, name, seen),
        }
    }

    /// The number of lists that have begun.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Begins a list: every entry is unlisted until it is upserted again.
    pub(crate) fn begin_list(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.listing = true;
    }

    /// The hashes of the entries that the list in progress has not shown, for [`Self::remove_unlisted`]; empty if no
    /// list is in progress.
    ///
    /// Cost: a pass over the table that reads no object; a millisecond for 300,000.
    pub(crate) fn unlisted(&self) -> Vec<EntryHash> {
        if !self.listing {
            return Vec::new();
        }
        let unlisted = self.objects.iter().filter(|entry| entry.seen != self.generation);
        unlisted.map(|entry| EntryHash(entry.hash)).collect()
    }

    /// Removes one of the [unlisted](Self::unlisted) objects, which a list of this resourceVersion did not show, unless it
    /// has been listed, changed or deleted since.
    ///
    /// The hash finds the entry; the generation alone decides whether it is removed. Of several unlisted objects with
    /// one hash, any is removed, and there are as many hashes in the list.
    pub(crate) fn remove_unlisted(
        &mut self,
        EntryHash(hash): EntryHash,
        at: Option<u64>,
    ) -> Option<Change<T>> {
        let generation = self.generation;
        let unlisted = |entry: &Entry<T>| entry.hash == hash && entry.seen != generation;
        let Entry { object: last, .. } = self.objects.remove(spread(hash), unlisted)?;
        self.objects.shrink(spread(hash), hash_of);
        self.index.remove(&last);
        Some(Change::Deleted { last, at })
    }

    /// Ends the list in progress, after everything that it didn't show was removed: the table is at this version.
    /// Returns true if the version is lower than what was seen before, or the storage was restored.
    pub(crate) fn listed(&mut self, resource_version: &str) -> bool {
        let version = resource_version.parse().ok();
        let seen = std::mem::replace(self.observed.get_mut(), version.unwrap_or_default());
        if std::mem::take(&mut self.listing) {
            self.unreadable.retain_generation(self.generation);
        }
        std::mem::take(&mut self.restored) || version.is_some_and(|version| version < seen)
    }
}

/// The hash of an entry. Four bytes, because a list may leave hundreds of thousands of entries to remove.
#[derive(Clone, Copy)]
pub(crate) struct EntryHash(u32);
