use std::sync::Arc;

use endpoint_diagnostics::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::new(Timestamp::UNIX_EPOCH, []);
    let service = |name: &str, selector: Value, address: &str| {
        let spec = json!({"selector": selector, "clusterIPs": [address]});
        let object = json!({"metadata": {"namespace": "shop", "name": name}, "spec": spec});
        Object::Service(Arc::new(serde_json::from_value(object).unwrap()))
    };
    snapshot.upsert(service("web", json!({"app": "web"}), "10.96.0.1"));
    snapshot.upsert(service("database", Value::Null, "10.96.0.2"));
    for (name, app, address, node) in [
        ("web-0", "web", "10.244.3.8", "node-1"),
        ("web-1", "web", "10.244.3.80", "node-2"),
        ("job-0", "job", "10.244.4.1", "node-1"),
    ] {
        let metadata = json!({"namespace": "shop", "name": name, "labels": {"app": app}});
        let pod = json!({"metadata": metadata, "spec": {"nodeName": node, "containers": []}, "status": {"podIPs": [{"ip": address}]}});
        snapshot.upsert(Object::Pod(Arc::new(serde_json::from_value(pod).unwrap())));
    }
    let metadata = json!({"namespace": "shop", "name": "database-x", "labels": {"kubernetes.io/service-name": "database"}});
    let slice = json!({"metadata": metadata, "addressType": "IPv4", "ports": [], "endpoints": [{"addresses": ["192.0.2.7"]}]});
    snapshot.upsert(Object::EndpointSlice(Arc::new(serde_json::from_value(slice).unwrap())));
    snapshot
}

/// The result, in short.
fn found(query: &str) -> Vec<String> {
    let Found { pods, services, .. } = search(&snapshot(), query);
    let pods = pods.into_iter().map(|pod| format!("{} by {}: {}", pod.name, pod.by, pod.services.join(",")));
    pods.chain(services.into_iter().map(|it| format!("{} by {}", it.name, it.by))).collect()
}

#[test]
fn a_service_is_found_by_what_a_user_has() {
    assert_eq!(
        found("10.244.3.8"),
        ["web-0 by address: web", "web-1 by address: web"],
        "an address may go on"
    );
    assert_eq!(found("10.244.4.1"), ["job-0 by address: "], "no Service selects it");
    assert_eq!(found("WEB-1"), ["web-1 by pod: web"]);
    assert_eq!(found("node-2"), ["web-1 by node: web"]);
    assert_eq!(found("app=web"), ["web-0 by label: web", "web-1 by label: web", "web by selector"]);
    assert_eq!(found("10.96.0.2"), ["database by cluster address"]);
    assert_eq!(found("192.0.2."), ["database by endpoint"]);
    assert_eq!(found("1"), Vec::<String>::new(), "too short");
    assert_eq!(found("nothing-like-it"), Vec::<String>::new());
}

/// The page opens the Service whose label is exactly the text first.
#[test]
fn a_selector_is_named_as_it_is() {
    let mut snapshot = snapshot();
    let spec = json!({"selector": {"app": "webhook"}});
    let service = json!({"metadata": {"namespace": "shop", "name": "hook"}, "spec": spec});
    snapshot.upsert(Object::Service(Arc::new(serde_json::from_value(service).unwrap())));
    let services = search(&snapshot, "APP=web").services.into_iter();
    let found: Vec<_> = services.map(|it| (it.name, it.value)).collect();
    assert_eq!(
        found,
        [("hook", "app=webhook"), ("web", "app=web")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
}

#[test]
fn what_is_exactly_the_text_is_found_among_many() {
    let mut snapshot = snapshot();
    let pod = |namespace: &str, name: &str, address: &str| {
        let metadata = json!({"namespace": namespace, "name": name, "labels": {"app": name}});
        let pod = json!({"metadata": metadata, "spec": {"nodeName": "node-9", "containers": []}, "status": {"podIPs": [{"ip": address}]}});
        Object::Pod(Arc::new(serde_json::from_value(pod).unwrap()))
    };
    for number in 0..110 {
        snapshot.upsert(pod("a", &format!("many-{number}"), &format!("10.0.0.1{number:02}")));
    }
    snapshot.upsert(pod("b", "one", "10.0.0.1"));
    let spec = json!({"selector": {"app": "one"}, "clusterIPs": ["10.96.0.9"]});
    let service = json!({"metadata": {"namespace": "b", "name": "last"}, "spec": spec});
    snapshot.upsert(Object::Service(Arc::new(serde_json::from_value(service).unwrap())));

    assert_eq!(search(&snapshot, "10.0.0.1").pods[0].name, "one");
    let of_node = search(&snapshot, "node-9");
    let services: Vec<&str> = of_node.services.iter().map(|found| found.name.as_str()).collect();
    assert_eq!((of_node.pods.len(), of_node.more, services), (50, true, vec!["last"]));
}
