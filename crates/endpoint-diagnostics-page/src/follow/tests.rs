use std::sync::Arc;

use endpoint_diagnostics::explain_all;
use endpoint_informers::resource::Resource as _;
use endpointslice::Interner;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use jiff::SignedDuration;
use pod_network_controller::ResourceClaim;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::board::tests::origin;
use crate::origin::State;
use crate::row::Row;
use crate::trend::Trend;

fn parsed<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// An object of each kind, by small numbers.
fn object(kind: Kind, name: u8, variant: u8) -> Object {
    let apps = ["web", "db", "cache"];
    let app = apps[usize::from(variant) % 3];
    let namespace = ["shop", "test"][usize::from(name) % 2];
    let named = |prefix: &str| json!({"namespace": namespace, "name": format!("{prefix}-{name}")});
    match kind {
        Kind::Services => {
            let selector =
                if variant > 3 { json!({"app": app, "tier": "front"}) } else { json!({"app": app}) };
            let mut metadata = named("s");
            metadata["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
            if name < 2 {
                metadata["labels"] = json!({ENDPOINT_CONTROLLER_NAME: "pod-network-controller"});
                metadata["annotations"] = json!({"pod-network-controller/dra-driver": "net.example.com"});
            }
            let spec = json!({"selector": selector, "ports": [{"port": 80}], "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]});
            Object::Service(parsed(json!({"metadata": metadata, "spec": spec})))
        }
        Kind::Pods => {
            let mut metadata = named("p");
            metadata["uid"] = json!(format!("u-{name}"));
            metadata["labels"] = json!({"app": app, "tier": if variant > 2 { "front" } else { "back" }});
            let status = json!({
                "podIPs": [{"ip": format!("10.1.0.{name}")}],
                "conditions": [{"type": "Ready", "status": if variant.is_multiple_of(2) { "True" } else { "False" }}],
                "phase": if variant == 3 { "Failed" } else { "Running" },
            });
            let claims = json!([{"name": "net", "resourceClaimName": format!("c-{name}")}]);
            let spec = json!({"nodeName": "n-0", "containers": [], "resourceClaims": claims});
            Object::Pod(parsed(json!({"metadata": metadata, "spec": spec, "status": status})))
        }
        Kind::Nodes => {
            let metadata =
                json!({"name": format!("n-{name}"), "labels": {"topology.kubernetes.io/zone": app}});
            Object::Node(parsed(json!({"metadata": metadata})))
        }
        Kind::EndpointSlices => {
            let mut metadata = named("e");
            metadata["labels"] = json!({"kubernetes.io/service-name": format!("s-{variant}")});
            let target = json!({"kind": "Pod", "name": format!("p-{variant}"), "namespace": namespace});
            let endpoints =
                json!([{"addresses": ["10.1.0.1"], "targetRef": target, "conditions": {"ready": true}}]);
            Object::EndpointSlice(parsed(
                json!({"metadata": metadata, "addressType": "IPv4", "ports": [], "endpoints": endpoints}),
            ))
        }
        Kind::Endpoints => {
            let target = json!({"kind": "Pod", "name": format!("p-{variant}"), "namespace": namespace});
            let subsets = json!([{"addresses": [{"ip": "10.1.0.1", "targetRef": target}], "ports": []}]);
            Object::Endpoints(parsed(json!({"metadata": named("s"), "subsets": subsets})))
        }
        Kind::Namespaces => {
            let phase = if variant > 2 { "Terminating" } else { "Active" };
            Object::Namespace(parsed(json!({"metadata": {"name": namespace}, "status": {"phase": phase}})))
        }
        Kind::ResourceClaims => {
            let pod = variant / 2;
            let ready =
                json!({"type": "Ready", "status": if variant.is_multiple_of(2) { "True" } else { "False" }});
            let claim = json!({"metadata": named("c"), "status": {
                "reservedFor": [{"resource": "pods", "name": format!("p-{pod}"), "uid": format!("u-{pod}")}],
                "devices": [{"driver": "net.example.com", "pool": "p", "device": "eth1", "conditions": [ready],
                    "networkData": {"ips": ["192.0.2.1"]}}],
            }});
            let (claim, _) = ResourceClaim::read_json(&claim.to_string(), &mut Interner::default()).unwrap();
            Object::ResourceClaim(Arc::new(claim))
        }
    }
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn follower() -> Follower {
    follower_without([])
}

fn follower_without<const N: usize>(unreadable: [Kind; N]) -> Follower {
    Follower::new(Snapshot::new(now(), unreadable), 1, origin(State::Live))
}

/// The rows of reports, without what the past adds.
fn rows(snapshot: &Snapshot, reports: &[ServiceReport]) -> Vec<Row> {
    let traffic =
        |report: &ServiceReport| EndpointCounts::of(snapshot, &report.namespace, &report.name).unwrap();
    reports.iter().map(|report| Row::of(report, traffic(report), None)).collect()
}

fn shown(follower: &Follower) -> Vec<Row> {
    let without_past = |row: &Arc<Row>| Row { changed: 0, trend: Trend::default(), ..(**row).clone() };
    follower.board().list().services.iter().map(without_past).collect()
}

fn apply(follower: &Follower, changes: Vec<Change>) {
    follower.apply(changes.into_iter().map(|change| (now(), change)).collect(), now());
}

/// An operation: a kind, a name, and a variant, or none for a deletion.
type Operation = (Kind, u8, Option<u8>);

fn change((kind, name, variant): Operation) -> Change {
    if let Some(variant) = variant {
        return Change::Upserted(object(kind, name, variant));
    }
    let object = object(kind, name, 0);
    let (namespace, name) = object.key();
    Change::Deleted { kind, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn operation() -> impl Strategy<Value = Operation> {
    let few = (prop::sample::select(Kind::ALL.to_vec()), 0..6_u8, prop::option::weighted(0.8, 0..7_u8));
    let others = (OTHERS, prop::option::weighted(0.5, 0..7_u8))
        .prop_map(|(name, variant)| (Kind::Pods, name, variant));
    prop_oneof![3 => few, 1 => others]
}

/// Pods that selectors of two labels miss by one: more than reports list.
const OTHERS: std::ops::Range<u8> = 20..44;

proptest! {
    /// Reporting only on what changes touch leads to the same list, and the same reports, as reporting on everything.
    #[test]
    fn no_change_leaves_an_old_report(batches in prop::collection::vec(prop::collection::vec(operation(), 1..5), 1..20)) {
        let follower = follower();
        apply(&follower, OTHERS.map(|name| Change::Upserted(object(Kind::Pods, name, 0))).collect());
        for batch in &batches {
            let cursor = follower.board().list().cursor;
            let before = explain_all(&follower.followed.lock().snapshot);
            apply(&follower, batch.iter().copied().map(change).collect());
            let after = explain_all(&follower.followed.lock().snapshot);
            prop_assert_eq!(shown(&follower), rows(&follower.followed.lock().snapshot, &after));
            let changes = follower.board().after(cursor, usize::MAX).unwrap();
            let names: BTreeSet<(&str, &str)> = changes.services.iter().map(|row| (&*row.namespace, &*row.name)).collect();
            let different = after.iter().filter(|report| !before.contains(report));
            let different: BTreeSet<(&str, &str)> = different.map(|report| (&*report.namespace, &*report.name)).collect();
            // Others are there for something that happened.
            let others: Vec<_> = names.difference(&different).collect();
            let is_news = |(namespace, name): &&(&str, &str)| {
                let key = ObjectKey::new(*namespace, *name);
                let happened = follower.followed.lock().seen.history.of(&key).count() > 0;
                happened || before.iter().any(|report| (&*report.namespace, &*report.name) == (*namespace, *name))
            };
            prop_assert!(names.is_superset(&different), "after {:?}: {:?}", batch, different);
            prop_assert!(others.iter().all(is_news), "after {:?}: {:?}", batch, others);
        }
    }
}

#[test]
fn a_new_list_replaces_the_objects_of_its_kind() {
    let follower = follower();
    let service = |name| object(Kind::Services, name, 0);
    apply(&follower, vec![Change::Listed(Kind::Services, vec![service(0), service(2)])]);
    apply(&follower, vec![Change::Upserted(object(Kind::Pods, 0, 0))]);
    apply(&follower, vec![Change::Listed(Kind::Services, vec![service(2), service(4)])]);
    let names: Vec<String> = shown(&follower).into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["s-2", "s-4"]);
    assert_eq!(follower.report(&ObjectKey::new("shop", "s-2")).unwrap().counts.pods, 1, "the pod stays");
    assert!(follower.report(&ObjectKey::new("shop", "s-0")).is_none());
}

#[test]
fn a_changed_claim_changes_the_reports_of_its_pods() {
    let follower = follower();
    apply(&follower, [Kind::Services, Kind::Pods].map(|kind| Change::Upserted(object(kind, 0, 0))).into());
    let claim = |variant| change((Kind::ResourceClaims, 0, variant));
    for (change, reason) in [
        (claim(Some(1)), Some("network-not-ready")),
        (claim(Some(0)), None),
        (claim(None), Some("not-in-network")),
        (
            Change::Listed(Kind::ResourceClaims, vec![object(Kind::ResourceClaims, 0, 1)]),
            Some("network-not-ready"),
        ),
    ] {
        let cursor = follower.board().list().cursor;
        apply(&follower, vec![change]);
        let report = follower.report(&ObjectKey::new("shop", "s-0")).unwrap();
        let reasons = report.pods.iter().flat_map(|pod| &pod.reasons).map(|reason| reason.code);
        let of_network = reasons.filter(|code| code.contains("network")).collect::<Vec<_>>();
        assert_eq!(of_network, reason.into_iter().collect::<Vec<_>>());
        assert_eq!(follower.board().after(cursor, 9).unwrap().services.len(), 1, "{reason:?}");
    }
}

/// The watch of ResourceClaims begins with a list, once a Service depends on them: that list follows no gap.
#[test]
fn the_first_list_of_claims_is_no_gap() {
    let follower = follower_without([Kind::ResourceClaims]);
    apply(&follower, [Kind::Services, Kind::Pods].map(|kind| Change::Upserted(object(kind, 0, 0))).into());
    let reasons = || {
        let report = follower.report(&ObjectKey::new("shop", "s-0")).unwrap();
        let reasons = report.pods.iter().flat_map(|pod| &pod.reasons).map(|reason| reason.code);
        reasons.filter(|code| code.contains("network")).collect::<Vec<_>>()
    };
    let gaps = || follower.followed.lock().seen.history.all().filter(|entry| entry.service.is_none()).count();
    assert!(reasons().is_empty(), "nothing is known");
    apply(&follower, vec![Change::Listed(Kind::ResourceClaims, vec![])]);
    assert_eq!((reasons(), gaps()), (vec!["not-in-network"], 0));
    apply(&follower, vec![Change::Listed(Kind::ResourceClaims, vec![object(Kind::ResourceClaims, 0, 1)])]);
    assert_eq!((reasons(), gaps()), (vec!["network-not-ready"], 1));
}

/// A pod is kept ready for ten minutes after the disruption, and then the report changes by time alone.
#[test]
fn the_end_of_a_hold_changes_the_report() {
    let after = |seconds: i64| now() + SignedDuration::from_secs(seconds);
    let node = |name: &str, ready: &str, at: i64| {
        let condition =
            json!({"type": "Ready", "status": ready, "lastTransitionTime": after(at).to_string()});
        let metadata = json!({"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
        Change::Upserted(Object::Node(parsed(
            json!({"metadata": metadata, "status": {"conditions": [condition]}}),
        )))
    };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": now().to_string()});
    let Object::Pod(pod) = object(Kind::Pods, 2, 0) else { panic!("no pod") };
    let mut pod = serde_json::to_value(&*pod).unwrap();
    pod["status"]["conditions"] = json!([condition("Ready", "False"), condition("ContainersReady", "True")]);
    let pod = Object::Pod(parsed(pod));
    let follower = follower();
    let slice = json!({"metadata": {"namespace": "shop", "name": "e", "labels": {"kubernetes.io/service-name": "s-2",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}}, "addressType": "IPv4", "ports": [],
        "endpoints": [{"addresses": ["10.1.0.2"], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": "p-2"}}]});
    let slice = Change::Upserted(Object::EndpointSlice(parsed(slice)));
    let service = Change::Upserted(object(Kind::Services, 2, 0));
    let nodes = [node("n-0", "Unknown", 0), node("n-1", "True", 60), node("n-2", "True", 60)];
    apply(&follower, [service, Change::Upserted(pod), slice].into_iter().chain(nodes).collect());
    let is_kept = || shown(&follower)[0].kept > 0;
    for (seconds, kept) in [(0, true), (659, true), (660, false)] {
        follower.tick(after(seconds));
        assert_eq!(is_kept(), kept, "after {seconds} s");
    }
}
