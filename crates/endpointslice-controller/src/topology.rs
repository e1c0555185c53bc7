//! Topology-aware hints: the nodes they are computed from, and the plans that carry them.

use std::convert::Infallible;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::{Change, State};
use endpoint_informers::resource::Resource as _;
use endpointslice::topology::TopologyEvent;
use endpointslice::{Hints, Node, Service, SlicePlan};
use kube_api::time::{Instant, sleep};

use crate::controller::EndpointSliceController;

/// The time for which changes of nodes are batched. Thousands of nodes that become ready change the zones' shares
/// thousands of times, and finding the affected Services takes milliseconds.
const NODES_PERIOD: Duration = Duration::from_millis(100);

impl EndpointSliceController {
    /// Loads the nodes before the first sync. Without them, Services would lose their topology hints at every restart.
    pub(crate) fn load_nodes(&self, state: &State) {
        self.topology.lock().set_nodes(state.nodes.iter().map(|node| &**node));
    }

    /// Records a change of a node. Runs with the cache locked, so it looks at no other node and no Service;
    /// [`Self::follow_nodes`] finds the affected Services.
    pub(crate) fn node_changed(&self, change: &Change<Node>) {
        let (before, now) = match change {
            Change::Added(node) => (None, Some(&**node)),
            Change::Updated { old, new } => (Some(&**old), Some(&**new)),
            Change::Deleted { last: node, .. } => (Some(&**node), None),
        };
        if self.topology.lock().node_changed(before, now) {
            self.shares_changed_at.lock().get_or_insert_with(Instant::now);
            self.shares_changed.notify_one();
        }
    }

    /// Queues the Services whose hints changes of nodes affect, once for each [batch](NODES_PERIOD)
    /// (`endpointslice_controller.go` `checkNodeTopologyDistribution`, which a queue of one key runs there). Never ends.
    pub(crate) async fn follow_nodes(&self) -> Infallible {
        loop {
            self.shares_changed.notified().await;
            sleep(NODES_PERIOD).await;
            let seen = self.shares_changed_at.lock().take().unwrap_or_else(Instant::now);
            let due: Vec<_> = self.topology.lock().due_services().cloned().collect();
            for (namespace, name) in due {
                self.slices.queue.add_seen_at(ObjectKey::new(namespace, name), seen);
            }
        }
    }

    /// Records the hints of a plan that was applied, and returns the events to emit.
    pub(crate) fn record_hints(
        &self,
        service: &Service,
        hints: &Hints,
        plan: &SlicePlan,
    ) -> Vec<TopologyEvent> {
        let recorded = self.topology.lock().record(service, hints.zone_shares(), plan.topology_outcomes());
        if recorded.sync_again {
            self.slices.queue.add(service.key());
        }
        recorded.events
    }
}
