use std::sync::Arc;

use endpoint_diagnostics::snapshot::Kind as ObjectKind;
use endpoint_diagnostics::{Object, Snapshot};
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn at(second: i64) -> Timestamp {
    "2026-06-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn event(name: &str) -> Event {
    Event::new(Kind::Pod, name, "became ready", Tone::Good)
}

#[test]
fn each_service_keeps_its_newest_entries() {
    let mut history = History::default();
    for number in 0..PER_SERVICE + 10 {
        history.push(at(0), Some(key("web")), event(&number.to_string()), None);
    }
    history.push(at(1), Some(key("db")), event("db"), None);
    let of_web: Vec<_> = history.of(&key("web")).collect();
    assert_eq!(
        (of_web.len(), &*of_web[0].event.object, &*of_web.last().unwrap().event.object),
        (PER_SERVICE, "209", "10")
    );
    assert_eq!(history.of(&key("db")).count(), 1);
    assert_eq!(history.all().count(), PER_SERVICE + 1);
    assert_eq!(history.all().next().unwrap().event.object, "db", "the newest");
}

#[test]
fn all_services_together_have_a_bound() {
    let mut history = History::default();
    for number in 0..TOTAL + 500 {
        history.push(at(0), (number % 3 > 0).then(|| key(&format!("s-{number}"))), event("pod"), None);
    }
    assert!((TOTAL - 100..=TOTAL).contains(&history.entries.len()), "{}", history.entries.len());
    assert_eq!(history.of(&key("s-1")).count(), 0, "forgotten");
    assert!(history.of_service.len() <= TOTAL, "with its index");
    assert!(history.of_service.values().flatten().all(|sequence| history.entries.contains_key(sequence)));
}

#[test]
fn a_busy_namespace_makes_no_other_forget() {
    let mut history = History::default();
    let quiet = ObjectKey::new("quiet", "web");
    history.push(at(0), Some(quiet.clone()), event("web-0"), None);
    history.push(at(0), None, event("node-1"), None);
    for number in 0..2 * TOTAL {
        history.push(at(1), Some(key(&format!("s-{}", number % 1_000))), event("pod"), None);
    }
    assert_eq!(history.of(&quiet).count(), 1);
    assert!(history.all().any(|entry| entry.service.is_none()), "what concerns all");
    let indexed: usize = history.of_namespace.values().map(BTreeSet::len).sum();
    assert_eq!(indexed, history.entries.len());
}

fn parsed<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn pod(ready: bool, labels: &Value, waiting: Option<&str>) -> Object {
    let state = waiting.map_or_else(|| json!({}), |reason| json!({"waiting": {"reason": reason}}));
    let status = json!({
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": "2026-05-31T14:03:00Z"}],
        "containerStatuses": [{"name": "main", "ready": ready, "image": "", "imageID": "", "restartCount": 0, "state": state}],
    });
    let metadata = json!({"namespace": "shop", "name": "web-0", "uid": "u", "labels": labels, "creationTimestamp": "2026-05-31T14:00:00Z"});
    Object::Pod(parsed(
        json!({"metadata": metadata, "spec": {"nodeName": "node-1", "containers": []}, "status": status}),
    ))
}

fn slice(ready: Option<bool>) -> Object {
    let endpoint = |ready| {
        let target = json!({"kind": "Pod", "name": "web-0", "namespace": "shop"});
        json!({"addresses": ["10.0.0.1"], "targetRef": target, "conditions": {"ready": ready}})
    };
    let endpoints: Vec<Value> = ready.into_iter().map(endpoint).collect();
    let managers = json!([{"manager": "kube-controller-manager", "time": "2026-05-31T14:03:01Z"}]);
    let metadata = json!({
        "namespace": "shop", "name": "web-x", "labels": {"kubernetes.io/service-name": "web"}, "managedFields": managers,
    });
    Object::EndpointSlice(parsed(
        json!({"metadata": metadata, "addressType": "IPv4", "ports": [], "endpoints": endpoints}),
    ))
}

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::new(at(0), []);
    let metadata = json!({"namespace": "shop", "name": "web"});
    snapshot
        .upsert(Object::Service(parsed(json!({"metadata": metadata, "spec": {"selector": {"app": "web"}}}))));
    snapshot
}

