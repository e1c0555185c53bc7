//! Event handlers: from a change to the Endpoints it affects. Endpoints, Service and the label of slices share one name.
//!
//! Handlers only queue keys; a sync reads the cache again.

use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice};
use endpoint_informers::resource::Resource as _;
use endpointslice::Service;
use endpointslice::well_known::ENDPOINTSLICE_MIRRORING_CONTROLLER;

use crate::controller::EndpointSliceMirroringController;
use crate::mirror::opts_out;

impl Handler for EndpointSliceMirroringController {
    /// Queues Endpoints whatever their Service; those of one with a selector cost a sync without a write.
    fn endpoints(&self, change: &Change<CachedEndpoints>, _state: &State, _is_initial_list: bool) {
        let (endpoints, old) = match change {
            Change::Added(endpoints) | Change::Deleted { last: endpoints, .. } => (endpoints, None),
            Change::Updated { old, new } => (new, Some(old)),
        };
        // Endpoints that begin to opt out lose their slices.
        if !opts_out(endpoints) || old.is_some_and(|old| !opts_out(old)) {
            self.slices.queue.add(endpoints.key());
        }
    }

    /// Only the presence of a selector is relevant. A Service that could not be decoded before may have slices left.
    fn service(&self, change: &Change<Service>, state: &State, _is_initial_list: bool) {
        let (service, affected) = match change {
            Change::Added(service) if service.selector.is_some() => {
                let managed_by = ENDPOINTSLICE_MIRRORING_CONTROLLER;
                let slices = state.slices_of(&service.namespace, &service.name, managed_by);
                (service, !slices.is_empty())
            }
            Change::Added(service) | Change::Deleted { last: service, .. } => {
                (service, service.selector.is_none())
            }
            Change::Updated { old, new } => (new, old.selector.is_none() != new.selector.is_none()),
        };
        if affected {
            self.slices.queue.add(service.key());
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.expectations.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.expectations.observe_list(phase, state);
    }
}
