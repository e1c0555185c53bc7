//! One Service: from a consistent read of the cache to its writes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use controller_runtime::cache::{CachedSlice, ObjectKey, State};
use controller_runtime::own_slices::{StaleCache, decode_all};
use controller_runtime::slice_writer::{WriteError, Written};
use controller_runtime::{error_chain, summary, worker};
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{
    AddressType, Desired, Hints, Node, Packing, Pod, Rules, Service, ServiceType, Skipped, SkippedReason,
    SlicePlan, SliceTemplate, TopologyEvent, desired_from_service, plan,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tracing::debug;

use crate::controller::EndpointSliceController;
use crate::metrics::SyncResult;

/// A sync that must be tried again.
#[derive(Debug)]
pub enum SyncError {
    /// The cache does not show our own last writes yet.
    StaleCache,
    /// Writes failed; all of them are listed.
    Write(Vec<WriteError>),
    /// A slice in the cache could not be read.
    Unreadable(kube_protobuf::DecodeError),
    /// Pods were left out; everything else was written.
    Skipped(Vec<Skipped>),
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleCache => StaleCache.fmt(f),
            Self::Unreadable(error) => write!(f, "unreadable EndpointSlice in the cache: {error}"),
            Self::Write(errors) => f.write_str(&summary(errors.iter().map(|error| error_chain(error)))),
            Self::Skipped(pods) => f.write_str(&summary(pods.iter().map(describe))),
        }
    }
}

fn describe(skipped: &Skipped) -> String {
    match &skipped.reason {
        SkippedReason::NodeNotFound(node) => {
            format!("skipping Pod {}: Node {node:?} not found", skipped.name)
        }
        SkippedReason::AddressNotAllowed(address) => format!("skipping {address} of Pod {}", skipped.name),
    }
}

impl std::error::Error for SyncError {}

impl SyncError {
    /// True if the next try, with a newer cache, is all it takes.
    pub(crate) fn heals_by_itself(&self) -> bool {
        match self {
            Self::StaleCache => true,
            Self::Write(errors) => errors.iter().all(WriteError::is_conflict),
            Self::Unreadable(_) | Self::Skipped(_) => false,
        }
    }
}

impl worker::SyncError for SyncError {
    fn is_stale(&self) -> bool {
        matches!(self, Self::StaleCache)
    }
}

/// What one sync looks at: everything of the same moment.
struct Snapshot {
    service: Arc<Service>,
    pods: Vec<Arc<Pod>>,
    nodes: HashMap<Arc<str>, Arc<Node>>,
    slices: Vec<Arc<CachedSlice>>,
}

/// What a sync is going to do.
struct Planned {
    plan: SlicePlan,
    skipped: Vec<Skipped>,
    events: Vec<TopologyEvent>,
}

