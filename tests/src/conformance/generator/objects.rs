//! Objects and changes of them.

use random_operations::rng::Rng;
use serde_json::{Map, Value, json};

use crate::conformance::request::Edit;

/// A fixed time: those near the present would be taken for the server's.
pub(crate) const TIME: &str = "2024-01-02T03:04:05Z";
const MICRO_TIME: &str = "2024-01-02T03:04:05.000006Z";
pub(crate) const UID: &str = "00000000-1111-2222-3333-444444444444";

/// Takes each field with some probability.
fn some_fields(rng: &mut Rng, percent: usize, fields: &[(&str, Value)]) -> Map<String, Value> {
    let chosen = fields.iter().filter(|_| rng.percent(percent));
    chosen.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

fn one(rng: &mut Rng, choices: &[Value]) -> Value {
    rng.pick(choices).clone()
}

/// An edit of `/FIELD` to one of the values; `null` removes the field.
fn edit(rng: &mut Rng, choices: &[(&str, Value)]) -> Vec<Edit> {
    let (pointer, value) = rng.pick(choices);
    vec![if value.is_null() { Edit::remove(pointer) } else { Edit::set(pointer, value.clone()) }]
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
    let mut labels =
        some_fields(rng, 30, &[("app", json!("a")), ("tier", json!("")), ("example.com/x", json!("v"))]);
    if rng.percent(20) {
        labels.insert("app".to_owned(), json!("b"));
    }
    // Booleans in the YAML of Go, if they had no quotes.
    if rng.percent(3) {
        labels.insert("yes".to_owned(), json!("y"));
    }
    labels.insert("sequence".to_owned(), json!("⟦ns⟧"));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    let more = [
        ("annotations", json!({"note": "a <b> & \"c\" é"})),
        ("finalizers", json!(["example.com/keep"])),
        ("ownerReferences", json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": UID}])),
        ("generation", json!(7)),
        ("creationTimestamp", json!(TIME)),
        ("selfLink", json!("/somewhere")),
        ("deletionGracePeriodSeconds", json!(5)),
    ];
    metadata.extend(some_fields(rng, 7, &more));
    Value::Object(metadata)
}

pub(crate) fn change_metadata(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/metadata/labels/app", json!("a")),
        ("/metadata/labels/app", json!("b")),
        ("/metadata/labels/app", Value::Null),
        ("/metadata/labels/tier", json!("front")),
        ("/metadata/annotations/note", json!("two")),
        ("/metadata/annotations/other", json!("three\nlines\t")),
        ("/metadata/annotations", json!({})),
        ("/metadata/annotations", Value::Null),
        ("/metadata/finalizers", json!(["example.com/keep", "example.com/more"])),
        ("/metadata/finalizers", json!([])),
        ("/metadata/finalizers", Value::Null),
        (
            "/metadata/ownerReferences",
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r0", "uid": UID, "controller": true}]),
        ),
        ("/metadata/ownerReferences", Value::Null),
        ("/metadata/creationTimestamp", json!(TIME)),
        ("/metadata/creationTimestamp", Value::Null),
        // No version of an object that a message names.
        ("/metadata/generation", json!(9_999_999_999_u64)),
        ("/metadata/managedFields", json!([])),
        ("/metadata/managedFields", Value::Null),
        ("/metadata/deletionTimestamp", json!(TIME)),
        ("/metadata/selfLink", json!("/x")),
    ];
    edit(rng, &choices)
}

pub(crate) fn invalid_metadata(rng: &mut Rng) -> Vec<Edit> {
    let long = "x".repeat(64);
    let choices = [
        ("/metadata/labels/app", json!("not valid!")),
        ("/metadata/labels/app", json!(long)),
        ("/metadata/labels/-bad", json!("x")),
        ("/metadata/labels/a~1b~1c", json!("x")),
        ("/metadata/annotations/bad key", json!("x")),
        ("/metadata/annotations/", json!("x")),
        ("/metadata/finalizers", json!(["nodomain"])),
        ("/metadata/finalizers", json!(["bad finalizer"])),
        ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "Node", "name": "n1"}])),
        ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}])),
        (
            "/metadata/ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": UID}]),
        ),
        (
            "/metadata/ownerReferences",
            json!([
            {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": UID, "controller": true},
            {"apiVersion": "v1", "kind": "Node", "name": "b", "uid": UID, "controller": true}]),
        ),
        ("/metadata/managedFields", json!([{"manager": "m", "operation": "Sometimes", "apiVersion": "v1"}])),
        (
            "/metadata/managedFields",
            json!([{"manager": "m", "operation": "Update", "fieldsType": "V0", "apiVersion": "v1"}]),
        ),
    ];
    edit(rng, &choices)
}

