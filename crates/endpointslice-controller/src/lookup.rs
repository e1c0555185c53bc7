//! The lookup of one Service in the cache: its selector, slices and pods, all of the same moment.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::State;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::slices::{ManagedSlices, Snapshot, StaleCache};
use endpointslice::desired::Conditions;

use crate::controller::EndpointSliceController;
use crate::planner::{Changes, SyncInput};
use crate::sync_cache::SyncCache;

/// The state of a Service.
pub(crate) enum Lookup {
    /// It was deleted.
    Deleted,
    /// It has no selector, or is of type `ExternalName`.
    NotServed,
    /// It belongs to another controller; these are the slices that we have left.
    Delegated(Vec<Arc<CachedSlice>>),
    /// We publish its endpoints.
    Served(SyncInput),
}

impl EndpointSliceController {
    /// Reads a Service, and its slices by `read`. Takes the sync cache of the last sync if it is still of use.
    ///
    /// A Service that was deleted leaves its slices to the garbage collector; one without a selector, or of type
    /// `ExternalName`, keeps its slices (`endpointslice_controller.go` `syncService`). One that was delegated to another
    /// controller still exists, so that only we remove our slices (KEP-4770).
    pub(crate) fn lookup(
        &self,
        key: &ObjectKey,
        state: &State,
        read: impl FnOnce() -> Result<ManagedSlices, StaleCache>,
        remembered: &mut Option<SyncCache>,
    ) -> Result<Lookup, StaleCache> {
        if state.is_delegated(key) {
            return Ok(Lookup::Delegated(read()?.current));
        }
        let Some(service) = state.services.get(&key.namespace, &key.name) else { return Ok(Lookup::Deleted) };
        let Some(selector) = service.selector.as_ref().filter(|_| service.selects_pods()) else {
            return Ok(Lookup::NotServed);
        };
        let slices = read()?.current;
        let zones = state.zone_changes();
        if self.config.conditions != Conditions::All
            || service.wants_topology_hints()
            || state.unreadable_in(&key.namespace).is_some()
        {
            return Ok(Lookup::Served(SyncInput::All(Snapshot::of(service, slices, state))));
        }
        let sync_cache = remembered.take_if(|sync_cache| sync_cache.is_current(service, zones));
        let is_known = sync_cache.is_some();
        let sync_cache = sync_cache.unwrap_or_else(|| SyncCache::new(Arc::clone(service), zones));
        let pods = sync_cache.seen().changes(state.pods_selected(&service.namespace, selector));
        let nodes = state.nodes_of(&pods.new);
        Ok(Lookup::Served(SyncInput::Changes(Box::new(Changes {
            sync_cache,
            is_known,
            pods,
            nodes,
            slices,
        }))))
    }
}
