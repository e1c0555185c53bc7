//! One kind of object: a table by name, and an index that is kept true with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use controller_kit::key::ObjectKey;

use super::hash::{Seed, spread};
use super::split::Split;
use super::unreadable::{Unreadable, UnreadableObject};

/// An object that can be cached.
pub trait Cached: Send + Sync + Sized + 'static {
    /// What it is looked up by, besides its name.
    type Index: Index<Self>;
    /// The kind, for errors.
    const KIND: &'static str;
    /// False for cluster-wide kinds.
    const NAMESPACED: bool = true;
    /// The namespace; empty for cluster-wide kinds.
    fn namespace(&self) -> &str;
    /// The name.
    fn name(&self) -> &str;
    /// Namespace and name. Cost: reference counts, where the object shares its names.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }
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
/// Cost: one hash and one comparison of names for each access, plus the index. Memory beside the objects: about twenty
/// bytes each, since keys are read from the objects themselves.
pub struct Store<T: Cached> {
    objects: Split<Entry<T>>,
    seed: Seed,
    index: T::Index,
    unreadable: Unreadable,
    /// Counts the lists that have begun. An object that is older than the list under way has not been listed yet.
    generation: u32,
    listing: bool,
    observed: AtomicU64,
}

/// An object, with what fits beside the pointer.
struct Entry<T> {
    object: Arc<T>,
    hash: u32,
    /// The store's generation when the object was last listed or changed.
    seen: u32,
}

impl<T: Cached> Entry<T> {
    fn is_named(&self, namespace: &str, name: &str) -> bool {
        self.object.name() == name && self.object.namespace() == namespace
    }
}

fn hash_of<T>(entry: &Entry<T>) -> u64 {
    spread(entry.hash)
}

impl<T: Cached> Default for Store<T> {
    fn default() -> Self {
        Self {
            objects: Split::default(),
            seed: Seed::default(),
            index: T::Index::default(),
            unreadable: Unreadable::default(),
            generation: 0,
            listing: false,
            observed: AtomicU64::default(),
        }
    }
}

impl<T: Cached> Store<T> {
    fn hash(&self, namespace: &str, name: &str) -> u32 {
        self.seed.short((namespace, name))
    }

    /// The object of that name; `namespace` is empty for cluster-wide kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let hash = self.hash(namespace, name);
        self.objects.find(spread(hash), |entry| entry.is_named(namespace, name)).map(|entry| &entry.object)
    }

    /// Every object, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.iter().map(|entry| &entry.object)
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

    /// Fails if the object is not here and may exist all the same: the API server has shown one of this name, or one whose
    /// name could not be read either, and it could not be used. Otherwise its absence means that it doesn't exist.
    pub fn check_absent(&self, namespace: &str, name: &str) -> Result<(), UnreadableObject> {
        let may_exist = !self.unreadable.is_empty()
            && (self.unreadable.has_unnamed() || self.unreadable.is_named(namespace, name))
            && self.get(namespace, name).is_none();
        if may_exist { Err(UnreadableObject::of::<T>(namespace, name)) } else { Ok(()) }
    }

    /// True if an object exists that is not here because it could not be read.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    pub(super) fn unreadable(&self) -> &Unreadable {
        &self.unreadable
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
        let (namespace, name, seen) = (object.namespace(), object.name(), self.generation);
        let hash = self.hash(namespace, name);
        if let Some(present) = self.objects.find_mut(spread(hash), |entry| entry.is_named(namespace, name)) {
            present.seen = seen;
            if present.object.is_same(&object) {
                return None;
            }
            self.index.replace(&present.object, &object);
            let old = std::mem::replace(&mut present.object, Arc::clone(&object));
            return Some(Change::Updated { old, new: object });
        }
        self.unreadable.resolved(namespace, name);
        let entry = Entry { object: Arc::clone(&object), hash, seen };
        self.objects.insert_unique(spread(hash), entry, hash_of);
        self.index.insert(&object);
        Some(Change::Added(object))
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> Option<Change<T>> {
        self.unreadable.resolved(namespace, name);
        let hash = self.hash(namespace, name);
        let Entry { object, .. } =
            self.objects.remove(spread(hash), |entry| entry.is_named(namespace, name))?;
        self.index.remove(&object);
        Some(Change::Deleted(object))
    }

    /// Notes that an object exists that could not be read. If an older state of it is here, it stays.
    pub(super) fn keep(&mut self, namespace: &str, name: &str) {
        let seen = self.generation;
        if name.is_empty() || T::NAMESPACED && namespace.is_empty() {
            self.unreadable.seen_unnamed(seen);
            return;
        }
        let hash = self.hash(namespace, name);
        match self.objects.find_mut(spread(hash), |entry| entry.is_named(namespace, name)) {
            Some(present) => present.seen = seen,
            None => self.unreadable.seen(namespace, name, seen),
        }
    }

    /// The number of lists that have begun.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) fn begin_list(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.listing = true;
    }

    /// The objects that the list under way has not shown, as tickets for [`Self::remove_unlisted`]; none if no list is
    /// under way.
    ///
    /// Cost: a pass over the table that looks at no object; a millisecond for 300,000.
    pub(super) fn unlisted(&self) -> Vec<Ticket> {
        if !self.listing {
            return Vec::new();
        }
        let unlisted = self.objects.iter().filter(|entry| entry.seen != self.generation);
        unlisted.map(|entry| Ticket(entry.hash)).collect()
    }

    /// Removes one of the [unlisted](Self::unlisted) objects, unless it has been listed, changed or deleted since.
    ///
    /// A ticket is a hash, which says where to look; whether an object goes is decided by its generation alone. Of
    /// several unlisted objects with one hash, any goes, and there are as many tickets.
    pub(super) fn remove_unlisted(&mut self, Ticket(hash): Ticket) -> Option<Change<T>> {
        let generation = self.generation;
        let unlisted = |entry: &Entry<T>| entry.hash == hash && entry.seen != generation;
        let Entry { object, .. } = self.objects.remove(spread(hash), unlisted)?;
        self.index.remove(&object);
        Some(Change::Deleted(object))
    }

    /// The list under way is complete, and what it didn't show is removed: the store is at this version. Returns true if
    /// it is of an earlier moment than what was seen before.
    pub(super) fn listed(&mut self, resource_version: &str) -> bool {
        let version = resource_version.parse().ok();
        let seen = std::mem::replace(self.observed.get_mut(), version.unwrap_or_default());
        if std::mem::take(&mut self.listing) {
            self.unreadable.listed(self.generation);
        }
        version.is_some_and(|version| version < seen)
    }
}

/// Where an object is that a list has not shown. Four bytes: many may go at once.
#[derive(Clone, Copy)]
pub(super) struct Ticket(u32);
