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

use Plant::{Copy, Other, Slice};

/// `hack/simulate --audit` runs any number.
const SEEDS: u64 = 100;
/// Clusters in which each defect is planted.
const CLUSTERS: u64 = 6;

const SLICES: &str = "endpointslice-controller.k8s.io";
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// A defect, by what must be found, if the cluster has an object for it.
enum Plant {
    /// Of a slice of the controller: the rule, and the edit.
    Slice(&'static str, fn(&mut Value)),
    /// Of a copy of such a slice.
    Copy(&'static str, fn(&mut Value)),
    Other(fn(&mut Vec<Value>) -> Option<String>),
}

impl Plant {
    fn plant(&self, objects: &mut Vec<Value>) -> Option<String> {
        let (rule, slice) = match self {
            Self::Slice(rule, edit) => {
                let slice = slice_of(objects, SLICES)?;
                edit(&mut objects[slice]);
                (rule, name(&objects[slice]))
            }
            Self::Copy(rule, edit) => {
                let mut copy = copy(&objects[slice_of(objects, SLICES)?], "zz-copy");
                edit(&mut copy);
                objects.push(copy);
                (rule, "zz-copy".to_owned())
            }
            Self::Other(plant) => return plant(objects),
        };
        Some(format!("{rule} EndpointSlice {slice}"))
    }
}

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
        ("duplicate", Copy("duplicate-endpoint", |_| {})),
        ("pod gone", Slice("stale-pod", pod_gone)),
        ("pod replaced", Slice("stale-pod", |it| it["endpoints"][0]["targetRef"]["uid"] = "older".into())),
        ("orphaned slice", Copy("orphaned-slice", |it| *label(it, SERVICE_NAME) = "vanished".into())),
        ("orphaned mirror", Copy("orphaned-mirror", |it| *label(it, MANAGED_BY) = MIRROR.into())),
        ("stripped owner", Slice("slice-owner", |it| it["metadata"]["ownerReferences"] = Value::Null)),
        (
            "older owner",
            Slice("slice-owner", |it| it["metadata"]["ownerReferences"][0]["uid"] = "older".into()),
        ),
        ("no service name", Slice("missing-service-name", no_service_name)),
        ("two managers", Other(two_managers)),
        (
            "mistyped manager",
            Slice("unknown-manager", |it| *label(it, MANAGED_BY) = "endpointslice-controller".into()),
        ),
        ("delegated", Other(delegated)),
        ("headless label", Other(headless_label)),
        ("reserved label", Other(reserved_label)),
        ("skip-mirror", Other(skip_mirror)),
        ("Endpoints without a Service", Other(endpoints_without_service)),
        ("slice out of sync", Other(out_of_sync)),
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
            let Some(expected) = plant.plant(&mut objects) else { continue };
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

/// A label of an object, which may have none yet.
fn label<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    &mut object["metadata"]["labels"][key]
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

/// A pod that only slices name is planted: other Services and Endpoints may select those that are there.
fn pod_gone(slice: &mut Value) {
    let endpoints = slice["endpoints"].as_array_mut().unwrap();
    endpoints.pop();
    endpoints.push(json!({"addresses": ["10.250.0.1"], "conditions": {"ready": true},
        "targetRef": {"kind": "Pod", "name": "vanished", "uid": "vanished"}}));
}

fn no_service_name(slice: &mut Value) {
    slice["metadata"]["labels"].as_object_mut().unwrap().remove(SERVICE_NAME);
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

fn delegated(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, SLICES)?;
    let service = service_of(&objects[slice]);
    let index = named(objects, "Service", &service)?;
    *label(&mut objects[index], "service.kubernetes.io/endpoint-controller-name") = "mesh.example".into();
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
    *label(&mut objects[index], SERVICE_NAME) = "other".into();
    Some(format!("reserved-label Endpoints {endpoints}"))
}

fn skip_mirror(objects: &mut Vec<Value>) -> Option<String> {
    let slice = slice_of(objects, MIRROR)?;
    let endpoints = service_of(&objects[slice]);
    for index in named(objects, "Endpoints", &endpoints).into_iter().chain(mirrors(objects, &endpoints)) {
        *label(&mut objects[index], "endpointslice.kubernetes.io/skip-mirror") = "True".into();
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