impl EndpointSliceController {
    /// Makes the slices of one Service as they should be.
    pub(crate) async fn sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let _under_sync = self.slices.begin_sync(key);
        let start = Instant::now();
        let result = self.try_sync(key).await;
        let outcome = match &result {
            Ok(()) => SyncResult::Success,
            Err(SyncError::StaleCache) => SyncResult::Stale,
            Err(_) => SyncResult::Error,
        };
        self.metrics.synced(outcome, start.elapsed());
        result
    }

    async fn try_sync(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let Some(snapshot) = self.snapshot(key)? else { return Ok(()) };
        let existing = decode_all(&snapshot.slices).map_err(SyncError::Unreadable)?;
        let Planned { plan, skipped, events } = self.plan(&snapshot, &existing);
        drop(existing);
        self.metrics.planned(key, &snapshot.service, &plan);
        let applied = self.writer.apply(&plan, |written| self.note(&written)).await;
        let failed = applied.as_ref().err().into_iter().flatten().filter_map(WriteError::address_type);
        let failed: Vec<AddressType> = failed.collect();
        let complete = plan.types.iter().filter(|plan| !failed.contains(&plan.address_type));
        self.metrics.applied(&snapshot.service, complete);
        debug!(service = %key, changes = plan.types.iter().map(endpointslice::AddressTypePlan::changes).sum::<usize>(), "Synced");
        let outcome = applied.map_err(SyncError::Write).and_then(|()| only_errors(&skipped));
        if let Err(error) = &outcome {
            self.report_failure(&snapshot.service, error);
        }
        self.metrics.skipped(skipped.iter().filter(|skipped| !may_come(skipped)).count());
        self.report_refused_addresses(&snapshot.service, &skipped);
        self.report_hints(&snapshot.service, events);
        outcome
    }

    /// Reads the cache, or says that there is nothing to do.
    ///
    /// A Service that is gone leaves its slices to the garbage collector; one without a selector, or of type
    /// `ExternalName`, keeps what it has (`endpointslice_controller.go` `syncService`).
    fn snapshot(&self, key: &ObjectKey) -> Result<Option<Snapshot>, SyncError> {
        self.cache.read(|state| {
            let Some(service) = state.services.get(&key.namespace, &key.name) else {
                self.forget(key);
                return Ok(None);
            };
            let Some(selector) = &service.selector else { return Ok(None) };
            if service.service_type == ServiceType::ExternalName {
                return Ok(None);
            }
            let slices = self.slices.read(key, state).map_err(|StaleCache| SyncError::StaleCache)?;
            let pods = state.pods_selected(&key.namespace, selector);
            let nodes = nodes_of(&pods, state);
            Ok(Some(Snapshot { service: Arc::clone(service), pods, nodes, slices }))
        })
    }

    fn plan(&self, snapshot: &Snapshot, existing: &[EndpointSlice]) -> Planned {
        let Snapshot { service, pods, nodes, .. } = snapshot;
        let pods = || pods.iter().map(|pod| &**pod);
        let trigger_time = self.trigger_times.lock().compute(service, pods());
        let desired: Desired =
            desired_from_service(service, pods(), |name| nodes.get(name).map(|node| &**node));
        let skipped = desired.skipped().to_vec();
        let template = SliceTemplate::for_service(service, ENDPOINTSLICE_CONTROLLER, trigger_time);
        let rules = Rules {
            packing: Packing::Pack { max: self.config.max_endpoints_per_slice },
            placeholder: true,
            hints: Hints::for_service(service, &self.topology.lock()),
        };
        let plan = plan(existing, desired, &template, &rules);
        let events = self.record_hints(service, &rules.hints, &plan);
        Planned { plan, skipped, events }
    }

    fn note(&self, written: &Written<'_>) {
        self.slices.written(written);
        self.metrics.written(written);
    }

    fn forget(&self, key: &ObjectKey) {
        self.trigger_times.lock().forget(&key.namespace, &key.name);
        self.slices.forget(key);
        self.topology.lock().forget(&key.namespace, &key.name);
        self.metrics.forget(key);
    }
}

/// What may come is worth another try.
fn only_errors(skipped: &[Skipped]) -> Result<(), SyncError> {
    let missing: Vec<Skipped> = skipped.iter().filter(|skipped| may_come(skipped)).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(SyncError::Skipped(missing)) }
}

/// A missing node may; an address that isn't allowed never will be.
fn may_come(skipped: &Skipped) -> bool {
    matches!(skipped.reason, SkippedReason::NodeNotFound(_))
}

fn nodes_of(pods: &[Arc<Pod>], state: &State) -> HashMap<Arc<str>, Arc<Node>> {
    let mut nodes = HashMap::new();
    for name in pods.iter().filter_map(|pod| pod.node_name.as_ref()) {
        if !nodes.contains_key(name)
            && let Some(node) = state.nodes.get("", name)
        {
            nodes.insert(Arc::clone(name), Arc::clone(node));
        }
    }
    nodes
}
