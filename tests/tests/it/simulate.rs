//! `simulate -f config/samples` alongside upstream's controllers on a real API server with the same manifests. Its `--diff` on
//! clusters that upstream settled is checked by [`random_parity`](crate::random_parity).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kube::Client;
use serde_json::{Value, json};
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::requests::{collection, create, list, manifest, must};
use tests::scenario::{NAMESPACE, World};
use tests::simulate;

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_samples_give_what_upstream_writes() {
    let printed = simulate::printed(&folder(), NAMESPACE);
    let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
    let world = Box::pin(World::prepare(cluster.client(), Controller::ALL)).await;
    let places = places(&printed);
    let mut pods = 0;
    for object in manifests() {
        if object["kind"] == "Pod" {
            let name = object["metadata"]["name"].as_str().unwrap();
            let place = places.get(name).unwrap_or_else(|| panic!("no endpoint of pod {name} is printed"));
            run(&cluster.client(), object, place).await;
            pods += 1;
        } else {
            create(&cluster.client(), &object).await.unwrap();
        }
    }
    assert_eq!(pods, places.len());
    // Started now, the controllers see what those of the simulation see.
    let options = ManagerOptions::of(Controller::ALL);
    let _manager = Manager::start(Kind::Upstream, &cluster, &options).await;
    world.settle().await;
    let mut written = Vec::new();
    for path in
        ["/api/v1/namespaces/shop/endpoints", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"]
    {
        written.extend(list(&cluster.client(), path).await);
    }
    let [printed, written] = [printed, written].map(comparable);
    assert_eq!(printed.len(), 9, "{printed:#?}");
    assert_eq!(printed, written);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples")
}

/// The objects of all files; Services come before their custom Endpoints.
fn manifests() -> Vec<Value> {
    let mut files: Vec<PathBuf> = folder().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut objects: Vec<Value> = files.iter().flat_map(|file| manifest(file)).collect();
    for object in objects.iter_mut().filter(|object| object["kind"] != "Node") {
        object["metadata"]["namespace"] = NAMESPACE.into();
    }
    objects
}

/// The node and the addresses that the simulation gave to a pod.
#[derive(Default)]
struct Place {
    node: String,
    /// By family, IPv4 first.
    addresses: BTreeMap<String, String>,
}

/// The places of the pods that slices refer to.
fn places(printed: &[Value]) -> BTreeMap<String, Place> {
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for slice in printed.iter().filter(|object| object["kind"] == "EndpointSlice") {
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            let Some(pod) = endpoint["targetRef"]["name"].as_str() else { continue };
            let place = places.entry(pod.to_owned()).or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            place.node = text(&endpoint["nodeName"]);
            place.addresses.insert(text(&slice["addressType"]), text(&endpoint["addresses"][0]));
        }
    }
    places
}

/// Creates a pod that runs and is ready.
async fn run(client: &Client, mut pod: Value, place: &Place) {
    pod["spec"]["nodeName"] = place.node.as_str().into();
    create(client, &pod).await.unwrap();
    let ips: Vec<Value> = place.addresses.values().map(|ip| json!({"ip": ip})).collect();
    let status = json!({
        "phase": "Running", "podIP": ips[0]["ip"], "podIPs": ips,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": jiff::Timestamp::now()}],
    });
    let path = format!("{}/{}/status", collection(&pod), pod["metadata"]["name"].as_str().unwrap());
    must(client, "PATCH", &path, &json!({"status": status})).await;
}

/// Objects without what is by chance, sorted: uids, versions, times, the random ends of names, the order of endpoints.
fn comparable(mut objects: Vec<Value>) -> Vec<String> {
    for object in &mut objects {
        without_chance(object);
        for list in ["/endpoints", "/subsets/0/addresses"] {
            if let Some(Value::Array(list)) = object.pointer_mut(list) {
                list.sort_by_key(ToString::to_string);
            }
        }
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        if metadata.contains_key("generateName") {
            metadata.remove("name");
        }
    }
    let mut texts: Vec<String> = objects.iter().map(|object| format!("{object:#}")).collect();
    texts.sort();
    texts
}

/// Replaces each random value by its key.
fn without_chance(tree: &mut Value) {
    match tree {
        Value::Object(fields) => {
            for (key, value) in fields {
                if ["uid", "resourceVersion", "creationTimestamp", TRIGGER_TIME].contains(&key.as_str()) {
                    *value = key.as_str().into();
                } else {
                    without_chance(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_chance),
        _ => {}
    }
}
