//! The writes that a sync would make.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::State;
use endpoint_informers::kinds::{CachedEndpoints, SelectedPods, UnreadableObjects};
use endpoint_informers::pending::PendingWrite;
use endpointslice::Service;

use crate::controller::EndpointsController;
use crate::metadata::is_ours;
use crate::plan::Plan;
use crate::planning::is_served;
use crate::sync::check_pods;

/// The objects of a key.
enum Read {
    /// Nothing would be written.
    Nothing,
    /// The Endpoints of a Service that was deleted, or given to another controller.
    Leftover(Arc<CachedEndpoints>),
    /// A Service with a selector.
    Service(Arc<Service>, SelectedPods, Option<Arc<CachedEndpoints>>, Option<UnreadableObjects>),
}

impl EndpointsController {
    /// The writes that a sync of this key would make, if that is known. Changes nothing.
    pub(crate) fn pending(&self, key: &ObjectKey) -> Option<Vec<PendingWrite>> {
        match self.cache.read(|state| self.read(key, state))? {
            Read::Nothing => Some(Vec::new()),
            Read::Leftover(stored) => Some(vec![PendingWrite::Delete(stored.decode().ok()?.into())]),
            Read::Service(service, pods, stored, unreadable) => {
                let stored = stored.map(|stored| stored.decode()).transpose().ok()?;
                if let (Some(stored), Some(unreadable)) = (&stored, &unreadable) {
                    check_pods(stored, unreadable).ok()?;
                }
                let (plan, _) = self.writes(&service, &pods.sorted(), stored.as_ref(), None);
                Some(match (plan, stored) {
                    (Plan::Nothing, _) => Vec::new(),
                    (Plan::Create(new), _) | (Plan::Update(new), None) => {
                        vec![PendingWrite::Create(new.into())]
                    }
                    (Plan::Update(new), Some(stored)) => {
                        vec![PendingWrite::Update(stored.into(), new.into())]
                    }
                })
            }
        }
    }

    /// Forgets a Service that was deleted, of a key whose sync is skipped, once its Endpoints are gone: others that are created
    /// under its name are not its.
    pub(crate) fn leave(&self, key: &ObjectKey) {
        self.cache.read(|state| {
            let stored = state.endpoints.get(&key.namespace, &key.name);
            let mut tracker = self.tracker.lock();
            let is_leftover = stored.is_some_and(|stored| tracker.orphan_of(key, &stored.uid).is_some());
            if state.services.get(&key.namespace, &key.name).is_some() || !is_leftover {
                tracker.adopt(key);
            }
        });
    }

    /// The objects of a key, if the cache knows them and our last write: as `look` in [`sync`](crate::sync), which waits for it.
    fn read(&self, key: &ObjectKey, state: &State) -> Option<Read> {
        let stored = state.endpoints.get(&key.namespace, &key.name).cloned();
        let version = stored.as_ref().map(|stored| stored.version);
        let is_behind = || self.tracker.lock().is_behind(key, version, state.endpoints.comparable());
        let Some(service) = state.services.get(&key.namespace, &key.name) else {
            state.services.check_absent(&key.namespace, &key.name).ok()?;
            if is_behind() {
                return None;
            }
            let leftover = stored.filter(|stored| self.would_delete(key, stored, state));
            return Some(leftover.map_or(Read::Nothing, Read::Leftover));
        };
        let Some(selector) = service.selector.as_ref().filter(|_| is_served(service)) else {
            return Some(Read::Nothing);
        };
        state.endpoints.check_absent(&key.namespace, &key.name).ok()?;
        if is_behind() {
            return None;
        }
        let pods = state.pods_selected(&key.namespace, selector);
        Some(Read::Service(Arc::clone(service), pods, stored, state.unreadable_in(&key.namespace)))
    }

    /// True if a sync would delete these Endpoints, or ask the API server for their Service to decide that. The rules are
    /// those of `left_behind` in [`sync`](crate::sync).
    fn would_delete(&self, key: &ObjectKey, stored: &CachedEndpoints, state: &State) -> bool {
        let tracker = self.tracker.lock();
        let late = tracker.may_be_late(key) && self.repairs.is_own(&stored.last_managers);
        let delegated = state.delegated.get(&key.namespace, &key.name);
        (late || tracker.orphan_of(key, &stored.uid).is_some())
            && delegated.is_none_or(|service| service.has_selector && is_ours(stored))
    }
}
