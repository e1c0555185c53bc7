//! Audits of clusters that the program settled: no false alarm, and each planted defect is found.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::ptr_arg,
    clippy::unnecessary_wraps,
    reason = "a test fails by panicking, in its helper functions too; all plants have one type"
)]

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};
use simulator::audit::{findings, line};
use simulator::plan::Plan;
use simulator::run::{Options, all_of, one};

/// `hack/simulate --audit` runs any number.
const SEEDS: u64 = 100;
/// Clusters in which each defect is planted.
const CLUSTERS: u64 = 6;

const SLICES: &str = "endpointslice-controller.k8s.io";
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// A defect: edits the objects, and returns what must be found; none if the cluster has no object for it.
type Plant = fn(&mut Vec<Value>) -> Option<String>;

#[test]
fn an_audit_of_settled_clusters_finds_nothing() {
    let options = Options { from: 0, seeds: SEEDS, jobs: 2, mattered: 0, stop: true, progress: false };
    let report = all_of(&options, &|seed| Plan::of(seed).audited());
    let failures = report.failures.iter().next();
    assert!(failures.is_none(), "{failures:?}: hack/simulate --audit --from SEED --seeds 1");
}

#[test]
fn each_planted_defect_is_found_and_nothing_else() {
    let plants: [(&str, Plant); 16] = [
        ("duplicate", duplicate),
        ("pod gone", pod_gone),
        ("pod replaced", pod_replaced),
        ("orphaned slice", orphaned_slice),
        ("orphaned mirror", orphaned_mirror),
        ("stripped owner", |objects| owner(objects, |metadata| metadata["ownerReferences"] = Value::Null)),
        ("older owner", |objects| {
            owner(objects, |metadata| metadata["ownerReferences"][0]["uid"] = "older".into())
        }),
        ("no service name", no_service_name),
        ("two managers", two_managers),
        ("mistyped manager", mistyped_manager),
        ("delegated", delegated),
        ("headless label", headless_label),
        ("reserved label", reserved_label),
        ("skip-mirror", skip_mirror),
        ("Endpoints without a Service", endpoints_without_service),
        ("slice out of sync", out_of_sync),
    ];
    let mut planted = [0; 16];
    for seed in 0..CLUSTERS {
        let plan = Plan::of(seed).audited();
        let max = plan.setup.max;
        let outcome = one(&plan);
        assert_eq!(outcome.failures, [""; 0], "seed {seed}");
        let lines = |objects: &[Value]| -> Vec<String> { findings(objects, max).iter().map(line).collect() };
        let before = lines(&outcome.settled);
        for ((name, plant), planted) in plants.iter().zip(&mut planted) {
            let mut objects = outcome.settled.clone();
            let Some(expected) = plant(&mut objects) else { continue };
            let mut found = lines(&objects);
            found.retain(|line| !before.contains(line));
            assert_eq!(found, [expected], "seed {seed}: {name}");
            *planted += 1;
        }
    }
    assert!(planted.iter().all(|count| *count > 0), "{planted:?}");
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

fn position(objects: &[Value], which: impl Fn(&Value) -> bool) -> Option<usize> {
    objects.iter().position(which)
}

fn named(objects: &[Value], kind: &str, name: &str) -> Option<usize> {
    position(objects, |object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// A slice of this controller with endpoints, of a Service that it maintains.
fn slice_of(objects: &[Value], manager: &str) -> Option<usize> {
    position(objects, |slice| {
        let labels = &slice["metadata"]["labels"];
        let service = named(objects, "Service", labels[SERVICE_NAME].as_str().unwrap_or_default());
        let selects = service.is_some_and(|service| {
            let spec = &objects[service]["spec"];
            spec["selector"].is_object() && spec["type"] != "ExternalName"
        });
        slice["kind"] == "EndpointSlice"
            && labels[MANAGED_BY] == manager
            && service.is_some()
            && selects == (manager == SLICES)
            && slice["endpoints"].as_array().is_some_and(|endpoints| !endpoints.is_empty())
    })
}

fn service_of(slice: &Value) -> String {
    slice["metadata"]["labels"][SERVICE_NAME].as_str().unwrap().to_owned()
}

/// A copy of a slice under another name.
fn copy(slice: &Value, name: &str) -> Value {
    let mut copy = slice.clone();
    copy["metadata"]["name"] = name.into();
    copy["metadata"]["uid"] = name.into();
    copy
}

fn duplicate(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    objects.push(copy(&objects[slice], "zz-copy"));
    Some("duplicate-endpoint EndpointSlice zz-copy".to_owned())
}

/// A pod that only slices name is planted: other Services and Endpoints may select those that are there.
fn pod_gone(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let endpoint = json!({"addresses": ["10.250.0.1"], "conditions": {"ready": true},
        "targetRef": {"kind": "Pod", "name": "vanished", "uid": "vanished"}});
    let endpoints = objects[slice]["endpoints"].as_array_mut()?;
    endpoints.pop();
    endpoints.push(endpoint);
    Some(format!("stale-pod EndpointSlice {}", name(&objects[slice])))
}

fn pod_replaced(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    objects[slice]["endpoints"][0]["targetRef"]["uid"] = "older".into();
    Some(format!("stale-pod EndpointSlice {}", name(&objects[slice])))
}

fn orphaned_slice(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let mut orphan = copy(&objects[slice], "zz-orphan");
    orphan["metadata"]["labels"][SERVICE_NAME] = "vanished".into();
    objects.push(orphan);
    Some("orphaned-slice EndpointSlice zz-orphan".to_owned())
}

fn orphaned_mirror(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let mut orphan = copy(&objects[slice], "zz-mirror");
    orphan["metadata"]["labels"][MANAGED_BY] = MIRROR.into();
    objects.push(orphan);
    Some("orphaned-mirror EndpointSlice zz-mirror".to_owned())
}

fn owner(objects: &mut [Value], edit: fn(&mut Value)) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    edit(&mut objects[slice]["metadata"]);
    Some(format!("slice-owner EndpointSlice {}", name(&objects[slice])))
}

fn no_service_name(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    objects[slice]["metadata"]["labels"].as_object_mut()?.remove(SERVICE_NAME);
    Some(format!("missing-service-name EndpointSlice {}", name(&objects[slice])))
}

fn two_managers(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let service = service_of(&objects[slice]);
    let mut other = copy(&objects[slice], "zz-mesh");
    other["metadata"]["labels"][MANAGED_BY] = "mesh.example".into();
    objects.push(other);
    // The neighbour's slice is there already.
    (service != "bedrock").then(|| format!("two-managers Service {service}"))
}

fn mistyped_manager(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    objects[slice]["metadata"]["labels"][MANAGED_BY] = "endpointslice-controller".into();
    Some(format!("unknown-manager EndpointSlice {}", name(&objects[slice])))
}

fn delegated(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let service = service_of(&objects[slice]);
    let index = named(objects, "Service", &service)?;
    objects[index]["metadata"]["labels"]["service.kubernetes.io/endpoint-controller-name"] =
        "mesh.example".into();
    Some(format!("delegated-service Service {service}"))
}

fn headless_label(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let service = named(objects, "Service", &service_of(&objects[slice]))?;
    let labels = &mut objects[slice]["metadata"]["labels"];
    let was_labelled = labels[HEADLESS].is_string();
    labels[HEADLESS] = "".into();
    objects[service]["spec"]["clusterIP"] = "10.96.0.9".into();
    (!was_labelled).then(|| format!("headless-label EndpointSlice {}", name(&objects[slice])))
}

fn reserved_label(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, MIRROR)?;
    let endpoints = service_of(&objects[slice]);
    let index = named(objects, "Endpoints", &endpoints)?;
    let metadata = &mut objects[index]["metadata"];
    if metadata["labels"].is_null() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][SERVICE_NAME] = "other".into();
    Some(format!("reserved-label Endpoints {endpoints}"))
}

