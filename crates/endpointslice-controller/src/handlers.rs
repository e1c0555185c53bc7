//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use controller_kit::queue::Lane;
use endpoint_informers::cache::{
    Cached as _, CachedSlice, Change, DelegatedService, Handler, ListPhase, State,
};
use endpointslice::{Node, Pod, Service};

use crate::controller::EndpointSliceController;

impl Handler for EndpointSliceController {
    /// Also what only a new list shows is a change: it came while the watch was broken, and is late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _lane: Lane) {
        for key in state.services_concerned_by(change) {
            self.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, _lane: Lane) {
        self.queue.add(change.latest().key());
    }

    /// One that is no longer delegated comes into our view, and that is its own event.
    fn delegated(&self, change: &Change<DelegatedService>, _state: &State, _lane: Lane) {
        if let Change::Added(service) = change {
            self.queue.add(service.key());
        }
    }

    /// The cache passes on only changes of what matters about a node: its zone, readiness, role or CPU.
    ///
    /// Pods of a node that appears may be published now. Zones are another matter: no endpoint is wrong without, and
    /// thousands of nodes may be labelled at once, so live changes go first.
    fn node(&self, change: &Change<Node>, state: &State, _lane: Lane) {
        self.node_changed(change);
        let lane = if matches!(change, Change::Added(_)) { Lane::Live } else { Lane::Background };
        for key in state.services_concerned_by_node(change) {
            self.queue.add_after_with_priority(key, self.config.batch_period, lane);
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _lane: Lane) {
        self.slices.changed(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.listed(phase, state);
    }
}
