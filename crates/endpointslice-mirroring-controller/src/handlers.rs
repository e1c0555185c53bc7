//! Which change concerns which Endpoints; Endpoints, Service and the label of slices have the same name.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice};
use endpoint_informers::resource::Resource as _;
use endpointslice::Service;
use endpointslice::well_known::ENDPOINTSLICE_MIRRORING_CONTROLLER;

use crate::controller::EndpointSliceMirroringController;
use crate::mirror::opts_out;

impl Handler for EndpointSliceMirroringController {
    /// The Service is not asked here: Endpoints that belong to one with a selector cost a sync that finds nothing to do.
    fn endpoints(&self, change: &Change<CachedEndpoints>, _state: &State, _is_initial_list: bool) {
        let (endpoints, old) = match change {
            Change::Added(endpoints) | Change::Deleted(endpoints) => (endpoints, None),
            Change::Updated { old, new } => (new, Some(old)),
        };
        // Those that begin to opt out are cleaned up after.
        if !opts_out(endpoints) || old.is_some_and(|old| !opts_out(old)) {
            self.queue.add(endpoints.key());
        }
    }

    /// All that matters about a Service is whether it leaves its endpoints to others. One that could not be read before has
    /// kept its slices until now, whatever it says.
    fn service(&self, change: &Change<Service>, state: &State, _is_initial_list: bool) {
        let (service, concerned) = match change {
            Change::Added(service) if service.selector.is_some() => {
                let managed_by = ENDPOINTSLICE_MIRRORING_CONTROLLER;
                let slices = state.slices_of(&service.namespace, &service.name, managed_by);
                (service, !slices.is_empty())
            }
            Change::Added(service) | Change::Deleted(service) => (service, service.selector.is_none()),
            Change::Updated { old, new } => (new, old.selector.is_none() != new.selector.is_none()),
        };
        if concerned {
            self.queue.add(service.key());
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.observe_list(phase, state);
    }
}
