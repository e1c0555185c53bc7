//! Lookup of one key in the cache: its Service, pods and Endpoints, all of the same moment.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::State;
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Service;
use endpointslice::model::Uid;
use kube_api::time::Instant;

use crate::controller::EndpointsController;
use crate::desired::Unready;
use crate::error::SyncError;
use crate::metadata::is_ours;
use crate::orphan::{Orphan, Verdict};
use crate::planner::{Pods, SyncInput};
use crate::sync_cache::SyncCache;

/// The state of a key.
pub(crate) enum Lookup {
    /// Neither Service nor Endpoints, or a Service whose Endpoints are not ours to write.
    Nothing,
    /// The Service was deleted, and the cache is older than the deletion and shows no Endpoints. Look again after this time.
    Waiting(Duration),
    /// The Service was deleted; these are its Endpoints.
    Leftover(Arc<CachedEndpoints>, Orphan),
    /// The Service was deleted, or given to another controller, and the cache doesn't show which, or it exists and the cache
    /// is behind. The Endpoints may be another client's.
    Unclear(Arc<CachedEndpoints>, Orphan),
    /// The Service was deleted, and the cache doesn't show whether Endpoints existed then.
    Unproven(Unproven),
    /// A Service with a selector.
    Served(SyncInput),
}

/// The Endpoints of a deleted Service of which the cache doesn't show whether they existed when it was deleted.
pub(crate) struct Unproven {
    /// The Endpoints that the cache shows.
    pub(crate) stored: Option<Arc<CachedEndpoints>>,
    /// True if the last change of these is ours.
    pub(crate) is_own: bool,
    /// The uid of the object that this process created and the cache need not show yet.
    pub(crate) created: Option<Uid>,
    pub(crate) orphan: Orphan,
}

impl EndpointsController {
    /// Reads a Service, its pods and its Endpoints. Takes `sync_cache`, that of the last sync, if it is still of use. Changes
    /// nothing else (`endpoints_controller.go` `syncService`).
    ///
    /// # Errors
    ///
    /// The cache is behind our last write, or one of the objects could not be decoded.
    pub(crate) fn lookup(
        &self,
        key: &ObjectKey,
        state: &State,
        sync_cache: &mut Option<SyncCache>,
    ) -> Result<Lookup, SyncError> {
        let stored = state.endpoints.get(&key.namespace, &key.name);
        let Some(service) = state.services.get(&key.namespace, &key.name) else {
            state.services.check_absent(&key.namespace, &key.name)?;
            let is_behind = self.is_behind(key, stored, state);
            return match self.leftover(key, stored, is_behind, state) {
                // What the cache shows may be what our last write has updated: its event comes soon.
                Lookup::Unproven(Unproven { stored: Some(_), .. }) if is_behind && self.has_patience(key) => {
                    Err(SyncError::StaleCache)
                }
                lookup @ (Lookup::Waiting(_) | Lookup::Unproven(_)) => Ok(lookup),
                _ if is_behind => Err(SyncError::StaleCache),
                lookup => Ok(lookup),
            };
        };
        if !service.selects_pods() {
            return Ok(Lookup::Nothing);
        }
        state.endpoints.check_absent(&key.namespace, &key.name)?;
        if self.is_behind(key, stored, state) {
            return Err(SyncError::StaleCache);
        }
        let unready = Unready::of(service, self.config.tolerate_unready_annotation);
        let pods = pods(service, unready, state, sync_cache);
        Ok(Lookup::Served(SyncInput { service: Arc::clone(service), unready, stored: stored.cloned(), pods }))
    }

    /// True while the cache may show what existed when the Service of this key was deleted.
    fn has_patience(&self, key: &ObjectKey) -> bool {
        self.tracker.lock().patience(key, Instant::now()).is_some()
    }

    /// True if the cache does not show our last write.
    fn is_behind(&self, key: &ObjectKey, stored: Option<&Arc<CachedEndpoints>>, state: &State) -> bool {
        let version = stored.map(|stored| stored.version);
        self.tracker.lock().is_behind(key, version, state.endpoints.comparable())
    }

