//! The short scenarios of the exhaustive mode: a few changes of a small cluster, each for one path through the controllers.

use random_operations::neighbour::Interference;
use random_operations::{Operation, PodStatus, Readiness};
use serde_json::{Value, json};

use crate::action::Action;

/// A few changes, one after another.
pub struct Scenario {
    pub name: &'static str,
    /// `--max-endpoints-per-slice`.
    pub max: usize,
    /// Objects that exist before the process starts.
    pub before: Vec<Action>,
    pub changes: Vec<Action>,
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "a Service and its pods come and go",
            before: Vec::new(),
            changes: vec![
                service("front", &json!({"app": "a"})),
                pod("one", "a", 1, true),
                pod("two", "a", 2, true),
                removed("one"),
                operation(Operation::DeleteService { name: "front".to_owned() }),
            ],
            ..small()
        },
        Scenario {
            name: "a rollout over several slices",
            max: 2,
            before: vec![
                service("front", &json!({"app": "a"})),
                pod("one", "a", 1, true),
                pod("two", "a", 2, true),
                pod("three", "a", 3, true),
            ],
            changes: vec![
                pod("four", "a", 4, false),
                ready("four", true),
                terminating("one"),
                removed("one"),
                ready("two", false),
                removed("two"),
            ],
        },
        Scenario {
            name: "a Service is created again at once",
            changes: vec![
                operation(Operation::DeleteService { name: "front".to_owned() }),
                service("front", &json!({"app": "b"})),
                pod("two", "b", 2, true),
            ],
            ..small()
        },
        Scenario {
            name: "selector and ports change",
            before: vec![
                service("front", &json!({"app": "a"})),
                pod("one", "a", 1, true),
                pod("two", "b", 2, true),
            ],
            changes: vec![
                changed("front", &json!({"spec": {"selector": {"app": "b"}}})),
                changed(
                    "front",
                    &json!({"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 9090}]}}),
                ),
                changed("front", &json!({"spec": {"selector": null}})),
                changed("front", &json!({"spec": {"selector": {"app": "a"}}})),
            ],
            ..small()
        },
        Scenario {
            name: "families come and go",
            changes: vec![families(&["IPv4", "IPv6"]), pod("two", "a", 2, true), families(&["IPv4"])],
            ..small()
        },
        Scenario {
            name: "custom Endpoints",
            before: vec![service("front", &Value::Null)],
            changes: vec![
                endpoints(&["10.9.0.1", "10.9.0.2"]),
                endpoints(&["10.9.0.2", "10.9.0.3"]),
                operation(Operation::DeleteEndpoints { name: "front".to_owned() }),
                endpoints(&["10.9.0.4"]),
                operation(Operation::DeleteService { name: "front".to_owned() }),
            ],
            ..small()
        },
        Scenario {
            name: "a Service is delegated for a while",
            changes: vec![
                delegated(Some("example.com/other")),
                pod("two", "a", 2, true),
                delegated(None),
                removed("one"),
            ],
            ..small()
        },
        Scenario {
            name: "nodes change their zones",
            changes: vec![
                zone("z"),
                operation(Operation::DeleteNode { name: "a".to_owned() }),
                operation(Operation::CreateNode {
                    name: "a".to_owned(),
                    zone: Some("b".to_owned()),
                    cpu: 2,
                    ready: true,
                }),
                pod("two", "a", 2, true),
            ],
            ..small()
        },
        Scenario {
            name: "another client changes our objects",
            changes: vec![
                foreign(Interference::Edit, 0),
                foreign(Interference::Delete, 1),
                foreign(Interference::Relabel, 0),
                pod("two", "a", 2, true),
                foreign(Interference::Recreate, 1),
            ],
            ..small()
        },
    ]
}

/// A Service with one ready pod.
fn small() -> Scenario {
    let before = vec![service("front", &json!({"app": "a"})), pod("one", "a", 1, true)];
    Scenario { name: "", max: 100, before, changes: Vec::new() }
}

fn operation(operation: Operation) -> Action {
    Action::Operation { operation: Box::new(operation), touch: Vec::new() }
}

fn service(name: &str, selector: &Value) -> Action {
    let spec = json!({"selector": selector, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]});
    let object = json!({"metadata": {"name": name}, "spec": spec});
    operation(Operation::CreateService { name: name.to_owned(), object })
}

fn changed(name: &str, patch: &Value) -> Action {
    operation(Operation::ChangeService { name: name.to_owned(), what: "Service", patch: patch.clone() })
}

fn families(families: &[&str]) -> Action {
    let policy = if families.len() > 1 { "RequireDualStack" } else { "SingleStack" };
    changed("front", &json!({"spec": {"ipFamilyPolicy": policy, "ipFamilies": families}}))
}

fn pod(name: &str, app: &str, number: u8, ready: bool) -> Action {
    let spec = json!({"nodeName": "a", "containers": [{"name": "main", "image": "none"}]});
    let object = json!({"metadata": {"name": name, "labels": {"app": app}}, "spec": spec});
    let ips = vec![format!("10.1.0.{number}"), format!("fd00:1::{number}")];
    let status = PodStatus { phase: Some("Running"), ips: Some(ips), ready: Some(readiness(ready)) };
    operation(Operation::CreatePod { name: name.to_owned(), object, status })
}

fn readiness(ready: bool) -> Readiness {
    if ready { Readiness::True } else { Readiness::False }
}

fn ready(name: &str, ready: bool) -> Action {
    let status = PodStatus { phase: None, ips: None, ready: Some(readiness(ready)) };
    operation(Operation::ChangePodStatus { name: name.to_owned(), what: "readiness", status })
}

fn terminating(name: &str) -> Action {
    operation(Operation::TerminatePod { name: name.to_owned(), grace_seconds: 30 })
}

fn removed(name: &str) -> Action {
    operation(Operation::RemovePod { name: name.to_owned(), finalizer: false })
}

fn endpoints(addresses: &[&str]) -> Action {
    let addresses: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    let subsets = json!([{"addresses": addresses, "ports": [{"name": "http", "port": 80}]}]);
    let metadata = json!({"name": "front"});
    operation(Operation::SetEndpoints {
        name: "front".to_owned(),
        object: json!({"metadata": metadata, "subsets": subsets}),
    })
}

fn delegated(value: Option<&'static str>) -> Action {
    Action::Delegate { service: "front".to_owned(), value }
}

/// Controllers need not notice a node's zone by itself.
fn zone(zone: &str) -> Action {
    let labels = json!({"topology.kubernetes.io/zone": zone});
    Action::Operation {
        operation: Box::new(Operation::LabelNode { name: "a".to_owned(), labels }),
        touch: vec!["front".to_owned()],
    }
}

fn foreign(what: Interference, pick: usize) -> Action {
    Action::Foreign { what, pick, of: None }
}
