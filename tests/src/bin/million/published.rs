//! The slices and Endpoints of a Service, as our controllers write them.

use endpoints_controller::{Plan, Unready, desired_subsets};
use endpointslice::model::{NodeFields, PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use endpointslice::topology::TopologyCache;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
use endpointslice::{
    Hints, Interner, Node, PlanOptions, Pod, Service, SliceTemplate, desired_from_service, plan,
};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::{Message, PodView};

use crate::samples::Samples;
use crate::wire::with_manager;
use crate::world::{World, first_version, service_name, zone_of};

/// The name of the manager in `managedFields`: the program, as its user agent begins.
const MANAGER: &str = "endpoint-controller-manager";

/// `managedFields` of slices and Endpoints of these shapes, as the API server records them.
const SLICE_FIELDS: &str = concat!(
    r#"{"f:addressType":{},"f:endpoints":{},"f:metadata":{"f:annotations":{".":{},"#,
    r#""f:endpoints.kubernetes.io/last-change-trigger-time":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"#,
    r#""f:app.kubernetes.io/managed-by":{},"f:endpointslice.kubernetes.io/managed-by":{},"#,
    r#""f:kubernetes.io/service-name":{}},"f:ownerReferences":{".":{},"#,
    r#""k:{\"uid\":\"5e0d1c23-1a2b-4c3d-8e4f-000000000000\"}":{}}},"f:ports":{}}"#
);
const ENDPOINTS_FIELDS: &str = concat!(
    r#"{"f:metadata":{"f:annotations":{".":{},"f:endpoints.kubernetes.io/last-change-trigger-time":{}},"#,
    r#""f:labels":{".":{},"f:app":{},"f:app.kubernetes.io/managed-by":{},"f:endpoints.kubernetes.io/managed-by":{}}},"#,
    r#""f:subsets":{}}"#
);

const TRIGGER_TIME: &str = "2026-11-20T08:00:07Z";

/// The message of a slice as the API server sends it.
pub(crate) fn encode_slice(slice: &EndpointSlice) -> Vec<u8> {
    with_manager(&slice.encode(), MANAGER, EndpointSlice::API_VERSION, SLICE_FIELDS)
}

/// The message of an Endpoints object as the API server sends it.
pub(crate) fn encode_endpoints(endpoints: &Endpoints) -> Vec<u8> {
    with_manager(&endpoints.encode(), MANAGER, Endpoints::API_VERSION, ENDPOINTS_FIELDS)
}

/// The input of both controllers for one Service.
struct Inputs {
    service: Service,
    pods: Vec<Pod>,
    /// By the last digit of their zone.
    nodes: Vec<Node>,
}

impl Inputs {
    fn of(world: &World, samples: &Samples, index: usize) -> Self {
        let interner = &mut Interner::default();
        let mut raw = Vec::new();
        let pods = world.pods_of(index).map(|pod| {
            raw.clear();
            samples.pod(world, pod, true, first_version(pod), &mut raw);
            compact_pod(&raw, interner)
        });
        let pods = pods.collect();
        let nodes = (0..10).map(|zone| {
            let zone = format!("zone-{zone}");
            Node::new(&NodeFields { labels: vec![(TOPOLOGY_ZONE, &zone)], ..NodeFields::default() }, interner)
        });
        let nodes = nodes.collect();
        Self { service: service(world, index, interner), pods, nodes }
    }
}

fn compact_pod(raw: &[u8], interner: &mut Interner) -> Pod {
    let PodView { meta, node_name, phase, pod_ips, ready, ports, .. } = PodView::parse(raw).expect("a pod");
    let (status, last_transition) = ready.expect("a pod with the condition Ready");
    let fields = PodFields {
        namespace: meta.namespace,
        name: meta.name,
        uid: meta.uid,
        resource_version: meta.resource_version,
        labels: meta.labels,
        node_name,
        ports: ports.iter().map(|port| (port.name, port.protocol, port.container_port)).collect(),
        phase,
        addresses: pod_ips,
        ready: ReadyCondition { status, last_transition },
        ..PodFields::default()
    };
    Pod::new(fields, interner)
}

fn service(world: &World, index: usize, interner: &mut Interner) -> Service {
    let (namespace, name) = (world.namespace_name(index), service_name(index));
    let labels = vec![("app", name.as_str()), ("app.kubernetes.io/managed-by", "seed")];
    let port = PortFields {
        name: "http",
        protocol: "TCP",
        port: 80,
        target: TargetPort::Name("http"),
        app_protocol: None,
    };
    let fields = ServiceFields {
        namespace: &namespace,
        name: &name,
        uid: &format!("5e0d1c23-1a2b-4c3d-8e4f-{index:012}"),
        labels,
        selector: vec![("app", &name)],
        ports: vec![port],
        service_type: "ClusterIP",
        // Only its family matters here.
        cluster_ip: "11.100.100.100",
        ip_families: vec!["IPv4"],
        ..ServiceFields::default()
    };
    Service::new(fields, interner)
}

/// The one slice of a Service.
pub(crate) fn slice(world: &World, samples: &Samples, index: usize) -> EndpointSlice {
    let Inputs { service, pods, nodes } = &Inputs::of(world, samples, index);
    let desired = desired_from_service(service, pods, |name| {
        let node: usize = name.get(5..)?.parse().ok()?;
        nodes.get(zone_of(node))
    });
    let template = SliceTemplate::for_service(service, ENDPOINTSLICE_CONTROLLER)
        .with_trigger_time(Some(TRIGGER_TIME.to_owned()));
    let hints = Hints::for_service(service, &TopologyCache::default());
    let options = PlanOptions { hints, ..PlanOptions::default() };
    let existing: [EndpointSlice; 0] = [];
    let mut planned = plan(&existing, desired, &template, &options);
    let mut slice = planned.types.remove(0).create.remove(0);
    slice.metadata.name = Some(format!("{}-x7k2p", service.name));
    complete(&mut slice.metadata, &service.namespace, "3c8b9a01", index);
    slice
}

/// The Endpoints of a Service.
pub(crate) fn endpoints(world: &World, samples: &Samples, index: usize) -> Endpoints {
    let Inputs { service, pods, .. } = &Inputs::of(world, samples, index);
    let subsets = desired_subsets(service, pods, Unready::of(service, false));
    let trigger_time = Some(TRIGGER_TIME.to_owned());
    let Plan::Create(mut endpoints) = endpoints_controller::plan(None, service, subsets, trigger_time) else {
        panic!("Endpoints of {} are not created where there are none", service.name)
    };
    complete(&mut endpoints.metadata, &service.namespace, "2b7a8f90", index);
    endpoints
}

/// Sets what the API server sets.
fn complete(metadata: &mut ObjectMeta, namespace: &str, kind: &str, index: usize) {
    metadata.namespace = Some(namespace.to_owned());
    metadata.uid = Some(format!("{kind}-1a2b-4c3d-8e4f-{index:012}"));
    metadata.resource_version = Some(first_version(index).to_string());
    metadata.generation = Some(1);
    let created = "2026-11-20T08:00:08Z".parse().expect("a time");
    metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(created));
}
