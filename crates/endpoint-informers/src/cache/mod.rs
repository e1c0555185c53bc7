//! The one cache of the process: what the API server holds, compact, indexed, and consistent.
//!
//! ```text
//! list-watch ─> upsert / remove ─> Store (table + index) ─> Change ─> handlers ─> keys in work queues
//!                                    │
//!                                    └─ State: one consistent read for a sync
//! ```
//!
//! All kinds live behind one lock, so that a reader sees Services, Pods and slices of the same moment. Changes are
//! applied in portions, each of which holds the lock for a millisecond at most; a sync holds it only while it copies the
//! `Arc`s it needs, and works without it. No hold grows with the number of objects that a list brings or takes away
//! (`examples/cache_cost.rs` measures).
//!
//! Objects are shared and immutable; a change replaces the `Arc`. Whoever still reads the old object keeps it.

mod delegated;
mod endpoints;
mod few;
mod hash;
mod list_end;
mod nodes;
mod pods;
mod services;
mod slices;
mod split;
mod store;
mod unreadable;
mod writers;

use std::sync::Arc;

use endpointslice::{Interner, Node, Pod, Service};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

pub use controller_kit::key::ObjectKey;
pub use delegated::DelegatedService;
pub use endpoints::CachedEndpoints;
pub use list_end::ListEnd;
pub use pods::SelectedPods;
pub use slices::CachedSlice;
pub use store::{Cached, Change, Index, Store};
pub use unreadable::{UnreadableAround, UnreadableObject};
pub use writers::Writers;

use controller_kit::queue::Lane;

/// Everything that is cached, at one moment.
#[derive(Default)]
pub struct State {
    /// Pods, indexed by label.
    pub pods: Store<Pod>,
    /// Services, indexed by selector.
    pub services: Store<Service>,
    /// Services of other controllers, if somebody watches them; these are not among [`Self::services`].
    pub delegated: Store<DelegatedService>,
    /// Nodes.
    pub nodes: Store<Node>,
    /// EndpointSlices of every controller, indexed by the Service they belong to.
    pub slices: Store<CachedSlice>,
    /// Endpoints.
    pub endpoints: Store<CachedEndpoints>,
}

/// How far a list of one kind is.
///
/// Lists are consistent: whatever the API server acknowledged before one was asked for is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPhase {
    /// It is going to be asked for. One that breaks off is not told of; another begins after it.
    Begins,
    /// The cache shows all of it, and handlers have heard of every change that it brought.
    Complete {
        /// Its resourceVersion is lower than what the cache had seen: the API server has been restored from a backup.
        went_back: bool,
    },
}

/// Somebody who wants to know about changes.
///
/// Called in the order of the changes, with the cache locked for reading: a handler names keys and returns. The cache
/// shows the change, or a later state of the same object: changes that arrive together are applied together, up to
/// [`PORTION`] of them.
pub trait Handler: Send + Sync {
    /// A Pod changed.
    fn pod(&self, _change: &Change<Pod>, _state: &State, _lane: Lane) {}
    /// A Service changed.
    fn service(&self, _change: &Change<Service>, _state: &State, _lane: Lane) {}
    /// A Service was given to another controller, or is no longer.
    fn delegated(&self, _change: &Change<DelegatedService>, _state: &State, _lane: Lane) {}
    /// A Node changed.
    fn node(&self, _change: &Change<Node>, _state: &State, _lane: Lane) {}
    /// An EndpointSlice changed.
    fn slice(&self, _change: &Change<CachedSlice>, _state: &State, _lane: Lane) {}
    /// An Endpoints object changed.
    fn endpoints(&self, _change: &Change<CachedEndpoints>, _state: &State, _lane: Lane) {}
    /// A list of EndpointSlices begins or is complete.
    fn slices_listed(&self, _phase: ListPhase, _state: &State) {}
    /// A list of Endpoints begins or is complete.
    fn endpoints_listed(&self, _phase: ListPhase, _state: &State) {}
}

/// At most so many changes are applied, and handlers told of them, in one hold of the cache's lock.
pub const PORTION: usize = 128;

/// News of one object.
#[derive(Debug)]
pub enum News<T> {
    /// It is there, in this state. The state that the cache already has changes nothing.
    Present(T),
    /// It is gone.
    Gone {
        /// The namespace; empty for cluster-wide kinds.
        namespace: String,
        /// The name.
        name: String,
    },
    /// It is there and could not be read; see [`Store::check_absent`].
    Unreadable {
        /// The namespace, if that could be read.
        namespace: String,
        /// The name; empty if that could not be read either.
        name: String,
    },
}

/// The shared cache.
#[derive(Default)]
pub struct Cache {
    state: RwLock<State>,
    interner: Mutex<Interner>,
    handlers: RwLock<Vec<Arc<dyn Handler>>>,
}

