//! Services whose slices would lack an endpoint for now, so that their sync fails and is retried: a pod's node is missing.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_controller_manager::controllers::Controller;
use endpoint_informers::cache::{Cache, State};
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{Snapshot, SyncError, UnsortedSnapshot};
use endpointslice::{Service, desired_from_service};

/// Each of them with a line about it.
pub(super) fn lines(cache: &Cache) -> Vec<(ObjectKey, String)> {
    let services: Vec<Arc<Service>> = cache.read(|state| state.services.iter().cloned().collect());
    let failing = services.iter().filter_map(|service| {
        let snapshot = cache.read(|state| lacking(service, state))?.sorted();
        let desired = desired_from_service(service, snapshot.pods(), |name| snapshot.node(name));
        let reason = SyncError::unless_complete(desired.skipped()).err()?;
        Some((service.key(), reason))
    });
    let mut failing: Vec<(ObjectKey, SyncError)> = failing.collect();
    failing.sort_by(|(a, _), (b, _)| a.cmp(b));
    let name = Controller::EndpointSlice.name();
    let line = |(key, reason)| {
        let line = format!("the {name} keeps failing for Service {key}: {reason}");
        (key, line)
    };
    failing.into_iter().map(line).collect()
}

/// The pods of a Service, if the node of one is missing.
fn lacking(service: &Arc<Service>, state: &State) -> Option<UnsortedSnapshot> {
    let selector = service.selector.as_ref().filter(|_| service.selects_pods())?;
    let mut pods = state.pods_selected(&service.namespace, selector);
    let is_missing = |node: &Arc<str>| state.nodes.get("", node).is_none();
    let is_lacking = pods.any(|pod| pod.node_name.as_ref().is_some_and(is_missing));
    is_lacking.then(|| Snapshot::of(service, Vec::new(), state))
}
