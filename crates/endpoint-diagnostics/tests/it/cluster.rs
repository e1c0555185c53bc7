//! A cluster in memory: objects as JSON, changed by random operations, and settled by the controllers' plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{Object, Snapshot};
use endpoint_informers::kinds::CachedEndpoints;
use endpoint_informers::resource::Resource as _;
use endpoints_controller::{Plan, Unready};
use endpointslice::well_known::{
    ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER, MANAGED_BY, SERVICE_NAME,
};
use endpointslice::{Hints, Interner, Node, Pod, Service, SlicePlan};
use endpointslice_controller::ServicePlanOptions;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use pod_network_controller::ResourceClaim;
use random_operations::requests::node_status;
use random_operations::{NAMESPACE, Operation};
use serde_json::{Value, json};

/// The time of all changes.
pub(crate) const NOW: &str = "2001-01-01T00:00:00Z";

/// Merge patches by kind and name.
pub(crate) type Changes = BTreeMap<String, BTreeMap<String, Value>>;

/// The objects of one namespace, and the nodes, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) services: BTreeMap<String, Value>,
    pub(crate) pods: BTreeMap<String, Value>,
    pub(crate) nodes: BTreeMap<String, Value>,
    pub(crate) endpoints: BTreeMap<String, Value>,
    pub(crate) slices: BTreeMap<String, Value>,
    namespaces: BTreeMap<String, Value>,
    claims: BTreeMap<String, Value>,
    made: u32,
}

impl Cluster {
    /// The nodes that exist from the beginning of a trace.
    pub(crate) fn new() -> Self {
        let mut cluster = Self::default();
        for (name, cpu) in [("a", 2), ("b", 3), ("c", 5)] {
            let (name, zone) = (name.to_owned(), Some(name.to_owned()));
            cluster.apply(&Operation::CreateNode { name, zone, cpu, ready: true });
        }
        cluster
    }

    pub(crate) fn apply(&mut self, operation: &Operation) {
        let name = operation.name().to_owned();
        match operation {
            Operation::CreateService { object, .. } => {
                let service = defaulted(self.new_object(object.clone()));
                self.services.insert(name, service);
            }
            Operation::ChangeService { patch, .. } => {
                let service = self.services.get_mut(&name).unwrap();
                merge(service, patch);
                *service = defaulted(service.take());
            }
            Operation::DeleteService { .. } => {
                self.services.remove(&name);
                // The garbage collector, and the controller of Endpoints.
                self.slices.retain(|_, slice| slice["metadata"]["labels"][SERVICE_NAME] != *name);
                self.endpoints.remove(&name);
            }
            Operation::CreatePod { object, status, .. } => {
                let mut pod = self.new_object(object.clone());
                merge(&mut pod, &json!({"status": status.patch(NOW)}));
                self.pods.insert(name, pod);
            }
            Operation::BindPod { node, .. } => self.change_pod(&name, &json!({"spec": {"nodeName": node}})),
            Operation::ChangePodStatus { status, .. } => {
                self.change_pod(&name, &json!({"status": status.patch(NOW)}));
            }
            Operation::ChangePod { metadata, .. } => self.change_pod(&name, &json!({"metadata": metadata})),
            Operation::TerminatePod { .. } => {
                self.change_pod(&name, &json!({"metadata": {"deletionTimestamp": NOW}}));
            }
            Operation::RemovePod { .. } => drop(self.pods.remove(&name)),
            Operation::CreateNode { zone, cpu, ready, .. } => {
                let labels = zone.as_ref().map(|zone| json!({"topology.kubernetes.io/zone": zone}));
                let metadata = json!({"name": name, "labels": labels});
                let node = json!({"metadata": metadata, "status": node_status(*cpu, *ready)});
                self.nodes.insert(name, node);
            }
            Operation::LabelNode { labels, .. } => {
                merge(self.nodes.get_mut(&name).unwrap(), &json!({"metadata": {"labels": labels}}));
            }
            Operation::ChangeNodeReadiness { cpu, ready, .. } => {
                let status = json!({"status": node_status(*cpu, *ready)});
                merge(self.nodes.get_mut(&name).unwrap(), &status);
            }
            Operation::DeleteNode { .. } => drop(self.nodes.remove(&name)),
            Operation::SetEndpoints { object, .. } => {
                let endpoints = self.new_object(object.clone());
                self.endpoints.insert(name, endpoints);
            }
            Operation::DeleteEndpoints { .. } => drop(self.endpoints.remove(&name)),
        }
    }

