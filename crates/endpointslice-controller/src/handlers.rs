//! Which change concerns which Service.
//!
//! Handlers only name keys: what changed doesn't outlive them, because a sync looks at everything again.

use std::time::Duration;

use controller_runtime::cache::{CachedSlice, Change, Handler, ObjectKey, State};
use controller_runtime::queue::Lane;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{LabelSet, Node, Pod, Service};

use crate::controller::EndpointSliceController;

/// The least delay between a change of a slice and the sync it causes, so that a burst of foreign changes is met once
/// (`endpointslice_controller.go` `endpointSliceChangeMinSyncDelay`).
const SLICE_CHANGE_DELAY: Duration = Duration::from_secs(1);

impl Handler for EndpointSliceController {
    fn pod(&self, change: &Change<Pod>, state: &State, lane: Lane) {
        for key in services_of_pod_change(change, state) {
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
        let (Change::Added(slice) | Change::Updated { new: slice, .. } | Change::Deleted(slice)) = change;
        if !service_key(slice).is_some_and(|key| self.echoes.keep(&key, change)) {
            self.slice_changed(change);
        }
    }
}

/// The Services that a pod's change may concern.
///
/// A pod whose labels changed leaves the Services that no longer select it and joins others; the rest only care if
/// the pod itself changed (`util/controller_utils.go` `determineNeededServiceUpdates`).
fn services_of_pod_change(change: &Change<Pod>, state: &State) -> Vec<ObjectKey> {
    let selecting = |pod: &Pod| -> Vec<ObjectKey> {
        state
            .services_selecting(&pod.namespace, &pod.labels)
            .map(|service| ObjectKey::from(&**service))
            .collect()
    };
    match change {
        Change::Added(pod) | Change::Deleted(pod) => selecting(pod),
        Change::Updated { old, new } => {
            let relabelled = !LabelSet::eq(&old.labels, &new.labels);
            let changed = old.differs_as_endpoint(new);
            match (relabelled, changed) {
                (false, false) => Vec::new(),
                (false, true) => selecting(new),
                (true, true) => selecting(old).into_iter().chain(selecting(new)).collect(),
                (true, false) => symmetric_difference(&selecting(old), &selecting(new)),
            }
        }
    }
}

fn symmetric_difference(a: &[ObjectKey], b: &[ObjectKey]) -> Vec<ObjectKey> {
    let left = a.iter().filter(|key| !b.contains(key)).cloned();
    let joined = b.iter().filter(|key| !a.contains(key)).cloned();
    left.chain(joined).collect()
}

fn is_ours(slice: &CachedSlice) -> bool {
    slice.managed_by.as_deref() == Some(ENDPOINTSLICE_CONTROLLER)
}

fn service_key(slice: &CachedSlice) -> Option<ObjectKey> {
    let service = slice.service.as_ref()?;
    Some(ObjectKey::new(slice.namespace.clone(), service.clone()))
}

impl EndpointSliceController {
    /// Judges a change of a slice whose Service is not under sync.
    pub(crate) fn slice_changed(&self, change: &Change<CachedSlice>) {
        match change {
            Change::Added(slice) => self.slice_added(slice),
            Change::Updated { old, new } => self.slice_updated(old, new),
            Change::Deleted(slice) => self.slice_deleted(slice),
        }
    }

    fn slice_added(&self, slice: &CachedSlice) {
        if is_ours(slice) && self.is_foreign_change(slice) {
            self.sync_later(slice);
        }
        self.wake(slice);
    }

    fn slice_updated(&self, old: &CachedSlice, new: &CachedSlice) {
        if is_ours(old) && (!is_ours(new) || old.service != new.service || new.deleting) {
            // It has left our view, so its absence there must not look like a cache that is behind.
            self.forget_slice(old);
        }
        if old.service != new.service {
            // The slice has moved to another Service: both need a look, whoever manages it.
            self.sync_later(new);
            self.sync_later(old);
        } else if is_ours(old) != is_ours(new) || is_ours(new) && self.is_foreign_change(new) {
            self.sync_later(new);
        }
        self.wake(new);
    }

    fn slice_deleted(&self, slice: &CachedSlice) {
        if !is_ours(slice) {
            return;
        }
        if let Some(service) = &slice.service
            && !self.tracker.lock().gone(&slice.namespace, service, &slice.uid)
        {
            self.sync_later(slice);
        }
        self.wake(slice);
    }

    fn forget_slice(&self, slice: &CachedSlice) {
        let service = slice.service.as_deref().unwrap_or_default();
        self.tracker.lock().gone(&slice.namespace, service, &slice.uid);
    }

    /// True unless the slice is the echo of our own write.
    fn is_foreign_change(&self, slice: &CachedSlice) -> bool {
        let service = slice.service.as_deref().unwrap_or_default();
        self.tracker.lock().should_sync(&slice.namespace, service, &slice.uid, slice.generation)
    }

    fn sync_later(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice) {
            self.queue.add_after(key, self.config.batch_period.max(SLICE_CHANGE_DELAY));
        }
    }

    /// If a sync of this Service waits for the cache to catch up, it may have now.
    fn wake(&self, slice: &CachedSlice) {
        if let Some(key) = service_key(slice)
            && self.stale.lock().remove(&key)
        {
            self.queue.add(key);
        }
    }
}
