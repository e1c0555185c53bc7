//! Topology-aware hints: what changes of nodes and finished plans mean for them.

use std::sync::Arc;

use controller_runtime::cache::{ObjectKey, State};
use endpointslice::{Hints, Service, SlicePlan, TopologyEvent};

use crate::controller::EndpointSliceController;

impl EndpointSliceController {
    /// Takes in the nodes before the first sync: without them, Services with topology hints would lose them at every
    /// restart.
    pub(crate) fn load_nodes(&self, state: &State) {
        self.topology.lock().set_nodes(state.nodes.iter().map(|node| &**node));
    }

    /// Takes in a change of nodes, and queues the Services whose hints it concerns (`endpointslice_controller.go`
    /// `checkNodeTopologyDistribution`).
    ///
    /// Looks at every node, for the few changes of nodes that the cache passes on.
    pub(crate) fn nodes_changed(&self, state: &State) {
        let mut topology = self.topology.lock();
        if topology.set_nodes(state.nodes.iter().map(|node| &**node)) {
            for (namespace, name) in topology.due_services() {
                self.queue.add(ObjectKey::new(Arc::clone(namespace), Arc::clone(name)));
            }
        }
    }

    /// Remembers what a plan comes to, and returns the events to emit once it is applied.
    pub(crate) fn record_hints(
        &self,
        service: &Service,
        hints: &Hints,
        plan: &SlicePlan,
    ) -> Vec<TopologyEvent> {
        let recorded = self.topology.lock().record(service, hints, plan);
        if recorded.sync_again {
            self.queue.add(ObjectKey::from(service));
        }
        recorded.events
    }
}