    /// Applies a merge patch to an object, which is created if it is missing, and removed by null.
    pub(crate) fn change(&mut self, kind: &str, name: &str, patch: &Value) {
        let objects = match kind {
            "services" => &mut self.services,
            "pods" => &mut self.pods,
            "nodes" => &mut self.nodes,
            "endpoints" => &mut self.endpoints,
            "slices" => &mut self.slices,
            "namespaces" => &mut self.namespaces,
            "claims" => &mut self.claims,
            other => panic!("no kind {other}"),
        };
        if patch.is_null() {
            objects.remove(name).unwrap();
            return;
        }
        let metadata = || json!({"namespace": NAMESPACE, "name": name, "uid": format!("uid-{name}"), "resourceVersion": "7"});
        let object = objects.entry(name.to_owned()).or_insert_with(|| json!({"metadata": metadata()}));
        merge(object, patch);
        if kind == "services" {
            *object = defaulted(object.take());
        }
    }

    /// The same for several objects.
    pub(crate) fn change_all(&mut self, changes: &Changes) {
        for (kind, objects) in changes {
            for (name, patch) in objects {
                self.change(kind, name, patch);
            }
        }
    }

    fn change_pod(&mut self, name: &str, patch: &Value) {
        merge(self.pods.get_mut(name).unwrap(), patch);
    }

    fn new_object(&mut self, mut object: Value) -> Value {
        self.made += 1;
        object["metadata"]["uid"] = json!(format!("{:08}-0000-4000-8000-000000000000", self.made));
        object["metadata"]["namespace"] = json!(NAMESPACE);
        object
    }

    /// Writes what the controllers plan, as their syncs do.
    pub(crate) fn settle(&mut self) {
        let nodes: BTreeMap<String, Node> =
            self.nodes.iter().map(|(name, node)| (name.clone(), Node::from(&read(node)))).collect();
        let names: Vec<String> = self.services.keys().chain(self.endpoints.keys()).cloned().collect();
        for name in names {
            let service: Option<Service> =
                self.services.get(&name).map(|service| Service::from(&read(service)));
            if let Some(service) = service.as_ref().filter(|service| service.selects_pods()) {
                self.settle_pods(service, &nodes);
            }
            let slices = self.slices_of(&name, ENDPOINTSLICE_MIRRORING_CONTROLLER);
            let mirrored = self.endpoints.get(&name).filter(|endpoints| {
                let cached = CachedEndpoints::from_json(&endpoints.to_string(), &mut Interner::default());
                endpointslice_mirroring_controller::is_mirrored(&cached.unwrap(), service.as_ref())
            });
            let plan = mirrored.map_or_else(
                || SlicePlan::delete_all(slices.clone()),
                |endpoints| endpointslice_mirroring_controller::mirror(&read(endpoints), &slices, 1000).plan,
            );
            self.write(&plan);
        }
    }

    fn settle_pods(&mut self, service: &Service, nodes: &BTreeMap<String, Node>) {
        let selector = service.selector.clone().unwrap();
        let pods: Vec<Pod> = self.pods.values().map(|pod| Pod::from(&read(pod))).collect();
        let pods = || pods.iter().filter(|pod| selector.selects(&pod.labels));
        let mut topology = endpointslice::topology::TopologyCache::default();
        topology.set_nodes(nodes.values());
        let mut options = ServicePlanOptions::default();
        options.plan.placeholder = true;
        options.plan.hints = Hints::for_service(service, &topology);
        let existing = self.slices_of(&service.name, ENDPOINTSLICE_CONTROLLER);
        let (plan, _) = endpointslice_controller::plan_service(
            service,
            pods(),
            |name| nodes.get(name),
            &existing,
            &options,
        );
        self.write(&plan);
        let stored: Option<Endpoints> = self.endpoints.get(&*service.name).map(read);
        let unready = Unready::of(service, false);
        let (plan, _) = endpoints_controller::plan_service(service, pods(), stored.as_ref(), unready, None);
        if let Plan::Create(endpoints) | Plan::Update(endpoints) = plan {
            let object = self.new_object(serde_json::to_value(endpoints).unwrap());
            self.endpoints.insert(service.name.to_string(), object);
        }
    }