/// Half of the changes are of metadata.
fn or_metadata(rng: &mut Rng, choices: &[(&str, Value)]) -> Vec<Edit> {
    if rng.percent(50) { change_metadata(rng) } else { edit(rng, choices) }
}

fn or_invalid_metadata(rng: &mut Rng, choices: &[(&str, Value)]) -> Vec<Edit> {
    if rng.percent(30) { invalid_metadata(rng) } else { edit(rng, choices) }
}

pub(crate) fn pod(rng: &mut Rng) -> Value {
    json!({"spec": pod_spec(rng)})
}

fn container(rng: &mut Rng, name: &str) -> Value {
    let mut container = some_fields(
        rng,
        15,
        &[
            ("command", json!(["sh", "-c"])),
            ("args", json!(["echo $(A)"])),
            (
                "env",
                json!([{"name": "A", "value": "1"}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]),
            ),
            ("imagePullPolicy", json!("Never")),
            (
                "ports",
                json!([{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}]),
            ),
            ("ports", json!([{"containerPort": 8080}])),
            (
                "resources",
                json!({"requests": {"cpu": "100m", "memory": "1.5Gi"}, "limits": {"cpu": "0.25", "memory": "2048Mi"}}),
            ),
            ("resources", json!({"limits": {"cpu": 2}})),
            ("readinessProbe", json!({"httpGet": {"port": "http", "path": "/ready"}, "periodSeconds": 3})),
            ("livenessProbe", json!({"tcpSocket": {"port": 80}})),
            ("startupProbe", json!({"exec": {"command": ["true"]}})),
            ("volumeMounts", json!([{"name": "data", "mountPath": "/data"}])),
            ("securityContext", json!({"runAsUser": 1000, "capabilities": {"add": ["NET_ADMIN"]}})),
            ("terminationMessagePolicy", json!("FallbackToLogsOnError")),
            ("workingDir", json!("/")),
            ("stdin", json!(true)),
            ("lifecycle", json!({"preStop": {"httpGet": {"port": 80}}})),
            ("envFrom", json!([{"configMapRef": {"name": "c"}}])),
        ],
    );
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
    let mut spec = some_fields(
        rng,
        10,
        &[
            ("nodeName", json!("n1")),
            ("restartPolicy", json!("Never")),
            ("restartPolicy", json!("OnFailure")),
            ("terminationGracePeriodSeconds", json!(100)),
            ("terminationGracePeriodSeconds", json!(0)),
            ("dnsPolicy", json!("Default")),
            ("nodeSelector", json!({"disk": "ssd"})),
            ("serviceAccountName", json!("builder")),
            ("automountServiceAccountToken", json!(false)),
            ("hostname", json!("h")),
            ("subdomain", json!("sub")),
            ("readinessGates", json!([{"conditionType": "example.com/gate"}])),
            ("volumes", json!([{"name": "data", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}])),
            ("imagePullSecrets", json!([{"name": "s"}])),
            ("hostAliases", json!([{"ip": "10.0.0.9", "hostnames": ["a", "b"]}])),
            ("enableServiceLinks", json!(false)),
            ("securityContext", json!({"runAsNonRoot": true, "fsGroup": 5})),
            ("schedulerName", json!("mine")),
            (
                "topologySpreadConstraints",
                json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}]),
            ),
            (
                "affinity",
                json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}}),
            ),
            ("hostNetwork", json!(true)),
            ("setHostnameAsFQDN", json!(true)),
            ("preemptionPolicy", json!("PreemptLowerPriority")),
            ("shareProcessNamespace", json!(true)),
        ],
    );
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
const UNCHECKED: [&str; 13] = [
    "/affinity/",
    "/dnsPolicy",
    "/env/",
    "/envFrom/",
    "/hostAliases/",
    "/imagePullPolicy",
    "/lifecycle/",
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
        _ => &[],
    };
    // The whole of a part may become one that misses what is required of it.
    let is_of = |part: &str| pointer.contains(part) || pointer.ends_with(part.trim_end_matches('/'));
    !unchecked.iter().any(|start| pointer.starts_with(start)) && !UNCHECKED.iter().any(|part| is_of(part))
}

