//! Objects and changes of them.

use std::collections::HashMap;
use std::sync::LazyLock;

use random_operations::rng::Rng;
use serde_json::{Map, Value, json};

use crate::conformance::request::Edit;

pub(crate) const UID: &str = "00000000-1111-2222-3333-444444444444";

/// A field or a JSON pointer, and a value.
type Choice = (&'static str, Value);

/// The choices of a section of `objects.txt`.
fn section(name: &str) -> &'static [Choice] {
    static SECTIONS: LazyLock<HashMap<&'static str, Vec<Choice>>> = LazyLock::new(|| {
        let mut sections = HashMap::<&str, Vec<Choice>>::new();
        let mut section = "";
        for line in include_str!("objects.txt").lines().filter(|line| !line.starts_with("//")) {
            if let Some(name) = line.strip_prefix("# ") {
                section = name;
            } else if let Some((key, value)) = line.split_once(": ") {
                let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{line}: {error}"));
                sections.entry(section).or_default().push((key, value));
            }
        }
        sections
    });
    SECTIONS.get(name).unwrap_or_else(|| panic!("objects.txt has no section {name}"))
}

/// Takes each field with some probability.
fn some_fields(rng: &mut Rng, percent: usize, name: &str) -> Map<String, Value> {
    let chosen = section(name).iter().filter(|_| rng.percent(percent));
    chosen.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

fn value(rng: &mut Rng, name: &str) -> Value {
    rng.pick(section(name)).1.clone()
}

fn one(rng: &mut Rng, choices: &[Value]) -> Value {
    rng.pick(choices).clone()
}

/// An edit of `/FIELD` to one of the values; `null` removes the field.
pub(crate) fn edit(rng: &mut Rng, name: &str) -> Vec<Edit> {
    edit_with(rng, name, Value::Null)
}

/// The same, with this value for `⟦new⟧`.
fn edit_with(rng: &mut Rng, name: &str, new: Value) -> Vec<Edit> {
    let (pointer, value) = rng.pick(section(name));
    let value = if value == "⟦new⟧" { new } else { value.clone() };
    vec![if value.is_null() { Edit::remove(pointer) } else { Edit::set(pointer, value) }]
}

pub(crate) fn nothing(_: &mut Rng) -> Vec<Edit> {
    Vec::new()
}

/// Metadata of a new object, mostly with the label by which the sequence finds it.
pub(crate) fn metadata(rng: &mut Rng, name: Option<&str>) -> Value {
    let mut metadata = Map::new();
    if let Some(name) = name {
        metadata.insert("name".to_owned(), json!(name));
    }
    let mut labels = some_fields(rng, 30, "labels");
    if rng.percent(20) {
        labels.insert("app".to_owned(), json!("b"));
    }
    // Booleans in the YAML of Go, if they had no quotes.
    if rng.percent(3) {
        labels.insert("yes".to_owned(), json!("y"));
    }
    labels.insert("sequence".to_owned(), json!("⟦ns⟧"));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    metadata.extend(some_fields(rng, 7, "metadata"));
    Value::Object(metadata)
}

pub(crate) fn change_metadata(rng: &mut Rng) -> Vec<Edit> {
    edit(rng, "change of metadata")
}

/// Half of the changes are of metadata.
pub(crate) fn or_metadata(rng: &mut Rng, name: &str) -> Vec<Edit> {
    or_metadata_with(rng, name, Value::Null)
}

fn or_metadata_with(rng: &mut Rng, name: &str, new: Value) -> Vec<Edit> {
    if rng.percent(50) { change_metadata(rng) } else { edit_with(rng, name, new) }
}

pub(crate) fn or_invalid_metadata(rng: &mut Rng, name: &str) -> Vec<Edit> {
    let name = if rng.percent(30) { "invalid metadata" } else { name };
    edit(rng, name)
}

pub(crate) fn pod(rng: &mut Rng) -> Value {
    json!({"spec": pod_spec(rng)})
}

fn container(rng: &mut Rng, name: &str) -> Value {
    let mut container = some_fields(rng, 15, "container");
    if container.contains_key("volumeMounts") {
        container.remove("volumeMounts");
    }
    container.insert("name".to_owned(), json!(name));
    container.insert(
        "image".to_owned(),
        one(rng, &[json!("nginx"), json!("nginx:latest"), json!("r.example.com/a/b:v1")]),
    );
    Value::Object(container)
}

fn pod_spec(rng: &mut Rng) -> Value {
    let mut spec = some_fields(rng, 10, "pod");
    let mut containers = vec![container(rng, "main")];
    if rng.percent(25) {
        containers.push(container(rng, "side"));
    }
    spec.insert("containers".to_owned(), Value::Array(containers));
    if rng.percent(10) {
        let init = container(rng, "init");
        let keep = ["name", "image", "command", "args", "resources", "env"];
        let init: Map<_, _> = init
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .filter(|(key, _)| keep.contains(&key.as_str()))
            .collect();
        spec.insert("initContainers".to_owned(), json!([init]));
    }
    // A host's ports are those of the container.
    if spec.contains_key("hostNetwork") {
        spec.remove("hostAliases");
        for container in spec["containers"].as_array_mut().unwrap() {
            container.as_object_mut().unwrap().remove("ports");
            container.as_object_mut().unwrap().remove("readinessProbe");
        }
    }
    for container in spec["containers"].as_array_mut().unwrap() {
        let has_port = container["ports"].as_array().is_some_and(|ports| ports.len() == 2);
        if !has_port {
            container.as_object_mut().unwrap().remove("readinessProbe");
        }
    }
    Value::Object(spec)
}

/// Parts of pods that the embedded server stores unchecked: only valid ones are sent.
const UNCHECKED: [&str; 14] = [
    "/affinity/",
    "/dnsPolicy",
    "/env/",
    "/envFrom/",
    "/hostAliases/",
    "/imagePullPolicy",
    "/lifecycle/",
    "/preemptionPolicy",
    "Probe/",
    "/resources/",
    "/securityContext/",
    "/terminationMessagePolicy",
    "/topologySpreadConstraints/",
    "/volumes/",
];

/// True if the embedded server checks the value at a JSON pointer of an object.
pub(crate) fn is_checked(kind: &str, pointer: &str) -> bool {
    let unchecked: &[&str] = match kind {
        // Without a spec there is no template.
        "Deployment" | "ReplicaSet" if pointer == "/spec" => return false,
        "Deployment" | "ReplicaSet" => &["/spec/selector", "/spec/template"],
        "Node" => &["/spec/taints", "/status/allocatable", "/status/capacity"],
        "Service" => &[
            "/spec/externalIPs",
            "/spec/externalName",
            "/spec/internalTrafficPolicy",
            "/spec/loadBalancer",
            "/spec/sessionAffinity",
        ],
        _ => &[],
    };
    // The whole of a part may become one that misses what is required of it.
    let is_of = |part: &str| pointer.contains(part) || pointer.ends_with(part.trim_end_matches('/'));
    !unchecked.iter().any(|start| pointer.starts_with(start)) && !UNCHECKED.iter().any(|part| is_of(part))
}

pub(crate) fn pod_status(rng: &mut Rng) -> Vec<Edit> {
    (0..=rng.below(2)).flat_map(|_| edit(rng, "status of a pod")).collect()
}

pub(crate) fn service(rng: &mut Rng) -> Value {
    let mut spec = some_fields(rng, 12, "Service");
    if !spec.contains_key("sessionAffinity") {
        spec.remove("sessionAffinityConfig");
    }
    spec.insert("ports".to_owned(), value(rng, "ports of a Service"));
    if rng.percent(70) {
        spec.insert(
            "selector".to_owned(),
            one(rng, &[json!({"app": "a"}), json!({"app": "b", "tier": "x"})]),
        );
    }
    match rng.below(12) {
        0 => drop(spec.insert("clusterIP".to_owned(), json!("None"))),
        1 => {
            spec.insert("clusterIP".to_owned(), json!("None"));
            spec.remove("ports");
        }
        2 | 3 => drop(spec.insert("type".to_owned(), json!("NodePort"))),
        4 => {
            spec.insert("type".to_owned(), json!("LoadBalancer"));
            if rng.percent(50) {
                spec.insert("externalTrafficPolicy".to_owned(), json!("Local"));
            }
            spec.extend(some_fields(rng, 20, "load balancer"));
        }
        5 => return json!({"spec": {"type": "ExternalName", "externalName": "www.example.com"}}),
        6 => {
            // Its own address of the range's part that is not chosen at random.
            spec.insert("clusterIP".to_owned(), json!("10.96.0.⟦slot⟧"));
            spec.remove("ipFamilies");
            spec.remove("ipFamilyPolicy");
        }
        7 => {
            spec.insert("type".to_owned(), json!("ClusterIP"));
        }
        _ => {}
    }
    json!({"spec": spec})
}

pub(crate) fn change_service(rng: &mut Rng) -> Vec<Edit> {
    let ports = value(rng, "ports of a Service");
    if rng.percent(8) {
        // The policy would stay in the store of the real server, and be seen in some answers.
        return vec![
            Edit::set("/spec/type", "ExternalName"),
            Edit::set("/spec/externalName", "x.example.com"),
            Edit::remove("/spec/internalTrafficPolicy"),
        ];
    }
    or_metadata_with(rng, "change of a Service", ports)
}

pub(crate) fn endpoints(rng: &mut Rng) -> Value {
    match value(rng, "subsets") {
        Value::Null => json!({}),
        subsets => json!({"subsets": subsets}),
    }
}

pub(crate) fn change_endpoints(rng: &mut Rng) -> Vec<Edit> {
    let subsets = endpoints(rng)["subsets"].clone();
    or_metadata_with(rng, "change of Endpoints", subsets)
}

pub(crate) fn slice(rng: &mut Rng) -> Value {
    let kind = rng.below(4);
    let mut slice = match kind {
        0 => json!({"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}]}),
        1 => json!({"addressType": "FQDN", "endpoints": [{"addresses": ["a.example.com"]}]}),
        _ => json!({"addressType": "IPv4", "endpoints": value(rng, "endpoints of a slice")}),
    };
    slice["ports"] = value(rng, "ports of a slice");
    slice
}

pub(crate) fn change_slice(rng: &mut Rng) -> Vec<Edit> {
    // Not an empty list for one that is already empty: such a change is one for the real server only if the second of the
    // managed fields is another one.
    let endpoints = match value(rng, "endpoints of a slice") {
        Value::Array(none) if none.is_empty() => json!([{"addresses": ["10.0.0.1"]}]),
        some => some,
    };
    or_metadata_with(rng, "change of a slice", endpoints)
}

pub(crate) fn event(rng: &mut Rng) -> Value {
    let mut event = some_fields(rng, 40, "Event");
    event.insert(
        "involvedObject".to_owned(),
        json!({"kind": "Pod", "namespace": "⟦ns⟧", "name": "p0", "apiVersion": "v1", "uid": UID}),
    );
    Value::Object(event)
}

pub(crate) fn lease(rng: &mut Rng) -> Value {
    let spec = some_fields(rng, 50, "Lease");
    json!({"spec": spec})
}

pub(crate) fn service_account(rng: &mut Rng) -> Value {
    Value::Object(some_fields(rng, 40, "ServiceAccount"))
}

fn workload(rng: &mut Rng) -> Map<String, Value> {
    let mut spec = some_fields(rng, 40, "workload");
    spec.insert("selector".to_owned(), json!({"matchLabels": {"app": "a"}}));
    let mut pod = pod_spec(rng);
    pod.as_object_mut().unwrap().remove("restartPolicy");
    spec.insert("template".to_owned(), json!({"metadata": {"labels": {"app": "a"}}, "spec": pod}));
    spec
}

pub(crate) fn replica_set(rng: &mut Rng) -> Value {
    json!({"spec": workload(rng)})
}

pub(crate) fn deployment(rng: &mut Rng) -> Value {
    let mut spec = workload(rng);
    spec.extend(some_fields(rng, 25, "Deployment"));
    json!({"spec": spec})
}

pub(crate) fn node(rng: &mut Rng) -> Value {
    let spec = some_fields(rng, 25, "Node");
    let status = some_fields(rng, 30, "status of a new Node");
    json!({"spec": spec, "status": status})
}

pub(crate) fn namespace(_: &mut Rng) -> Value {
    json!({})
}