    fn slices_of(&self, service: &str, manager: &str) -> Vec<EndpointSlice> {
        let label =
            |slice: &Value, key: &str| slice["metadata"]["labels"][key].as_str().map(ToOwned::to_owned);
        let of = |slice: &&Value| {
            label(slice, SERVICE_NAME).as_deref() == Some(service)
                && label(slice, MANAGED_BY).as_deref() == Some(manager)
        };
        self.slices.values().filter(of).map(read).collect()
    }

    fn write(&mut self, plan: &SlicePlan) {
        let deleted = plan.types.iter().flat_map(|plan| &plan.delete).chain(&plan.delete_if_unchanged);
        for slice in deleted {
            self.slices.remove(slice.metadata.name.as_deref().unwrap());
        }
        for slice in plan.types.iter().flat_map(|plan| plan.create.iter().chain(&plan.update)) {
            let mut object = self.new_object(serde_json::to_value(slice).unwrap());
            let generated = |number: &u32| {
                let name = format!("{}slice-{number}", slice.metadata.generate_name.as_deref().unwrap());
                (!self.slices.contains_key(&name)).then_some(name)
            };
            let name =
                slice.metadata.name.clone().or_else(|| (1..).find_map(|number| generated(&number))).unwrap();
            object["metadata"]["name"] = json!(name);
            self.slices.insert(name, object);
        }
    }

    /// All objects at a moment.
    pub(crate) fn snapshot(&self, now: Timestamp) -> Snapshot {
        self.snapshot_without(now, &[])
    }

    /// The same for a caller that may not read some kinds.
    pub(crate) fn snapshot_without(&self, now: Timestamp, unreadable: &[Kind]) -> Snapshot {
        let mut snapshot = Snapshot::new(now, unreadable.iter().copied());
        let mut add = |values: &BTreeMap<String, Value>, object: fn(&Value) -> Object| {
            for object in values.values().map(object) {
                if snapshot.can_read(object.kind()) {
                    snapshot.upsert(object);
                }
            }
        };
        add(&self.services, |value| Object::Service(Arc::new(read(value))));
        add(&self.pods, |value| Object::Pod(Arc::new(read(value))));
        add(&self.nodes, |value| Object::Node(Arc::new(read(value))));
        add(&self.endpoints, |value| Object::Endpoints(Arc::new(read(value))));
        add(&self.slices, |value| Object::EndpointSlice(Arc::new(read(value))));
        add(&self.namespaces, |value| Object::Namespace(Arc::new(read(value))));
        add(&self.claims, |value| {
            let claim = ResourceClaim::read_json(&value.to_string(), &mut Interner::default());
            Object::ResourceClaim(Arc::new(claim.unwrap().0))
        });
        snapshot
    }
}

/// The kinds of these resources.
pub(crate) fn kinds(resources: &[String]) -> Vec<Kind> {
    let kind = |name: &String| Kind::ALL.into_iter().find(|kind| kind.resource() == name).unwrap();
    resources.iter().map(kind).collect()
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// A JSON merge patch.
pub(crate) fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut object[key], value);
        }
    }
}

/// A Service with the defaults that the API server sets.
fn defaulted(mut service: Value) -> Value {
    let spec = &mut service["spec"];
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        if port["protocol"].is_null() {
            port["protocol"] = json!("TCP");
        }
        if port["targetPort"].is_null() {
            port["targetPort"] = port["port"].clone();
        }
    }
    if spec["type"] != "ExternalName" && spec["clusterIP"].is_null() {
        let is_ipv6 = spec["ipFamilies"][0] == "IPv6";
        spec["clusterIP"] = json!(if is_ipv6 { "fd00:96::1" } else { "10.96.0.1" });
    }
    if spec["selector"].is_null() {
        spec.as_object_mut().unwrap().remove("selector");
    }
    service
}
