//! `mode: shadow` is `deploy/shadow`, with the chart's placement.

use serde_json::{Value, json};

use super::super::manifests::{file, name, text};
use super::super::site::SYSTEM;
use super::{only, template};

#[test]
fn the_objects_are_those_of_the_manifest() {
    let rendered = template(SYSTEM, &json!({"mode": "shadow", "builtInControllersDisabled": false}));
    let manifest = file("shadow/shadow.yaml");
    let names = |objects: &[Value]| {
        let mut names: Vec<String> = objects.iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&rendered), names(&manifest));
    let both = |kind: &str| [only(&rendered, kind), only(&manifest, kind)];
    let [ours, theirs] = both("ClusterRole");
    assert_eq!(ours["rules"], theirs["rules"]);
    let [ours, theirs] = both("ClusterRoleBinding");
    assert_eq!((&ours["subjects"], &ours["roleRef"]), (&theirs["subjects"], &theirs["roleRef"]));
    let [ours, theirs] = both("Deployment").map(|deployment| deployment["spec"].clone());
    for field in ["replicas", "selector", "strategy"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
    let [ours, theirs] = [ours, theirs].map(|spec| spec["template"]["spec"].clone());
    for field in ["serviceAccountName", "automountServiceAccountToken", "securityContext"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
    let [mut ours, theirs] = [ours, theirs].map(|spec| spec["containers"][0].clone());
    ours["args"].as_array_mut().unwrap().retain(|arg| arg != "-v=2");
    for field in ["args", "image", "ports", "readinessProbe", "resources", "securityContext"] {
        assert_eq!(ours[field], theirs[field], "{field}");
    }
}

/// What is about a writer is left out, whatever other values say.
#[test]
fn no_value_gives_it_a_permission_to_write() {
    let enabled = json!({"enabled": true});
    let values = json!({
        "mode": "shadow", "serviceAccountCredentials": {"enabled": true, "createAccounts": true}, "openshift": enabled,
        "preflight": enabled, "podMonitor": enabled, "prometheusRule": enabled, "lease": {"hold": true},
    });
    for object in template(SYSTEM, &values) {
        let kind = text(&object, "/kind");
        assert!(!matches!(kind, "Lease" | "Job" | "FlowSchema" | "PodDisruptionBudget"), "{kind}");
        for rule in object["rules"].as_array().into_iter().flatten() {
            let verbs: Vec<&str> =
                rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
            assert!(
                verbs.iter().all(|verb| matches!(*verb, "get" | "list" | "watch")),
                "{}: {verbs:?}",
                name(&object)
            );
        }
        let binds = object.pointer("/roleRef/name").and_then(Value::as_str).unwrap_or_default();
        assert!(matches!(binds, "" | "endpoint-controller-manager:shadow"), "{binds}");
    }
}

/// The other alerts are about programs that write: they would fire where none is installed.
#[test]
fn its_only_alert_is_about_differences() {
    let enabled = json!({"enabled": true});
    let of = |mode: &str| {
        let rule =
            only(&template(SYSTEM, &json!({"mode": mode, "prometheusRule": enabled})), "PrometheusRule");
        let alerts = rule["spec"]["groups"][0]["rules"].as_array().unwrap().clone();
        (name(&rule), alerts)
    };
    let (writer, mut alerts) = of("run");
    alerts.retain(|alert| text(alert, "/alert") == "EndpointControllerManagerShadowDifferences");
    assert_eq!(alerts.len(), 1);
    let (comparison, found) = of("shadow");
    assert_eq!(found, alerts);
    assert_ne!(comparison, writer, "both can be installed in one namespace");
}

/// The only page that is open is `/metrics`. A token would be refused, because its review would be a write.
#[test]
fn monitors_scrape_it_without_a_token() {
    let enabled = json!({"enabled": true});
    let objects =
        template(SYSTEM, &json!({"mode": "shadow", "podMonitor": enabled, "serviceMonitor": enabled}));
    for (kind, endpoints) in
        [("PodMonitor", "/spec/podMetricsEndpoints"), ("ServiceMonitor", "/spec/endpoints")]
    {
        let monitor = only(&objects, kind);
        let [page] = monitor.pointer(endpoints).unwrap().as_array().unwrap().as_slice() else {
            panic!("{monitor}");
        };
        assert_eq!((&page["path"], page.get("authorization")), (&json!("/metrics"), None), "{kind}");
    }
    for object in &objects {
        assert!(!name(object).contains("metrics-reader"), "{}", name(object));
    }
}
