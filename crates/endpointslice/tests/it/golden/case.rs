//! The cases in the file, as `hack/golden` writes them.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::topology::{TopologyCache, TopologyEvent};
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{
    DesiredEndpoints, Hints, Interner, Node, Packing, PlanOptions, Pod, Service, SlicePlan, SliceTemplate,
    desired_from_service, plan,
};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

/// One call of upstream's reconciler, with its writes, events and metrics.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) kind: String,
    max: usize,
    time: Option<String>,
    service: core::Service,
    pods: Vec<core::Pod>,
    nodes: Vec<core::Node>,
    endpoints: Option<Vec<Endpoint>>,
    existing: Vec<StoredSlice>,
    #[serde(default)]
    create: Vec<StoredSlice>,
    #[serde(default)]
    update: Vec<StoredSlice>,
    #[serde(default)]
    delete: BTreeSet<String>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    events: Vec<String>,
    added: usize,
    removed: usize,
    changed: usize,
    gauges: [usize; 3],
    /// By address type, the endpoints that serve each zone: every result that upstream was observed to have.
    #[serde(default)]
    zones: Vec<BTreeMap<String, BTreeMap<String, usize>>>,
}

/// A slice whose endpoints are positions in the table of its case.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredSlice {
    metadata: ObjectMeta,
    address_type: String,
    ports: Option<Vec<EndpointPort>>,
    endpoints: Option<Vec<usize>>,
}

/// The recorded results of upstream.
pub(crate) struct Recorded {
    pub(crate) create: Vec<EndpointSlice>,
    pub(crate) update: Vec<EndpointSlice>,
    pub(crate) delete: BTreeSet<String>,
    pub(crate) error: String,
    pub(crate) events: Vec<String>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) changed: usize,
    pub(crate) gauges: [usize; 3],
    pub(crate) zones: Vec<BTreeMap<String, BTreeMap<String, usize>>>,
}

/// The results of this crate for the same input.
pub(crate) struct Ours {
    pub(crate) max: usize,
    pub(crate) hints: Hints,
    pub(crate) existing: Vec<EndpointSlice>,
    pub(crate) template: SliceTemplate,
    /// Pods that were left out.
    pub(crate) skipped: BTreeSet<String>,
    pub(crate) plan: SlicePlan,
    pub(crate) events: Vec<TopologyEvent>,
}

impl Case {
    /// Plans for the case, and returns the result alongside that of upstream.
    pub(crate) fn replay(self) -> (Ours, Recorded) {
        let mut interner = Interner::default();
        let service = Service::from_api(&self.service, &mut interner);
        let pods: Vec<Pod> = self.pods.iter().map(|pod| Pod::from_api(pod, &mut interner)).collect();
        let nodes: Vec<Node> = self.nodes.iter().map(|node| Node::from_api(node, &mut interner)).collect();
        let table = self.endpoints.unwrap_or_default();
        let slices = |stored: Vec<StoredSlice>| -> Vec<EndpointSlice> {
            stored.into_iter().map(|slice| slice.with_endpoints(&table)).collect()
        };
        let mut topology = TopologyCache::default();
        let _ = topology.set_nodes(&nodes);
        let hints = Hints::for_service(&service, &topology);
        let packing = Packing::Pack { max: self.max };
        let options = PlanOptions { packing, hints: hints.clone(), ..PlanOptions::default() };
        let template =
            SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER).with_trigger_time(self.time);
        let desired: DesiredEndpoints =
            desired_from_service(&service, &pods, |name| nodes.iter().find(|node| &*node.name == name));
        let skipped = desired.skipped().iter().map(|skipped| skipped.name.clone()).collect();
        let existing = slices(self.existing);
        let plan = plan(&existing, desired, &template, &options);
        let events = topology.record(&service, hints.zone_shares(), plan.topology_outcomes()).events;
        let recorded = Recorded {
            create: slices(self.create),
            update: slices(self.update),
            delete: self.delete,
            error: self.error,
            events: self.events,
            added: self.added,
            removed: self.removed,
            changed: self.changed,
            gauges: self.gauges,
            zones: self.zones,
        };
        (Ours { max: self.max, hints, existing, template, skipped, plan, events }, recorded)
    }
}

impl StoredSlice {
    fn with_endpoints(self, table: &[Endpoint]) -> EndpointSlice {
        EndpointSlice {
            metadata: self.metadata,
            address_type: self.address_type,
            ports: self.ports,
            endpoints: self
                .endpoints
                .map(|positions| positions.into_iter().map(|position| table[position].clone()).collect()),
        }
    }
}