pub(crate) fn change_pod(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/containers/0/image", json!("nginx:2")),
        ("/spec/containers/0/image", json!("nginx:3")),
        ("/spec/terminationGracePeriodSeconds", json!(1)),
        ("/spec/nodeName", json!("n2")),
        ("/spec/hostname", json!("other")),
        ("/spec/containers/0/command", json!(["true"])),
        ("/status/phase", json!("Failed")),
        ("/spec/restartPolicy", json!("Never")),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn pod_status(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/status/phase", json!("Running")),
        ("/status/phase", json!("Succeeded")),
        ("/status/phase", json!("Failed")),
        ("/status/podIP", json!("10.0.0.1")),
        ("/status/podIPs", json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])),
        ("/status/podIPs", json!([{"ip": "10.0.0.2"}])),
        ("/status/conditions", json!([{"type": "Ready", "status": "True", "lastTransitionTime": TIME}])),
        (
            "/status/conditions",
            json!([{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True", "lastProbeTime": null}]),
        ),
        ("/status/hostIP", json!("192.168.0.1")),
        ("/status/startTime", json!(TIME)),
        (
            "/status/containerStatuses",
            json!([{"name": "main", "ready": true, "restartCount": 2, "image": "nginx", "imageID": "", "state": {"running": {"startedAt": TIME}}}]),
        ),
        ("/status/message", json!("text")),
        ("/status/observedGeneration", json!(1)),
        ("/spec/nodeName", json!("n9")),
        ("/metadata/labels/app", json!("by-status")),
        ("/metadata/annotations/by", json!("status")),
    ];
    (0..=rng.below(2)).flat_map(|_| edit(rng, &choices)).collect()
}

pub(crate) fn invalid_pod(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/containers", json!([])),
        ("/spec/containers/0/name", json!("Main")),
        ("/spec/containers/0/name", json!("")),
        ("/spec/containers/0/image", json!("")),
        ("/spec/containers/0/image", json!(" nginx")),
        ("/spec/restartPolicy", json!("Sometimes")),
        ("/spec/containers/0/ports", json!([{"containerPort": 0}])),
        ("/spec/containers/0/ports", json!([{"containerPort": 70000}])),
        (
            "/spec/containers/0/ports",
            json!([{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
        ),
        ("/spec/terminationGracePeriodSeconds", json!(-1)),
        ("/spec/nodeName", json!("Bad_Node")),
        ("/spec/hostname", json!("not.a.label")),
    ];
    or_invalid_metadata(rng, &choices)
}

const SERVICE_PORTS: fn() -> Vec<Value> = || {
    vec![
        json!([{"port": 80}]),
        json!([{"port": 80, "targetPort": "http", "name": "http"}, {"port": 443, "targetPort": 8443, "name": "https", "appProtocol": "https"}]),
        json!([{"port": 53, "protocol": "UDP", "name": "dns"}, {"port": 53, "name": "dns-tcp"}]),
        json!([{"port": 8080, "targetPort": 8081}]),
    ]
};

pub(crate) fn service(rng: &mut Rng) -> Value {
    let mut spec = some_fields(
        rng,
        12,
        &[
            ("sessionAffinity", json!("ClientIP")),
            ("sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 60}})),
            ("publishNotReadyAddresses", json!(true)),
            ("ipFamilyPolicy", json!("PreferDualStack")),
            ("ipFamilyPolicy", json!("RequireDualStack")),
            ("ipFamilyPolicy", json!("SingleStack")),
            ("ipFamilies", json!(["IPv6"])),
            ("ipFamilies", json!(["IPv4"])),
            ("internalTrafficPolicy", json!("Local")),
            ("externalIPs", json!(["192.168.0.7"])),
            ("trafficDistribution", json!("PreferClose")),
            ("trafficDistribution", json!("PreferSameNode")),
        ],
    );
    if !spec.contains_key("sessionAffinity") {
        spec.remove("sessionAffinityConfig");
    }
    spec.insert("ports".to_owned(), one(rng, &SERVICE_PORTS()));
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
            spec.extend(some_fields(
                rng,
                20,
                &[
                    ("allocateLoadBalancerNodePorts", json!(false)),
                    ("loadBalancerClass", json!("example.com/lb")),
                    ("loadBalancerSourceRanges", json!(["10.0.0.0/8"])),
                    ("loadBalancerIP", json!("10.1.2.3")),
                ],
            ));
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
    let ports = one(rng, &SERVICE_PORTS());
    let choices = [
        ("/spec/type", json!("NodePort")),
        ("/spec/type", json!("ClusterIP")),
        ("/spec/type", json!("LoadBalancer")),
        ("/spec/ports", ports),
        ("/spec/selector", json!({"app": "c"})),
        ("/spec/selector", Value::Null),
        ("/spec/sessionAffinity", json!("ClientIP")),
        ("/spec/sessionAffinity", json!("None")),
        ("/spec/ipFamilyPolicy", json!("PreferDualStack")),
        ("/spec/ipFamilyPolicy", json!("SingleStack")),
        ("/spec/publishNotReadyAddresses", json!(true)),
        ("/spec/externalTrafficPolicy", json!("Local")),
        ("/spec/externalTrafficPolicy", json!("Cluster")),
        ("/spec/externalIPs", json!(["192.168.0.8", "192.168.0.9"])),
        ("/spec/trafficDistribution", json!("PreferSameZone")),
        ("/spec/ports/0/targetPort", json!("web")),
        ("/spec/ports/0/port", json!(81)),
        ("/spec/ports/0/nodePort", Value::Null),
        ("/spec/clusterIP", json!("10.96.0.⟦slot⟧")),
        ("/spec/clusterIP", Value::Null),
        ("/spec/clusterIP", json!("None")),
    ];
    if rng.percent(8) {
        // The policy would stay in the store of the real server, and be seen in some answers.
        return vec![
            Edit::set("/spec/type", "ExternalName"),
            Edit::set("/spec/externalName", "x.example.com"),
            Edit::remove("/spec/internalTrafficPolicy"),
        ];
    }
    or_metadata(rng, &choices)
}

pub(crate) fn service_status(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/status/loadBalancer", json!({"ingress": [{"ip": "10.9.9.9"}]})),
        (
            "/status/loadBalancer",
            json!({"ingress": [{"hostname": "lb.example.com", "ports": [{"port": 80, "protocol": "TCP"}]}]}),
        ),
        ("/status/loadBalancer", json!({})),
        (
            "/status/conditions",
            json!([{"type": "Ok", "status": "True", "reason": "R", "message": "", "lastTransitionTime": TIME}]),
        ),
        ("/spec/selector", json!({"by": "status"})),
        ("/metadata/labels/app", json!("by-status")),
    ];
    edit(rng, &choices)
}

pub(crate) fn invalid_service(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/ports", json!([])),
        ("/spec/ports", json!([{"port": 0}])),
        ("/spec/ports", json!([{"port": 70000}])),
        ("/spec/ports", json!([{"port": 80}, {"port": 81}])),
        ("/spec/ports", json!([{"port": 80, "name": "a"}, {"port": 81, "name": "a"}])),
        ("/spec/ports", json!([{"port": 80, "name": "a"}, {"port": 80, "name": "b"}])),
        ("/spec/ports", json!([{"port": 80, "name": "Bad"}])),
        ("/spec/ports", json!([{"port": 80, "protocol": "ICMP"}])),
        ("/spec/ports", json!([{"port": 80, "targetPort": 0}])),
        ("/spec/ports", json!([{"port": 80, "targetPort": "not valid"}])),
        ("/spec/ports", json!([{"port": 80, "targetPort": "8080"}])),
        ("/spec/ports", json!([{"port": 80, "appProtocol": "bad protocol"}])),
        ("/spec/ports/0/nodePort", json!(80)),
        ("/spec/type", json!("Cluster")),
        ("/spec/clusterIP", json!("300.1.1.1")),
        ("/spec/clusterIP", json!("10.1.1.1")),
        ("/spec/clusterIPs", json!(["10.96.1.1", "10.96.1.2"])),
        ("/spec/sessionAffinity", json!("Cookie")),
        ("/spec/ipFamilies", json!(["IPv4", "IPv4"])),
        ("/spec/ipFamilies", json!(["IPv5"])),
        ("/spec/ipFamilyPolicy", json!("Dual")),
        ("/spec/internalTrafficPolicy", json!("Zone")),
        ("/spec/externalTrafficPolicy", json!("Zone")),
        ("/spec/externalIPs", json!(["x"])),
        ("/spec/externalIPs", json!(["127.0.0.1"])),
        ("/spec/selector", json!({"bad key": "x"})),
        ("/spec/loadBalancerSourceRanges", json!(["10.0.0.0/33"])),
        ("/spec/trafficDistribution", json!("Near")),
        ("/spec/sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 0}})),
        ("/spec/externalName", json!("Not Valid")),
        ("/spec/healthCheckNodePort", json!(80)),
        ("/spec/loadBalancerClass", json!("bad class!")),
    ];
    or_invalid_metadata(rng, &choices)
}

pub(crate) fn endpoints(rng: &mut Rng) -> Value {
    let subsets = [
        json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]),
        json!([{"addresses": [{"ip": "10.0.0.2", "hostname": "h", "nodeName": "n1"}, {"ip": "10.0.0.1"}], "ports": [{"name": "b", "port": 443}, {"name": "a", "port": 80, "protocol": "UDP", "appProtocol": "h2c"}]}]),
        json!([{"notReadyAddresses": [{"ip": "fd00::1", "targetRef": {"kind": "Pod", "name": "p", "namespace": "⟦ns⟧", "uid": UID}}], "ports": [{"port": 80}]}]),
        json!([{"addresses": [{"ip": "10.0.0.1"}]}]),
        json!([]),
        Value::Null,
    ];
    match one(rng, &subsets) {
        Value::Null => json!({}),
        subsets => json!({"subsets": subsets}),
    }
}

pub(crate) fn change_endpoints(rng: &mut Rng) -> Vec<Edit> {
    let subsets = endpoints(rng)["subsets"].clone();
    let choices = [
        ("/subsets", subsets),
        ("/subsets/0/addresses", json!([{"ip": "10.0.0.9"}])),
        ("/subsets", Value::Null),
        ("/metadata/annotations/endpoints.kubernetes.io~1last-change-trigger-time", json!(TIME)),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn invalid_endpoints(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/subsets", json!([{}])),
        ("/subsets", json!([{"ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": ""}], "ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "x"}], "ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "169.254.0.1"}], "ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "224.0.0.1"}], "ports": [{"port": 80}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "0.0.0.0"}], "ports": [{"port": 80}]}])),
        (
            "/subsets",
            json!([{"addresses": [{"ip": "10.0.0.1", "hostname": "Bad_"}], "ports": [{"port": 80}]}]),
        ),
        (
            "/subsets",
            json!([{"addresses": [{"ip": "10.0.0.1", "nodeName": "Bad_"}], "ports": [{"port": 80}]}]),
        ),
        ("/subsets", json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 0}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1, "protocol": "X"}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}, {"port": 2}]}])),
        ("/subsets", json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1, "name": "Bad_"}]}])),
    ];
    or_invalid_metadata(rng, &choices)
}