/// The texts of the events of changes, one after the other.
fn texts(snapshot: &mut Snapshot, changes: Vec<Object>) -> Vec<String> {
    let mut found = vec![];
    for object in changes {
        let events = of_change(snapshot, object.kind(), object.key(), Some(&object));
        found.extend(events.into_iter().map(|(service, event)| {
            let service = service.map_or_else(|| "all".to_owned(), |key| key.name.to_string());
            format!("{service}: {} {}", event.object, event.text)
        }));
        snapshot.upsert(object);
    }
    found
}

#[test]
fn changes_of_pods_are_those_of_their_services() {
    let mut snapshot = snapshot();
    let (web, other) = (json!({"app": "web"}), json!({"app": "other"}));
    let changes = vec![
        pod(false, &web, None),
        pod(true, &web, None),
        pod(true, &web, None),
        pod(false, &web, Some("CrashLoopBackOff")),
        pod(false, &other, None),
        pod(true, &other, None),
        pod(true, &web, None),
    ];
    assert_eq!(
        texts(&mut snapshot, changes),
        [
            "web: web-0 was created on node-1, 10.0.0.1",
            "web: web-0 became ready",
            "web: web-0 became not ready: container main waits, CrashLoopBackOff",
            "web: web-0 is no longer selected",
            "web: web-0 is selected now",
        ]
    );
    let deleted = of_change(&snapshot, ObjectKind::Pods, ("shop", "web-0"), None);
    assert_eq!((deleted.len(), deleted[0].1.text.as_str(), deleted[0].1.tone), (1, "was deleted", Tone::Bad));
}

#[test]
fn writes_say_what_they_change_and_who_made_them() {
    let mut snapshot = snapshot();
    let changes = vec![slice(None), slice(Some(true)), slice(Some(true)), slice(Some(false)), slice(None)];
    assert_eq!(
        texts(&mut snapshot, changes),
        [
            "web: web-x was created",
            "web: web-x added: web-0",
            "web: web-x not ready: web-0",
            "web: web-x removed: web-0"
        ]
    );
    let written = slice(Some(true));
    let events = of_change(&snapshot, ObjectKind::EndpointSlices, ("shop", "web-x"), Some(&written));
    assert_eq!(events[0].1.by.as_deref(), Some("kube-controller-manager"));
}

#[test]
fn a_node_that_fails_concerns_all() {
    let node = |ready: &str| {
        let metadata = json!({"name": "node-1", "labels": {"topology.kubernetes.io/zone": "a"}});
        Object::Node(parsed(
            json!({"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": ready}]}}),
        ))
    };
    let changes = vec![node("True"), node("True"), node("Unknown"), node("True")];
    assert_eq!(
        texts(&mut snapshot(), changes),
        [
            "all: node-1 joined (zone a)",
            "all: node-1 became not ready (zone a)",
            "all: node-1 became ready (zone a)"
        ]
    );
}

#[test]
fn objects_record_what_was_before() {
    let mut snapshot = snapshot();
    snapshot.upsert(pod(false, &json!({"app": "web"}), Some("CrashLoopBackOff")));
    snapshot.upsert(slice(Some(false)));
    let mut entries = recorded::of_service(&snapshot, &key("web"), Timestamp::MIN..=at(0));
    entries.sort_by_key(|entry| entry.time);
    let texts: Vec<String> =
        entries.iter().map(|it| format!("{} {}", it.event.object, it.event.text)).collect();
    assert_eq!(
        texts,
        [
            "web-0 was created",
            "web-0 became not ready: container main waits, CrashLoopBackOff",
            "web-x was last written",
        ]
    );
    let minute = "2026-05-31T14:03:00Z".parse().unwrap()..="2026-05-31T14:03:59Z".parse().unwrap();
    assert_eq!(recorded::of_service(&snapshot, &key("web"), minute).len(), 2);
}

#[test]
fn texts_of_others_have_a_bound() {
    let long = Event::new(Kind::Pod, "web", "é".repeat(10_000), Tone::Neutral);
    assert_eq!(long.text.chars().count(), 241);
}
