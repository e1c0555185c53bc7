//! Each reason: a cluster that has it, and what the report says about it.

use std::collections::BTreeSet;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::audit::{Options, audit};
use endpoint_diagnostics::explain;
use endpoint_diagnostics::explain::CODES;
use endpoint_diagnostics::report::{PodReport, Presence, Reason, ServiceReport, Verdict};
use endpoint_diagnostics::{Snapshot, Traffic};
use random_operations::NAMESPACE;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{Changes, Cluster, kinds, merge};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    code: String,
    pod: Option<String>,
    text: String,
    verdict: Option<String>,
    /// The presence in slices and Endpoints.
    state: Option<[String; 2]>,
    before: Changes,
    after: Changes,
    now: Option<String>,
    unreadable: Vec<String>,
    many: Option<String>,
    /// Lets the slice keep the ports of the Service, which the case leaves out.
    ports: bool,
}

/// A Service with a ready pod.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    let service = json!({
        "metadata": {"name": "web"},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]},
    });
    cluster.change("services", "web", &service);
    cluster.change("pods", "web-1", &pod("web-1", "10.1.0.1"));
    cluster
}

fn pod(name: &str, ip: &str) -> Value {
    let ports = json!([{"name": "http", "containerPort": 8080, "protocol": "TCP"}]);
    json!({
        "metadata": {"name": name, "uid": "00000001-0000-4000-8000-000000000001", "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "containers": [{"name": "main", "image": "none", "ports": ports}]},
        "status": {"phase": "Running", "podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// Objects that would be long in the file.
fn add_many(cluster: &mut Cluster, what: &str) {
    match what {
        "pods" => (0..1000).for_each(|number| {
            let name = format!("many-{number:04}");
            cluster.change(
                "pods",
                &name,
                &pod(&name, &format!("10.2.{}.{}", number / 250, number % 250 + 1)),
            );
        }),
        "misses" => (0..11).for_each(|number| {
            let name = format!("miss-{number}");
            let mut pod = pod(&name, &format!("10.3.0.{number}"));
            pod["metadata"]["labels"] = json!({"app": "Web"});
            cluster.change("pods", &name, &pod);
        }),
        "custom" => {
            cluster.change("services", "web", &json!({"spec": {"selector": null}}));
            let ip = |number: u32| json!({"ip": format!("10.2.{}.{}", number / 250, number % 250 + 1)});
            let addresses: Vec<Value> = (0..1001).map(ip).collect();
            let endpoints = json!({"metadata": {"name": "web"}, "subsets": [{"addresses": addresses}]});
            cluster.change("endpoints", "web", &endpoints);
        }
        other => panic!("many {other}"),
    }
}

fn report(case: &Case) -> ServiceReport {
    let mut cluster = cluster();
    case.many.iter().for_each(|what| add_many(&mut cluster, what));
    cluster.change_all(&case.before);
    cluster.settle();
    cluster.change_all(&case.after);
    if case.ports {
        let ports = json!({"ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]});
        merge(cluster.slices.get_mut("web-slice-1").unwrap(), &ports);
    }
    let now = case.now.as_deref().unwrap_or("2001-01-02T00:00:00Z").parse().unwrap();
    let snapshot = cluster.snapshot_without(now, &kinds(&case.unreadable));
    explain(&snapshot, &ObjectKey::new(NAMESPACE, "web")).unwrap()
}

/// The report of the Service, a day after all changes.
fn explained(cluster: &Cluster) -> ServiceReport {
    let snapshot = cluster.snapshot("2001-01-02T00:00:00Z".parse().unwrap());
    explain(&snapshot, &ObjectKey::new(NAMESPACE, "web")).unwrap()
}

fn codes(reasons: &[Reason]) -> Vec<&'static str> {
    reasons.iter().map(|reason| reason.code).collect()
}

fn cases() -> Vec<Case> {
    serde_yaml::from_str(include_str!("reasons.yaml")).unwrap()
}

/// The first expectation of a case that its report does not meet.
fn failure(case: &Case, report: &ServiceReport) -> Option<String> {
    let has_reason = |pod: &PodReport| pod.reasons.iter().any(|reason| reason.code == case.code);
    let pod = report.pods.iter().find(|pod| match case.pod.as_deref() {
        Some("any") => has_reason(pod),
        name => Some(&*pod.name) == name,
    });
    if case.pod.is_some() && pod.is_none() {
        return Some("the pod is missing".to_owned());
    }
    let reasons: &[Reason] = pod.map_or(&report.reasons, |pod| &pod.reasons);
    if !reasons.iter().any(|reason| reason.code == case.code && reason.message.contains(&case.text)) {
        return Some(format!("no such reason in {reasons:#?}"));
    }
    let verdict = serde_json::to_value(pod.map_or(report.verdict, |pod| pod.verdict)).unwrap();
    if verdict != case.verdict.as_deref().unwrap_or("ok") {
        return Some(format!("verdict {verdict}: {:#?} {:#?}", report.reasons, report.pods));
    }
    let state = pod.map(|pod| [pod.slices, pod.endpoints].map(|it| serde_json::to_value(it).unwrap()));
    let expected = case.state.as_ref().map(|expected| expected.each_ref().map(|it| json!(it)));
    if expected.is_some() && expected != state {
        return Some(format!("state {state:?}: {reasons:#?}"));
    }
    let all = || report.reasons.iter().chain(report.pods.iter().flat_map(|pod| &pod.reasons));
    let misplaced = all().find(|reason| {
        let code = CODES.iter().find(|code| code.name == reason.code).unwrap();
        reason.code == "unexplained"
            || code.of_service != report.reasons.contains(reason) && reason.code != "lags"
    });
    misplaced.map(|reason| format!("misplaced {reason:?}"))
}

#[test]
fn each_case_has_its_reason() {
    let failures: Vec<String> = cases()
        .iter()
        .filter_map(|case| Some(format!("{} ({}): {}", case.code, case.text, failure(case, &report(case))?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// An endpoint can be ready in a slice from which kube-proxy programs no backend for the Service.
#[test]
fn endpoints_that_a_cluster_ip_does_not_reach_get_no_traffic() {
    let is_of_traffic = |code: &str| code.starts_with("port-") || code == "bypassed-slice";
    for case in cases().iter().filter(|case| is_of_traffic(&case.code)) {
        let report = report(case);
        let traffic = Traffic::of(&report).unwrap();
        assert!(traffic.is_none() && traffic.of > 0, "{traffic:?}");
        assert_eq!(traffic.reason.unwrap().code, case.code);
    }
}

/// `unexplained` is the one reason that must not occur.
#[test]
fn each_reason_has_a_case() {
    let cases = cases();
    let tested = cases.iter().map(|case| &*case.code);
    let known: BTreeSet<&str> =
        CODES.iter().map(|code| code.name).filter(|code| *code != "unexplained").collect();
    assert_eq!(tested.collect::<BTreeSet<_>>(), known);
    assert!(known.len() >= 25);
}

#[test]
fn a_pod_that_has_ended_misses_no_network() {
    let mut cluster = cluster();
    let labels = json!({"service.kubernetes.io/endpoint-controller-name": "pod-network-controller"});
    let annotations = json!({"pod-network-controller/dra-driver": "net.example.com"});
    cluster.change("services", "web", &json!({"metadata": {"labels": labels, "annotations": annotations}}));
    let codes = |cluster: &mut Cluster| {
        cluster.settle();
        let report = explained(cluster);
        report.pods.iter().flat_map(|pod| &pod.reasons).map(|reason| reason.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&mut cluster), ["not-in-network"]);
    cluster.change("pods", "web-1", &json!({"status": {"phase": "Succeeded"}}));
    assert_eq!(codes(&mut cluster), ["succeeded"]);
}

#[test]
fn slices_of_the_controller_that_a_service_is_left_to_need_no_reason() {
    let mut cluster = cluster();
    cluster.settle();
    let name = "service.kubernetes.io/endpoint-controller-name";
    cluster.change("services", "web", &json!({"metadata": {"labels": {name: "mesh"}}}));
    cluster.change("endpoints", "web", &Value::Null);
    let manager = "endpointslice.kubernetes.io/managed-by";
    cluster.change("slices", "web-slice-1", &json!({"metadata": {"labels": {manager: "mesh"}}}));
    let report = explained(&cluster);
    assert_eq!(codes(&report.reasons), ["delegated"]);
    assert_eq!(report.pods.iter().map(|pod| codes(&pod.reasons)).collect::<Vec<_>>(), [Vec::<&str>::new()]);
}

#[test]
fn an_audit_says_what_is_left_of_a_service_that_became_an_alias() {
    let mut cluster = cluster();
    cluster.settle();
    let alias = json!({"spec": {"type": "ExternalName", "externalName": "example.com", "clusterIP": null}});
    cluster.change("services", "web", &alias);
    let snapshot = cluster.snapshot("2001-01-02T00:00:00Z".parse().unwrap());
    let findings = audit(&snapshot, &Options::default()).findings;
    let left = findings.iter().filter(|finding| finding.rule == "left-behind");
    let left: Vec<&str> = left.map(|finding| &*finding.message).collect();
    let message = |what: &str| format!("The Service web is of type ExternalName now; its {what}");
    let slice = message("1 endpoints stay as they were, also when their pods go; kube-proxy ignores them");
    assert_eq!(left, [message("addresses stay as they were"), slice]);
}

#[test]
fn a_service_with_slices_of_users_misses_no_endpoints() {
    let mut cluster = cluster();
    cluster.change("services", "web", &json!({"spec": {"selector": null}}));
    assert_eq!(codes(&explained(&cluster).reasons), ["no-selector", "no-endpoints-to-mirror"]);
    let metadata = json!({"name": "own", "labels": {"kubernetes.io/service-name": "web"}});
    let endpoints = json!([{"addresses": ["10.0.0.1"]}]);
    let slice = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints});
    cluster.change("slices", "own", &slice);
    assert_eq!(codes(&explained(&cluster).reasons), ["bypassed-slice", "no-selector", "another-manager"]);
    cluster.change("slices", "own", &json!({"ports": [{"name": "http", "port": 8080}]}));
    let found = explained(&cluster);
    assert_eq!(codes(&found.reasons), ["no-selector", "another-manager"]);
    assert_eq!(Traffic::of(&found).map(|it| (it.ready, it.of)), Some((1, 1)));
}

/// Three Services with slices and without Endpoints: their controller is off.
fn without_endpoints(cluster: &mut Cluster) {
    cluster.settle();
    cluster.change("endpoints", "web", &Value::Null);
    for name in ["a", "b"] {
        let service = json!({"metadata": {"name": name, "uid": name}, "spec": {"selector": {"app": name}}});
        cluster.change("services", name, &service);
        let labels = json!({"kubernetes.io/service-name": name,
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"});
        let slice =
            json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": []});
        cluster.change("slices", name, &slice);
    }
}

#[test]
fn notes_come_after_causes() {
    let mut cluster = cluster();
    add_many(&mut cluster, "misses");
    cluster.change("pods", "web-1", &Value::Null);
    without_endpoints(&mut cluster);
    let found = explained(&cluster);
    assert_eq!(codes(&found.reasons), ["selects-no-pods", "endpoints-not-kept", "more-near-misses"]);
    assert_eq!(Traffic::of(&found).unwrap().reason.unwrap().code, "selects-no-pods");
    // A difference stands before the Service's own reasons.
    cluster.change("slices", "web-slice-1", &json!({"metadata": {"labels": {"team": "red"}}}));
    let found = explained(&cluster);
    assert_eq!(
        codes(&found.reasons),
        ["slices-outdated", "selects-no-pods", "endpoints-not-kept", "more-near-misses"]
    );
}

/// Few Services are not enough to tell a controller that is off from one that is late, or fails.
#[test]
fn missing_endpoints_of_one_namespace_are_unknown() {
    let mut cluster = cluster();
    let created = json!({"metadata": {"creationTimestamp": "2001-01-01T23:59:50Z"}});
    cluster.change("services", "web", &created);
    cluster.settle();
    cluster.change("endpoints", "web", &Value::Null);
    let seen = |now: &str, note: fn(&mut Snapshot)| {
        let mut snapshot = cluster.snapshot(now.parse().unwrap());
        note(&mut snapshot);
        let report = explain(&snapshot, &ObjectKey::new(NAMESPACE, "web")).unwrap();
        (report.verdict, report.pods[0].endpoints, report.reasons.first().map(|reason| reason.code))
    };
    let not_kept = |verdict| (verdict, Presence::NotApplicable, Some("endpoints-not-kept"));
    let (early, late) = ("2001-01-02T00:00:00Z", "2001-01-03T00:00:00Z");
    assert_eq!(seen(late, |_| {}), (Verdict::Wrong, Presence::Absent, None));
    assert_eq!(seen(late, Snapshot::set_of_namespace), not_kept(Verdict::Unknown));
    assert_eq!(seen(early, Snapshot::set_of_namespace), (Verdict::Lagging, Presence::Absent, None));
    assert_eq!(seen(late, Snapshot::set_endpoints_off), not_kept(Verdict::Ok));
}

#[test]
fn a_pod_in_order_needs_no_reason() {
    let report = report(&Case::default());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["verdict"], &json["reasons"]), (&json!("ok"), &json!([])), "{report:#?}");
    assert_eq!(json["counts"], json!({"pods": 1, "ready": 1, "inSlices": 1, "inEndpoints": 1}));
    assert_eq!(json["slices"][0]["ports"], json!(["http:8080/TCP"]));
    assert_eq!(json["endpoints"], json!({"addresses": 1, "notReady": 0, "truncated": false}));
    let pod = json!({"name": "web-1", "node": "a", "addresses": ["10.1.0.1"], "slices": "ready", "endpoints": "ready",
        "verdict": "ok", "reasons": []});
    assert_eq!(json["pods"], json!([pod]));
}