pub(crate) fn slice(rng: &mut Rng) -> Value {
    let kind = rng.below(4);
    let addresses = match kind {
        0 => json!({"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}]}),
        1 => json!({"addressType": "FQDN", "endpoints": [{"addresses": ["a.example.com"]}]}),
        _ => json!({"addressType": "IPv4", "endpoints": endpoints_of_slice(rng)}),
    };
    let mut slice = addresses;
    let ports = [
        json!([{"name": "http", "port": 80, "protocol": "TCP"}]),
        json!([{"port": 80}]),
        json!([{"name": "a", "port": 80}, {"name": "b", "port": 81, "protocol": "SCTP", "appProtocol": "kubernetes.io/h2c"}]),
        json!([{"name": ""}]),
        json!([]),
        Value::Null,
    ];
    slice["ports"] = one(rng, &ports);
    slice
}

fn endpoints_of_slice(rng: &mut Rng) -> Value {
    let choices = [
        json!([{"addresses": ["10.0.0.1"]}]),
        json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": true, "serving": true, "terminating": false}, "nodeName": "n1", "zone": "z1", "hostname": "h",
            "targetRef": {"kind": "Pod", "namespace": "⟦ns⟧", "name": "p0", "uid": UID, "resourceVersion": "77"}}, {"addresses": ["10.0.0.2"]}]),
        json!([{"addresses": ["10.0.0.3"], "hints": {"forZones": [{"name": "z1"}], "forNodes": [{"name": "n1"}]}, "conditions": {}}]),
        json!([{"addresses": ["10.0.0.4"], "deprecatedTopology": {"a": "b"}}]),
        json!([]),
    ];
    one(rng, &choices)
}

