//! The shared cache: what the API server holds, compact, indexed, and consistent.
//!
//! ```text
//! list-watch ─> Delta ─> Store (table + index) ─> Change ─> handlers ─> keys in work queues
//!                          │
//!                          └─ State: one consistent read for a sync
//! ```
//!
//! All kinds share one lock, so that a reader sees Services, Pods and slices of the same moment. Changes are applied in
//! batches, each of which holds the lock for a millisecond at most. A sync holds the lock only while it copies the
//! `Arc`s that it needs. No hold grows with the number of objects that a list adds or removes (`cargo xtask bench-million`
//! measures this).
//!
//! Objects are shared and immutable; a change replaces the `Arc`. A reader of the old object keeps it.

mod list_completion;
mod lock_metrics;
mod reassess;
mod state_lock;

use std::fmt;
use std::sync::Arc;

use controller_kit::environment::now;
use endpointslice::Interner;
use endpointslice::disruption::Policy;
use parking_lot::{Mutex, RwLock};
use prometheus_client::registry::Registry;
use tokio::sync::{Notify, watch};

pub use crate::disruption::DisruptionReport;
pub use crate::resource::Change;
pub use crate::state::{CachedResource, Handler, ListPhase, State};
pub use crate::store::Store;
pub use crate::store::unreadable::UnreadableObject;

use self::lock_metrics::{Hold, LockMetrics};
use self::state_lock::{StateLock, WriteGuard};
use crate::disruption::Disruption;

/// The most deltas that are applied, and delivered to handlers, in one hold of the cache's lock.
pub(crate) const BATCH_SIZE: usize = 128;

/// The news of one object from a list or watch (client-go: `Delta` of its `DeltaFIFO`).
#[derive(Debug)]
pub enum Delta<T> {
    /// The object exists in this state. A state that the cache already has changes nothing.
    Upsert(T),
    /// The object was deleted.
    Delete {
        /// The namespace; empty for cluster-scoped kinds.
        namespace: String,
        /// The name.
        name: String,
        /// The resourceVersion of the deletion; empty if it is not known.
        resource_version: String,
    },
    /// The object exists and could not be decoded; see [`Store::check_absent`].
    Unreadable {
        /// The namespace, if it could be decoded.
        namespace: String,
        /// The name; empty if it could not be decoded either.
        name: String,
    },
}

/// The shared cache.
#[derive(Default)]
pub struct Cache {
    state: StateLock,
    lock_metrics: LockMetrics,
    interner: Mutex<Interner>,
    handlers: RwLock<Vec<Arc<dyn Handler>>>,
    /// Wakes [`Self::follow_disruptions`].
    reassess: Notify,
    disruptions: watch::Sender<DisruptionReport>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    /// A cache whose Pods and Services keep the annotations with these keys, for controllers that read them. By default
    /// they keep none.
    pub fn keeping_annotations(keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { interner: Mutex::new(Interner::keeping_annotations(keys)), ..Self::default() }
    }

    /// A cache in which pods that only the node lifecycle controller calls not ready may count as ready
    /// ([`endpointslice::disruption`]). It needs Pods and Nodes, and
    /// [`Informers::follow_disruptions`](crate::list_watch::Informers::follow_disruptions).
    pub fn with_disruption_policy(policy: Policy) -> Self {
        let state = State { disruption: Some(Box::new(Disruption::new(policy))), ..State::default() };
        let interner = Mutex::new(Interner::default().reading_conditions());
        Self { state: StateLock::new(state), interner, ..Self::default() }
    }

