//! The contract of a cached kind: how an object is decoded, identified, compared and indexed.

use std::sync::Arc;

use controller_kit::deferred_events::DeferredEvent;
use controller_kit::key::ObjectKey;
use endpointslice::Interner;
use kube_protobuf::DecodeError;

/// A kind of object that informers list, watch and cache.
///
/// Implementations are in [`kinds`](crate::kinds), one file each. [`CachedResource`](crate::cache::CachedResource) adds
/// the table of the kind and its handler method; a kind of another crate is a
/// [`CustomResource`](crate::custom::CustomResource).
pub trait Resource: Send + Sync + Sized + 'static {
    /// The kind, for errors.
    const KIND: &'static str;
    /// The plural name, for logs and metrics.
    const RESOURCE: &'static str;
    /// The path of the collection over all namespaces.
    const PATH: &'static str;
    /// False for cluster-scoped kinds.
    const NAMESPACED: bool = true;
    /// True if controllers write this kind. A new leader relists these kinds, because it must know the writes of its
    /// predecessor; the other kinds may be as old as their watches.
    const WRITTEN: bool = false;

    /// True if [`read_protobuf`](Self::read_protobuf) is implemented. Other kinds are requested in JSON, which every kind has;
    /// custom resources have nothing else.
    const HAS_PROTOBUF: bool = false;

    /// The secondary index of the kind; `()` if it is looked up by name only.
    type Index: Index<Self>;

    /// Decodes a protobuf message without its envelope. Returns the object and its resourceVersion, so that a caller
    /// need not scan the metadata again. Refuses every message unless implemented.
    fn read_protobuf<'a>(_raw: &'a [u8], _interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        Err(DecodeError::json_only(Self::KIND))
    }

    /// Decodes a JSON object. Returns the object and its resourceVersion.
    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error>;

    /// The namespace; empty for cluster-scoped kinds.
    fn namespace(&self) -> &str;

    /// The name.
    fn name(&self) -> &str;

    /// True if `other`, an object of the same name, differs in nothing that the cache keeps. Uid and resourceVersion don't tell:
    /// after the restore of a backup, versions are given a second time.
    fn is_same(&self, other: &Self) -> bool;

    /// Namespace and name. Cost: two reference counts if the object shares its names, otherwise a copy.
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// Decodes a protobuf message without its envelope.
    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        Self::read_protobuf(raw, interner).map(|(object, _)| object)
    }

    /// Decodes a JSON object.
    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        Self::read_json(json, interner).map(|(object, _)| object)
    }
}

/// A secondary index over the objects of one kind.
pub trait Index<T>: Default + Send + Sync {
    /// Adds an object.
    fn insert(&mut self, object: &Arc<T>);
    /// Removes an object that was added, by its allocation.
    fn remove(&mut self, object: &Arc<T>);
    /// Replaces `old` with `new`, which has the same name.
    fn replace(&mut self, old: &Arc<T>, new: &Arc<T>) {
        self.remove(old);
        self.insert(new);
    }
}

/// Tells an object of an index by its allocation: it is removed and replaced as the one that was added.
pub(crate) fn identical_to<T>(object: &Arc<T>) -> impl Fn(&Arc<T>) -> bool + Copy {
    move |other| Arc::ptr_eq(other, object)
}

/// No index, for kinds that are looked up by name only.
impl<T> Index<T> for () {
    fn insert(&mut self, _object: &Arc<T>) {}
    fn remove(&mut self, _object: &Arc<T>) {}
    fn replace(&mut self, _old: &Arc<T>, _new: &Arc<T>) {}
}

/// A change of one object in the cache.
#[derive(Debug)]
pub enum Change<T> {
    /// The object is new.
    Added(Arc<T>),
    /// The object was replaced.
    Updated {
        /// The object before.
        old: Arc<T>,
        /// The object now.
        new: Arc<T>,
    },
    /// The object was deleted.
    Deleted {
        /// Its last known state.
        last: Arc<T>,
        /// The resourceVersion of the deletion; if only a list shows it, that of the list. `None` if it is not a number.
        at: Option<u64>,
    },
}

impl<T> Change<T> {
    /// The object as it is now, or its last known state.
    pub fn latest(&self) -> &Arc<T> {
        let (Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted { last: object, .. }) =
            self;
        object
    }
}

impl<T: Resource> Change<T> {
    /// Namespace and name, the order in which changes are reported.
    pub(crate) fn namespaced_name(&self) -> (&str, &str) {
        let object = self.latest();
        (object.namespace(), object.name())
    }
}

impl<T> DeferredEvent for Change<T> {
    fn join(&self, next: &Self) -> Option<Self> {
        let Self::Updated { old: between, new } = next else { return None };
        match self {
            Self::Added(added) if Arc::ptr_eq(added, between) => Some(Self::Added(Arc::clone(new))),
            Self::Updated { old, new: earlier } if Arc::ptr_eq(earlier, between) => {
                Some(Self::Updated { old: Arc::clone(old), new: Arc::clone(new) })
            }
            _ => None,
        }
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(Arc::clone(object)),
            Self::Updated { old, new } => Self::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Deleted { last, at } => Self::Deleted { last: Arc::clone(last), at: *at },
        }
    }
}
