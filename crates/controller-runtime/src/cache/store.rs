//! One kind of object: a table by name, and an index that is kept true with it.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::FixedState;
use hashbrown::{HashSet, HashTable};

/// An object that can be cached.
pub trait Cached: Send + Sync + Sized + 'static {
    /// What it is looked up by, besides its name.
    type Index: Index<Self>;
    /// The namespace; empty for cluster-wide kinds.
    fn namespace(&self) -> &str;
    /// The name.
    fn name(&self) -> &str;
    /// True if `other`, of the same name, brings nothing new.
    fn is_same(&self, other: &Self) -> bool;
}

/// A secondary index over the objects of a [`Store`].
pub trait Index<T>: Default + Send + Sync {
    /// Adds an object.
    fn insert(&mut self, object: &Arc<T>);
    /// Removes an object that was added.
    fn remove(&mut self, object: &Arc<T>);
    /// Puts `new` in the place of `old`, which has the same name.
    fn replace(&mut self, old: &Arc<T>, new: &Arc<T>) {
        self.remove(old);
        self.insert(new);
    }
}

/// What happened to an object.
#[derive(Debug)]
pub enum Change<T> {
    /// It is new.
    Added(Arc<T>),
    /// It was replaced.
    Updated {
        /// The object before.
        old: Arc<T>,
        /// The object now.
        new: Arc<T>,
    },
    /// It is gone; this is the last that was known of it.
    Deleted(Arc<T>),
}

impl<T> Change<T> {
    /// The object as it is now, or as it was last known.
    pub fn latest(&self) -> &Arc<T> {
        let (Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted(object)) = self;
        object
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(Arc::clone(object)),
            Self::Updated { old, new } => Self::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Deleted(object) => Self::Deleted(Arc::clone(object)),
        }
    }
}

/// The objects of one kind.
///
/// Cost: one hash and one comparison of names for each access, plus the index. Memory beside the objects: about ten
/// bytes each, since keys are read from the objects themselves.
pub struct Store<T: Cached> {
    objects: HashTable<Arc<T>>,
    index: T::Index,
    /// While a list is under way: hashes of the names listed so far. A collision would keep a deleted object until the
    /// next list; with 64 bits that is not worth the memory of the names.
    listed: Option<HashSet<u64, FixedState>>,
    observed: AtomicU64,
}

impl<T: Cached> Default for Store<T> {
    fn default() -> Self {
        let observed = AtomicU64::default();
        Self { objects: HashTable::new(), index: T::Index::default(), listed: None, observed }
    }
}

fn hash(namespace: &str, name: &str) -> u64 {
    FixedState::default().hash_one((namespace, name))
}

fn hash_of<T: Cached>(object: &Arc<T>) -> u64 {
    hash(object.namespace(), object.name())
}

impl<T: Cached> Store<T> {
    /// The object of that name; `namespace` is empty for cluster-wide kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let named = |object: &Arc<T>| object.name() == name && object.namespace() == namespace;
        self.objects.find(hash(namespace, name), named)
    }

    /// Every object, in no particular order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<T>> {
        self.objects.iter()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The resourceVersion up to which everything that happened is in here; 0 if that is not known.
    ///
    /// Resource versions of one kind are numbers that grow (KEP-5504), unless the API server is restored from a backup:
    /// then a list may bring it back to less.
    pub fn observed(&self) -> u64 {
        self.observed.load(Ordering::Relaxed)
    }

    /// Notes how far the watch has come. What isn't a number is not noted.
    pub(super) fn observe(&self, resource_version: &str) {
        if let Ok(version) = resource_version.parse() {
            self.observed.fetch_max(version, Ordering::Relaxed);
        }
    }

    /// The index.
    pub fn index(&self) -> &T::Index {
        &self.index
    }

    pub(super) fn upsert(&mut self, object: Arc<T>) -> Option<Change<T>> {
        let hash = hash_of(&object);
        if let Some(listed) = &mut self.listed {
            listed.insert(hash);
        }
        let named = |other: &Arc<T>| other.name() == object.name() && other.namespace() == object.namespace();
        if let Some(present) = self.objects.find_mut(hash, named) {
            if present.is_same(&object) {
                return None;
            }
            self.index.replace(present, &object);
            let old = std::mem::replace(present, Arc::clone(&object));
            return Some(Change::Updated { old, new: object });
        }
        self.objects.insert_unique(hash, Arc::clone(&object), hash_of);
        self.index.insert(&object);
        Some(Change::Added(object))
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> Option<Change<T>> {
        let hash = hash(namespace, name);
        if let Some(listed) = &mut self.listed {
            listed.remove(&hash);
        }
        let named = |object: &Arc<T>| object.name() == name && object.namespace() == namespace;
        let (object, _) = self.objects.find_entry(hash, named).ok()?.remove();
        self.index.remove(&object);
        Some(Change::Deleted(object))
    }

    pub(super) fn keep(&mut self, namespace: &str, name: &str) {
        if let Some(listed) = &mut self.listed {
            listed.insert(hash(namespace, name));
        }
    }

    pub(super) fn begin_list(&mut self) {
        self.listed = Some(HashSet::default());
    }

    /// Returns what is gone, and whether the list is of an earlier moment than what was seen before.
    pub(super) fn finish_list(&mut self, resource_version: &str) -> (Vec<Change<T>>, bool) {
        let version = resource_version.parse().ok();
        let seen = std::mem::replace(self.observed.get_mut(), version.unwrap_or_default());
        let went_back = version.is_some_and(|version| version < seen);
        let Some(listed) = self.listed.take() else { return (Vec::new(), went_back) };
        let gone: Vec<Arc<T>> =
            self.objects.extract_if(|object| !listed.contains(&hash_of(object))).collect();
        let gone = gone.into_iter().map(|object| {
            self.index.remove(&object);
            Change::Deleted(object)
        });
        (gone.collect(), went_back)
    }
}