    /// Reads the cache: everything seen through `read` is of one moment. `read` must be short, and must not wait.
    ///
    /// It may read the cache again, as handlers may: on the same thread, a read within a read sees the same moment. It must not
    /// change the cache.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        // Declared first and so dropped last: the lock is free when its hold is counted.
        let mut hold = self.lock_metrics.read();
        let state = self.state.read(Hold::is_nested());
        hold.acquired();
        read(&state)
    }

    /// Exposes the times for which the cache's lock is held.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.lock_metrics.register(registry);
    }

    /// Locks the cache to change it. The guard is released before the hold is dropped, which counts it: of the variables
    /// of a pattern, the last one is dropped first.
    fn write(&self) -> (Hold<'_>, WriteGuard<'_>) {
        let mut hold = self.lock_metrics.write();
        let state = self.state.write();
        hold.acquired();
        (hold, state)
    }

    /// The interner that all cached objects share.
    pub(crate) fn interner(&self) -> &Mutex<Interner> {
        &self.interner
    }

    /// Adds a handler. `before` sees the state just before the first change that the handler receives, so that it can
    /// start from what is there without missing or repeating a change.
    ///
    /// Cost: that of `before`, during which others may read the cache, and nothing changes it.
    pub fn attach(&self, handler: Arc<dyn Handler>, before: impl FnOnce(&State)) {
        let (_hold, state) = self.write();
        let state = WriteGuard::downgrade(state);
        before(&state);
        self.handlers.write().push(handler);
        drop(state);
    }

    /// Removes a handler, which receives no change that is applied later. Without this call, the cache and a handler that
    /// refers to it keep each other in memory.
    pub(crate) fn detach(&self, handler: &Arc<dyn Handler>) {
        let mut handlers = self.handlers.write();
        let (removed, kept): (Vec<_>, Vec<_>) =
            handlers.drain(..).partition(|attached| Arc::ptr_eq(attached, handler));
        *handlers = kept;
        drop(handlers);
        // Without the lock, which what the handler owns may need.
        drop(removed);
    }

    /// Adds or replaces an object, as a watch event does.
    ///
    /// For tests that play the API server.
    pub fn upsert<T: CachedResource>(&self, object: T) {
        self.apply([Delta::Upsert(object)], "", false);
    }

    /// Applies deltas, in order, in one hold of the lock, and calls the handlers. Afterwards the cache shows everything
    /// up to `resource_version`; empty if that is not known.
    ///
    /// For list-watches, which should not bring more than 128 at once, and for tests that play the API server.
    pub fn apply<T: CachedResource>(
        &self,
        deltas: impl IntoIterator<Item = Delta<T>>,
        resource_version: &str,
        is_initial_list: bool,
    ) {
        let mut changes = Vec::new();
        let (hold, mut state) = self.write();
        let now = if state.disruption.is_some() { now().as_second() } else { 0 };
        for delta in deltas {
            match delta {
                Delta::Upsert(mut object) => {
                    object.assess(&mut state, now);
                    changes.extend(T::table_mut(&mut state).upsert(Arc::new(object)));
                }
                Delta::Delete { namespace, name, resource_version } => {
                    let at = resource_version.parse().ok();
                    let removed = T::table_mut(&mut state).remove(&namespace, &name, at);
                    changes.extend(removed.inspect(|removed| state.note_removed(removed, now)));
                }
                Delta::Unreadable { namespace, name } => {
                    T::table_mut(&mut state).mark_unreadable(&namespace, &name);
                }
            }
        }
        T::table(&state).observe(resource_version);
        self.wake_if_due(&mut state);
        if !changes.is_empty() {
            self.notify(&WriteGuard::downgrade(state), &changes, is_initial_list);
            drop(hold);
            self.release(changes);
        }
    }

    /// Frees the memory of old objects, and what the interner has of them. Not to be called with the cache locked.
    fn release<T>(&self, changes: Vec<Change<T>>) {
        let old = changes.iter().filter(|change| !matches!(change, Change::Added(_))).count();
        drop(changes);
        if old > 0 {
            self.interner.lock().released(old);
        }
    }

    /// Records that the cache shows everything up to this resourceVersion.
    pub(crate) fn observe<T: CachedResource>(&self, resource_version: &str) {
        self.read(|state| T::table(state).observe(resource_version));
    }

    /// Records that the API server's storage was restored: until the end of the next list of this kind, its versions have
    /// no order.
    pub(crate) fn storage_restored<T: CachedResource>(&self) {
        let (_hold, mut state) = self.write();
        T::table_mut(&mut state).storage_restored();
    }

    /// Begins a list, before it is requested: from here to the end of the list, every listed object is upserted.
    ///
    /// For list-watches, and for tests that play the API server.
    pub fn begin_list<T: CachedResource>(&self) {
        let (_hold, mut state) = self.write();
        T::table_mut(&mut state).begin_list();
        self.notify_list::<T>(&WriteGuard::downgrade(state), ListPhase::Begins);
    }

    fn notify<T: CachedResource>(&self, state: &State, changes: &[Change<T>], is_initial_list: bool) {
        let handlers = self.handlers.read();
        for change in changes {
            for handler in handlers.iter() {
                T::notify(&**handler, change, state, is_initial_list);
            }
        }
    }

    fn notify_list<T: CachedResource>(&self, state: &State, phase: ListPhase) {
        for handler in self.handlers.read().iter() {
            T::notify_list(&**handler, phase, state);
        }
    }
}

#[cfg(test)]
mod tests;
