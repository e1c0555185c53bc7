//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use controller_runtime::cache::{CachedSlice, Change, DelegatedService, Handler, ObjectKey, State};
use controller_runtime::queue::Lane;
use endpointslice::{Node, Pod, Service};

use crate::controller::EndpointSliceController;

impl Handler for EndpointSliceController {
    fn pod(&self, change: &Change<Pod>, state: &State, lane: Lane) {
        for key in state.services_concerned_by(change) {
            match lane {
                Lane::Background if self.config.batch_period.is_zero() => self.queue.add_background(key),
                _ => self.queue.add_after(key, self.config.batch_period),
            }
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, lane: Lane) {
        let (Change::Added(service) | Change::Updated { new: service, .. } | Change::Deleted(service)) =
            change;
        self.queue.add_to(lane, ObjectKey::from(&**service));
    }

    /// One that is no longer delegated comes into our view, and that is its own event.
    fn delegated(&self, change: &Change<DelegatedService>, _state: &State, lane: Lane) {
        if let Change::Added(service) = change {
            self.queue.add_to(lane, ObjectKey::from(&**service));
        }
    }

    /// The cache passes on only changes of what matters about a node: its zone, readiness, role or CPU.
    ///
    /// A zone is published with each endpoint, and a pod whose node is unknown is not published at all, so both concern
    /// the Services of the node's pods. A node that goes away takes nothing from them: its pods are removed by others
    /// (upstream looks at zones again only when something else changes).
    fn node(&self, change: &Change<Node>, state: &State, _lane: Lane) {
        self.nodes_changed(state);
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } if old.zone != new.zone => new,
            Change::Updated { .. } | Change::Deleted(_) => return,
        };
        for pod in state.pods_on_node(&node.name) {
            for service in state.services_selecting(&pod.namespace, &pod.labels) {
                self.queue.add_after(ObjectKey::from(&**service), self.config.batch_period);
            }
        }
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _lane: Lane) {
        self.slices.changed(change);
    }
}