/// A kind of object that the cache holds: where it is stored and who hears of it.
pub trait CachedKind: Cached {
    /// The store of this kind.
    fn store(state: &State) -> &Store<Self>;
    /// The store of this kind, to be changed.
    fn store_mut(state: &mut State) -> &mut Store<Self>;
    /// Tells a handler of a change of this kind.
    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane);
    /// Tells a handler how far a list of this kind is, if anybody wants to know.
    fn notify_list(_handler: &dyn Handler, _phase: ListPhase, _state: &State) {}
}

impl Cache {
    /// A cache whose Pods and Services keep the annotations of these keys, for controllers that read them. By default
    /// they keep none.
    pub fn keeping_annotations(keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { interner: Mutex::new(Interner::keeping_annotations(keys)), ..Self::default() }
    }

    /// Reads the cache: everything seen through `read` is of one moment. Must be short, and must not wait.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.read())
    }

    /// The interner that all cached objects share.
    pub(crate) fn interner(&self) -> &Mutex<Interner> {
        &self.interner
    }

    /// Adds a handler. `before` sees the state just before the first change that the handler will hear of, so that it
    /// can start from what is there without missing or repeating anything.
    pub fn attach(&self, handler: Arc<dyn Handler>, before: impl FnOnce(&State)) {
        let state = self.state.write();
        before(&state);
        self.handlers.write().push(handler);
        drop(state);
    }

    /// Adds or replaces an object. An object that is already there in the same version changes nothing.
    ///
    /// For list-watches, and for tests that play the API server.
    pub fn upsert<T: CachedKind>(&self, object: T, lane: Lane) {
        self.apply([News::Present(object)], "", lane);
    }

    /// Removes an object, if it is there.
    ///
    /// For list-watches, and for tests that play the API server.
    pub fn remove<T: CachedKind>(&self, namespace: &str, name: &str, lane: Lane) {
        let news = News::<T>::Gone { namespace: namespace.to_owned(), name: name.to_owned() };
        self.apply([news], "", lane);
    }

    /// Takes in news, in order, in one hold of the lock, and tells handlers. Afterwards everything up to
    /// `resource_version` is in the cache; empty if that can't be said.
    ///
    /// For list-watches, which should not bring more than [`PORTION`] at once, and for tests that play the API server.
    pub fn apply<T: CachedKind>(
        &self,
        news: impl IntoIterator<Item = News<T>>,
        resource_version: &str,
        lane: Lane,
    ) {
        // Declared first and so dropped last: the memory of old objects is given back without the lock.
        let mut changes = Vec::new();
        let mut state = self.state.write();
        let store = T::store_mut(&mut state);
        for news in news {
            match news {
                News::Present(object) => changes.extend(store.upsert(Arc::new(object))),
                News::Gone { namespace, name } => changes.extend(store.remove(&namespace, &name)),
                News::Unreadable { namespace, name } => store.keep(&namespace, &name),
            }
        }
        store.observe(resource_version);
        if !changes.is_empty() {
            self.notify(&RwLockWriteGuard::downgrade(state), &changes, lane);
        }
    }

    /// Notes that everything up to this resourceVersion is in the cache.
    pub fn observe<T: CachedKind>(&self, resource_version: &str) {
        T::store(&self.state.read()).observe(resource_version);
    }

    /// Begins a list, before it is asked for: from here to [`Self::finish_list`], every object listed is upserted.
    ///
    /// For list-watches, and for tests that play the API server.
    pub fn begin_list<T: CachedKind>(&self) {
        let mut state = self.state.write();
        T::store_mut(&mut state).begin_list();
        self.notify_list::<T>(&RwLockWriteGuard::downgrade(state), ListPhase::Begins);
    }

    /// Ends a list: objects that were there and are not in it were deleted while nobody watched. From now on everything
    /// up to its resourceVersion is in the cache, and nothing after it is, whatever was seen before.
    ///
    /// For tests that play the API server. A list-watch uses [`Self::end_list`], so as not to block its thread.
    pub fn finish_list<T: CachedKind>(&self, resource_version: &str) {
        let mut end = self.end_list::<T>(resource_version);
        while end.step() {}
    }

    /// The same in steps, between which others get the lock, and at which the caller may let other tasks run.
    pub fn end_list<T: CachedKind>(&self, resource_version: impl Into<String>) -> ListEnd<'_, T> {
        ListEnd::new(self, resource_version.into())
    }

    fn notify<T: CachedKind>(&self, state: &State, changes: &[Change<T>], lane: Lane) {
        let handlers = self.handlers.read();
        for change in changes {
            for handler in handlers.iter() {
                T::notify(&**handler, change, state, lane);
            }
        }
    }

    fn notify_list<T: CachedKind>(&self, state: &State, phase: ListPhase) {
        for handler in self.handlers.read().iter() {
            T::notify_list(&**handler, phase, state);
        }
    }
}

#[cfg(test)]
mod tests;
