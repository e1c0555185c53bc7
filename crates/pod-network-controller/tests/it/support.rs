//! A cluster of one Service, `db`, and objects for it.

use std::collections::BTreeSet;

use controller_harness::{NAMESPACE, Running, TestApi, merged};
use endpoint_informers::cache::CachedResource;
use endpoint_informers::reconciler::{Reconciler, SliceReconciler as _};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Interner, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use pod_network_controller::{NAME, PodNetworks, ResourceClaim};
use serde_json::{Value, json};

/// The label of a Service for a network by name.
pub(crate) const NETWORK: &str = "multinetwork.networking.k8s.io/spec.podnetwork.name";

/// Puts an object into the cache, as a watch event does.
pub(crate) fn upsert<K: CachedResource>(api: &TestApi, object: Value) {
    let object = without_nulls(object);
    let mut interner = Interner::keeping_annotations(PodNetworks::ANNOTATIONS.iter().copied());
    api.upsert_object(K::from_json(&object.to_string(), &mut interner).unwrap());
}

/// The object without the fields that a merge has set to null.
fn without_nulls(object: Value) -> Value {
    match object {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// Service `db` with both families in network `storage`, with `changes` merged in.
pub(crate) fn service(version: u32, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": "db", "namespace": NAMESPACE, "uid": "uid-db", "resourceVersion": version.to_string(),
            "labels": {ENDPOINT_CONTROLLER_NAME: NAME, NETWORK: "storage"}},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4", "IPv6"], "selector": {"app": "db"},
            "ports": [{"name": "sql", "port": 5432, "targetPort": "sql"}]},
    });
    merged(object, changes)
}

/// A ready pod of `db`, with `changes` merged in. Its own address is 10.1.0.1.
pub(crate) fn pod(name: &str, version: u32, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "labels": {"app": "db"}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "ports": [{"name": "sql", "containerPort": 15432}]}]},
        "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
            "conditions": [{"type": "Ready", "status": "True"}]},
    });
    merged(object, changes)
}

/// A claim of this pod, whose one device is in network `storage` with these addresses.
pub(crate) fn claim(name: &str, version: u32, pod: &str, ips: &[&str]) -> Value {
    json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "resourceVersion": version.to_string()},
        "spec": {},
        "status": {"reservedFor": [consumer(pod)], "devices": [device("storage", ips)],
            "allocation": {"devices": {"results": [
                {"request": "net", "driver": "net.example.com", "pool": "node-1", "device": "storage"},
                {"request": "net/fast", "driver": "net.example.com", "pool": "node-1", "device": "backup"},
            ]}}},
    })
}

/// A pod in `reservedFor`.
fn consumer(pod: &str) -> Value {
    json!({"resource": "pods", "name": pod, "uid": format!("uid-{pod}")})
}

/// A device that is named after its network.
pub(crate) fn device(network: &str, ips: &[&str]) -> Value {
    json!({"driver": "net.example.com", "pool": "node-1", "device": network,
        "data": {"podNetwork": {"kind": "PodNetwork", "name": network}},
        "networkData": {"interfaceName": "net1", "ips": ips}})
}

/// Adds a node, `db`, and pods `db-1` and `db-2` with a claim each.
pub(crate) fn fill(api: &TestApi) {
    upsert::<Node>(
        api,
        json!({"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "a"}}}),
    );
    upsert::<Service>(api, service(1, json!({})));
    for number in ["1", "2"] {
        let name = format!("db-{number}");
        upsert::<Pod>(api, pod(&name, 1, json!({})));
        let (v4, v6) = (format!("192.168.7.{number}/24"), format!("fd00:7::{number}/64"));
        upsert::<ResourceClaim>(api, claim(&name, 1, &name, &[&v4, &v6]));
    }
}

/// The addresses that are published of the objects of [`fill`].
pub(crate) const BOTH: [&str; 4] = ["192.168.7.1", "192.168.7.2", "fd00:7::1", "fd00:7::2"];

/// Starts the controller.
pub(crate) fn run(api: &TestApi) -> Running {
    api.run(|cache, client, _, _| Reconciler::new(PodNetworks::default(), cache, client))
}

/// Starts the controller, and waits until `db` is published.
pub(crate) async fn start() -> TestApi {
    let api = TestApi::default();
    fill(&api);
    run(&api);
    api.settle().await;
    assert_eq!(api.addresses("db"), BOTH);
    api.forget_requests();
    api
}

/// The endpoint with this address.
pub(crate) fn endpoint(api: &TestApi, address: &str) -> Endpoint {
    api.endpoints("db").into_iter().find(|endpoint| endpoint.addresses == [address]).unwrap()
}

/// Its conditions: ready, serving, terminating.
pub(crate) fn conditions(api: &TestApi, address: &str) -> [bool; 3] {
    let conditions = endpoint(api, address).conditions.unwrap();
    [conditions.ready, conditions.serving, conditions.terminating].map(Option::unwrap)
}

/// The methods of the writes so far.
pub(crate) fn methods(api: &TestApi) -> BTreeSet<String> {
    api.requests().iter().map(|request| request.split(' ').next().unwrap().to_owned()).collect()
}

/// The numbers of endpoints in the slices, sorted.
pub(crate) fn sizes(slices: &[EndpointSlice]) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        slices.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).collect();
    sizes.sort_unstable();
    sizes
}