    /// Decides about the Endpoints of a key whose Service is not in our watch.
    ///
    /// If the Service was deleted, they are deleted too, as upstream does, even if another client created them. If the
    /// Service is delegated, only Endpoints that we wrote for its selector are deleted (KEP-4770): those of a Service
    /// without a selector belong to its users, even if they have our label. Endpoints that are created after their Service
    /// was deleted stay, unless a late create or update of ours, in this process or another, was their last change.
    fn leftover(
        &self,
        key: &ObjectKey,
        stored: Option<&Arc<CachedEndpoints>>,
        is_behind: bool,
        state: &State,
    ) -> Lookup {
        // Of stored Endpoints the cache shows at least an older state.
        let is_unreadable = state.endpoints.check_absent(&key.namespace, &key.name).is_err();
        let tracker = self.tracker.lock();
        let is_late = stored
            .is_some_and(|stored| tracker.may_be_late(key) && self.repairs.is_own(&stored.last_managers));
        let found = if is_late {
            // There may be another Service of the name by now.
            Some((Orphan { selected: true, listed: true, ..Orphan::default() }, Verdict::Delete))
        } else {
            let observed = state.endpoints.comparable().filter(|_| !is_behind);
            let stored = stored.map(|stored| (&stored.uid, stored.version));
            let found = tracker.orphan_of(key, stored, observed, Instant::now());
            found.map(|(orphan, verdict)| match verdict {
                // The cache lacks what could not be decoded.
                Verdict::Leave if is_unreadable && orphan.deletion.is_some() => {
                    (orphan.clone(), Verdict::Ask)
                }
                verdict => (orphan.clone(), verdict),
            })
        };
        let created = tracker.created(key).cloned();
        let is_written = stored.is_some_and(|stored| tracker.is_written(key, stored.version));
        drop(tracker);
        let Some((orphan, verdict)) = found else { return Lookup::Nothing };
        // Whenever they were created: they have the endpoints of a Service, which was deleted unless there is another by now.
        let is_own =
            |it: &Arc<CachedEndpoints>| is_ours(it) && (is_written || self.repairs.is_own(&it.last_managers));
        let delegated = state.delegated.get(&key.namespace, &key.name);
        match (verdict, stored, delegated) {
            (_, _, Some(service))
                if !service.has_selector || !stored.is_some_and(|stored| is_ours(stored)) =>
            {
                Lookup::Nothing
            }
            (Verdict::Delete, Some(stored), delegated) => {
                let may_be_delegated = self.config.services_may_be_delegated;
                let was_selected = !may_be_delegated || orphan.selected && is_ours(stored);
                leftover(stored, orphan, was_selected || delegated.is_some())
            }
            (Verdict::Leave, Some(stored), _) if is_own(stored) => {
                Lookup::Unclear(Arc::clone(stored), orphan)
            }
            (Verdict::Ask, ..) => {
                let is_own = stored.is_some_and(is_own);
                // Another replica has replaced what this one created.
                let is_replaced = |uid: &Uid| is_own && !is_behind && stored.is_some_and(|it| it.uid != *uid);
                let created = created.filter(|uid| !is_replaced(uid));
                Lookup::Unproven(Unproven { stored: stored.cloned(), is_own, created, orphan })
            }
            (Verdict::Wait(rest), ..) => Lookup::Waiting(rest),
            (Verdict::Leave, ..) | (Verdict::Delete, None, _) => Lookup::Nothing,
        }
    }
}

fn leftover(stored: &Arc<CachedEndpoints>, orphan: Orphan, is_certain: bool) -> Lookup {
    let stored = Arc::clone(stored);
    if is_certain && !orphan.listed {
        Lookup::Leftover(stored, orphan)
    } else {
        Lookup::Unclear(stored, orphan)
    }
}

/// The pods of a Service: the changes, if all objects of its namespace could be decoded.
fn pods(service: &Arc<Service>, unready: Unready, state: &State, sync_cache: &mut Option<SyncCache>) -> Pods {
    let selector = service.selector.clone().unwrap_or_default();
    if let Some(unreadable) = state.unreadable_in(&service.namespace) {
        let pods = state.pods_selected(&service.namespace, &selector).cloned().collect();
        return Pods::All(pods, unreadable);
    }
    let sync_cache = sync_cache.take_if(|sync_cache| sync_cache.is_current(service));
    let is_known = sync_cache.is_some();
    let sync_cache = Box::new(sync_cache.unwrap_or_else(|| SyncCache::new(Arc::clone(service), unready)));
    let changes = sync_cache.seen().changes(state.pods_selected(&service.namespace, &selector));
    Pods::Changes { sync_cache, is_known, changes }
}