pub(crate) fn change_slice(rng: &mut Rng) -> Vec<Edit> {
    // Not an empty list for one that is already empty: such a change is one for the real server only if the second of the
    // managed fields is another one.
    let endpoints = match endpoints_of_slice(rng) {
        Value::Array(none) if none.is_empty() => json!([{"addresses": ["10.0.0.1"]}]),
        some => some,
    };
    let choices = [
        ("/endpoints", endpoints),
        ("/endpoints/0/conditions/ready", json!(false)),
        ("/endpoints/0/zone", json!("z2")),
        ("/endpoints/9", json!({"addresses": ["10.0.0.77"]})),
        ("/ports", json!([{"name": "new", "port": 9}])),
        ("/ports", Value::Null),
        ("/addressType", json!("IPv6")),
        ("/metadata/labels/kubernetes.io~1service-name", json!("svc")),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn invalid_slice(rng: &mut Rng) -> Vec<Edit> {
    let long = "x".repeat(64);
    let choices = [
        ("/addressType", json!("IP")),
        ("/addressType", json!("")),
        ("/endpoints", json!([{"addresses": []}])),
        ("/endpoints", json!([{"addresses": ["x"]}])),
        ("/endpoints", json!([{"addresses": ["127.0.0.1"]}])),
        ("/endpoints", json!([{"addresses": ["10.0.0.1"], "hostname": "Bad_"}])),
        ("/endpoints", json!([{"addresses": ["10.0.0.1"], "nodeName": "Bad_"}])),
        ("/endpoints", json!([{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": ""}]}}])),
        (
            "/endpoints",
            json!([{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}]),
        ),
        ("/ports", json!([{"name": "a", "port": 1}, {"name": "a", "port": 2}])),
        ("/ports", json!([{"name": "Bad_", "port": 1}])),
        ("/ports", json!([{"name": long, "port": 1}])),
        ("/ports", json!([{"protocol": "X", "port": 1}])),
        ("/ports", json!([{"appProtocol": "bad protocol", "port": 1}])),
    ];
    or_invalid_metadata(rng, &choices)
}

pub(crate) fn event(rng: &mut Rng) -> Value {
    let mut event = some_fields(
        rng,
        40,
        &[
            ("reason", json!("Created")),
            ("message", json!("it was")),
            ("type", json!("Normal")),
            ("type", json!("Warning")),
            ("count", json!(3)),
            ("firstTimestamp", json!(TIME)),
            ("lastTimestamp", json!(TIME)),
            ("source", json!({"component": "kubelet", "host": "n1"})),
        ],
    );
    event.insert(
        "involvedObject".to_owned(),
        json!({"kind": "Pod", "namespace": "⟦ns⟧", "name": "p0", "apiVersion": "v1", "uid": UID}),
    );
    Value::Object(event)
}

pub(crate) fn change_event(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/count", json!(4)),
        ("/series", json!({"count": 9, "lastObservedTime": MICRO_TIME})),
        ("/reason", json!("Other")),
        ("/type", json!("Warning")),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn invalid_event(rng: &mut Rng) -> Vec<Edit> {
    edit(
        rng,
        &[
            ("/involvedObject/namespace", json!("elsewhere")),
            ("/involvedObject/namespace", Value::Null),
            ("/metadata/labels/app", json!("not valid!")),
        ],
    )
}

pub(crate) fn lease(rng: &mut Rng) -> Value {
    let spec = some_fields(
        rng,
        50,
        &[
            ("holderIdentity", json!("me")),
            ("leaseDurationSeconds", json!(15)),
            ("acquireTime", json!(MICRO_TIME)),
            ("renewTime", json!("2024-01-02T03:04:05.600000Z")),
            ("leaseTransitions", json!(3)),
        ],
    );
    json!({"spec": spec})
}

pub(crate) fn change_lease(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/holderIdentity", json!("you")),
        ("/spec/renewTime", json!("2024-01-02T03:04:06.000000Z")),
        ("/spec/renewTime", json!("2024-01-02T03:04:06Z")),
        ("/spec/leaseTransitions", json!(4)),
        ("/spec/leaseDurationSeconds", json!(30)),
        ("/spec/holderIdentity", Value::Null),
        ("/spec", Value::Null),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn invalid_lease(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/leaseDurationSeconds", json!(0)),
        ("/spec/leaseTransitions", json!(-1)),
        ("/spec/strategy", json!("Bad Strategy")),
        ("/spec/preferredHolder", json!("x")),
    ];
    or_invalid_metadata(rng, &choices)
}

pub(crate) fn service_account(rng: &mut Rng) -> Value {
    Value::Object(some_fields(
        rng,
        40,
        &[
            ("secrets", json!([{"name": "s1"}])),
            ("imagePullSecrets", json!([{"name": "r"}])),
            ("automountServiceAccountToken", json!(false)),
        ],
    ))
}

pub(crate) fn change_service_account(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/secrets", json!([{"name": "s2"}, {"name": "s3"}])),
        ("/imagePullSecrets", json!([])),
        ("/automountServiceAccountToken", json!(true)),
        ("/automountServiceAccountToken", Value::Null),
    ];
    or_metadata(rng, &choices)
}

fn workload(rng: &mut Rng) -> Map<String, Value> {
    let mut spec = some_fields(
        rng,
        40,
        &[("replicas", json!(3)), ("replicas", json!(0)), ("minReadySeconds", json!(5))],
    );
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
    spec.extend(some_fields(
        rng,
        25,
        &[
            ("revisionHistoryLimit", json!(2)),
            ("paused", json!(true)),
            ("progressDeadlineSeconds", json!(100)),
        ],
    ));
    json!({"spec": spec})
}

pub(crate) fn change_workload(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/replicas", json!(5)),
        ("/spec/replicas", json!(1)),
        ("/spec/replicas", Value::Null),
        ("/spec/template/spec/containers/0/image", json!("nginx:9")),
        ("/spec/template/metadata/labels/extra", json!("x")),
        ("/spec/minReadySeconds", json!(1)),
        ("/status/replicas", json!(7)),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn workload_status(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/status/replicas", json!(3)),
        ("/status/readyReplicas", json!(0)),
        ("/status/observedGeneration", json!(1)),
        ("/status/availableReplicas", json!(0)),
        (
            "/status/conditions",
            json!([{"type": "Progressing", "status": "True", "reason": "R", "lastUpdateTime": TIME, "lastTransitionTime": TIME}]),
        ),
        ("/spec/replicas", json!(9)),
        ("/metadata/labels/app", json!("by-status")),
    ];
    edit(rng, &choices)
}

pub(crate) fn node(rng: &mut Rng) -> Value {
    let spec = some_fields(
        rng,
        25,
        &[
            ("unschedulable", json!(true)),
            ("taints", json!([{"key": "a", "value": "b", "effect": "NoSchedule"}])),
        ],
    );
    let status = some_fields(
        rng,
        30,
        &[
            ("capacity", json!({"cpu": "4", "memory": "8Gi", "pods": 110})),
            ("allocatable", json!({"cpu": "3500m", "memory": "7.5Gi"})),
            (
                "addresses",
                json!([{"type": "InternalIP", "address": "192.168.0.1"}, {"type": "Hostname", "address": "node"}]),
            ),
            (
                "conditions",
                json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": TIME, "lastTransitionTime": TIME}]),
            ),
            (
                "nodeInfo",
                json!({"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6", "osImage": "x", "containerRuntimeVersion": "c://1", "kubeletVersion": "v1.36.0", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"}),
            ),
        ],
    );
    json!({"spec": spec, "status": status})
}

pub(crate) fn change_node(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/spec/unschedulable", json!(true)),
        ("/spec/unschedulable", Value::Null),
        ("/spec/taints", json!([{"key": "c", "effect": "NoExecute"}])),
        ("/spec/taints", Value::Null),
        ("/metadata/labels/topology.kubernetes.io~1zone", json!("z1")),
    ];
    or_metadata(rng, &choices)
}

pub(crate) fn node_status(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        ("/status/conditions", json!([{"type": "Ready", "status": "False", "reason": "R", "message": "m"}])),
        ("/status/addresses", json!([{"type": "InternalIP", "address": "192.168.0.2"}])),
        ("/status/capacity", json!({"cpu": "8", "memory": "16Gi"})),
        ("/status/images", json!([{"names": ["a", "b"], "sizeBytes": 12}])),
        ("/spec/unschedulable", json!(true)),
        ("/metadata/labels/app", json!("by-status")),
    ];
    edit(rng, &choices)
}

pub(crate) fn namespace(_: &mut Rng) -> Value {
    json!({})
}

pub(crate) fn namespace_status(rng: &mut Rng) -> Vec<Edit> {
    let choices = [
        (
            "/status/conditions",
            json!([{"type": "NamespaceDeletionContentFailure", "status": "False", "reason": "R", "message": "m", "lastTransitionTime": TIME}]),
        ),
        ("/metadata/labels/app", json!("by-status")),
    ];
    edit(rng, &choices)
}
