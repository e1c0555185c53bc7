//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use controller_kit::queue::Priority;
use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::{CachedSlice, DelegatedService};
use endpoint_informers::resource::Resource as _;
use endpointslice::{Node, Pod, Service};

use crate::controller::EndpointSliceController;

impl Handler for EndpointSliceController {
    /// Also what only a new list shows is a change: it came while the watch was broken, and is late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        for key in state.services_affected_by_pod(change) {
            self.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, _is_initial_list: bool) {
        self.queue.add(change.latest().key());
    }

    /// One that is no longer delegated comes into our view, and that is its own event.
    fn delegated(&self, change: &Change<DelegatedService>, _state: &State, _is_initial_list: bool) {
        if let Change::Added(service) = change {
            self.queue.add(service.key());
        }
    }

    /// The cache passes on only changes of what matters about a node: its zone, readiness, role or CPU.
    ///
    /// Pods of a node that appears may be published now. Zones are another matter: no endpoint is wrong without, and
    /// thousands of nodes may be labelled at once, so live changes go first.
    fn node(&self, change: &Change<Node>, state: &State, _is_initial_list: bool) {
        self.node_changed(change);
        let is_new = matches!(change, Change::Added(_));
        let priority = if is_new { Priority::Normal } else { Priority::Low };
        for key in state.services_affected_by_node(change) {
            self.queue.add_after_with_priority(key, self.config.batch_period, priority);
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.observe_list(phase, state);
    }
}