fn skip_mirror(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, MIRROR)?;
    let endpoints = service_of(&objects[slice]);
    let label = "endpointslice.kubernetes.io/skip-mirror";
    for index in named(objects, "Endpoints", &endpoints).into_iter().chain(mirrors(objects, &endpoints)) {
        let metadata = &mut objects[index]["metadata"];
        if metadata["labels"].is_null() {
            metadata["labels"] = json!({});
        }
        metadata["labels"][label] = "True".into();
    }
    Some(format!("skip-mirror Endpoints {endpoints}"))
}

/// The mirrored slices of Endpoints.
fn mirrors(objects: &[Value], endpoints: &str) -> Vec<usize> {
    let is_mirror = |slice: &Value| {
        let labels = &slice["metadata"]["labels"];
        slice["kind"] == "EndpointSlice" && labels[MANAGED_BY] == MIRROR && labels[SERVICE_NAME] == endpoints
    };
    (0..objects.len()).filter(|index| is_mirror(&objects[*index])).collect()
}

fn endpoints_without_service(objects: &mut Vec<Value>) -> Option<String> {
    objects.push(json!({"kind": "Endpoints", "apiVersion": "v1", "metadata": {"name": "pg-config",
        "namespace": random_operations::NAMESPACE, "uid": "pg", "resourceVersion": "1",
        "annotations": {"initialize": "6840371529"}}}));
    Some("endpoints-without-service Endpoints pg-config".to_owned())
}

fn out_of_sync(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    objects[slice]["endpoints"].as_array_mut()?.pop();
    Some(format!("slices-out-of-sync Service {}", service_of(&objects[slice])))
}
