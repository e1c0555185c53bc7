//! Event handlers: from a change to the Services it affects.
//!
//! Handlers only queue keys; a sync reads the cache again.

use controller_kit::queue::Priority;
use endpoint_informers::cache::{Change, Handler, ListPhase, State};
use endpoint_informers::kinds::{CachedSlice, DelegatedService};
use endpoint_informers::resource::Resource as _;
use endpointslice::{Node, Pod, Service};

use crate::controller::EndpointSliceController;

impl Handler for EndpointSliceController {
    /// Changes that only a relist shows are queued in the same way: they are late already.
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        for key in state.services_affected_by_pod(change) {
            self.slices.queue.add_after(key, self.config.batch_period);
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, _is_initial_list: bool) {
        self.slices.queue.add(change.latest().key());
    }

    /// Removing the label needs no handling: the Service reappears in the main watch.
    fn delegated(&self, change: &Change<DelegatedService>, _state: &State, _is_initial_list: bool) {
        if let Change::Added(service) = change {
            self.slices.queue.add(service.key());
        }
    }

    /// Nodes change in the cache only in zone, readiness, role or CPU.
    ///
    /// Pods of a new node can be published now, with normal priority. Zone changes have a low one: the addresses are
    /// right without them, and thousands of nodes may be labelled at once.
    fn node(&self, change: &Change<Node>, state: &State, _is_initial_list: bool) {
        self.node_changed(change);
        let is_new = matches!(change, Change::Added(_));
        let priority = if is_new { Priority::Normal } else { Priority::Low };
        for key in state.services_affected_by_node(change) {
            self.slices.queue.add_after_with_priority(key, self.config.batch_period, priority);
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.expectations.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.expectations.observe_list(phase, state);
    }
}
