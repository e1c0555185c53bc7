//! The chart's objects equal those of the kustomizations, field by field.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::manifests::{deployment, file, kustomization, name, pod, text, with_components};
use super::super::site::{ACCOUNT, SYSTEM};
use super::{chart, helm, only, template};

fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let count = objects.len();
    let objects: BTreeMap<String, Value> =
        objects.into_iter().map(|object| (name(&object), object)).collect();
    assert_eq!(objects.len(), count, "a name occurs twice");
    objects
}

/// Labels of each object that Helm's documentation recommends, and that kustomize does not set.
const RECOMMENDED: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];

/// Removes the recommended labels from an object, which has all of them or no labels.
fn without_recommended(mut object: Value) -> Value {
    if let Some(labels) = object["metadata"].get_mut("labels").and_then(Value::as_object_mut) {
        let removed = RECOMMENDED.map(|label| labels.remove(label).is_some());
        assert_eq!(removed, [true; 4], "{}", name(&object));
    }
    object
}

fn assert_equal(values: &Value, expected: Vec<Value>) {
    let rendered = template(SYSTEM, values).into_iter().map(without_recommended).collect();
    let (rendered, expected) = (by_name(rendered), by_name(expected));
    let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&expected), "{values}");
    for (name, object) in rendered {
        assert_eq!(object, expected[&name], "{values}: {name}");
    }
}

#[test]
fn the_defaults_are_the_base() {
    assert_equal(&json!({}), kustomization("base"));
}

#[test]
fn pod_networks_are_the_manifests_of_their_controller() {
    let expected = [kustomization("base"), kustomization("pod-network-controller")].concat();
    assert_equal(&json!({"podNetworks": {"enabled": true}}), expected);
}

/// Each object that selects the manager's pods has a twin for those of `pod-network-controller`, which have a port of their own.
#[test]
fn options_apply_to_both_programs() {
    const OTHER: &str = "pod-network-controller";
    let on = json!({"enabled": true});
    let both = json!({"podNetworks": on, "networkPolicy": on, "podMonitor": on, "serviceMonitor": on});
    let objects = template(SYSTEM, &both);
    for kind in ["PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "ServiceMonitor", "Service"] {
        let found: BTreeMap<&str, String> = objects
            .iter()
            .filter(|object| text(object, "/kind") == kind)
            .map(|object| (text(object, "/metadata/name"), object.to_string()))
            .collect();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&ACCOUNT, &OTHER], "{kind}");
        let twin = found[ACCOUNT].replace(ACCOUNT, OTHER).replace("10261", "10272");
        let token = |name: &str| format!("{name}-metrics-reader");
        let twin = twin.replace(&token(OTHER), &token(ACCOUNT));
        let chart = |name: &str| format!("\"helm.sh/chart\":\"{name}");
        assert_eq!(found[OTHER], twin.replace(&chart(OTHER), &chart(ACCOUNT)), "{kind}");
    }
}

#[test]
fn each_option_is_the_component_of_that_name() {
    for (values, component) in [
        (json!({"networkPolicy": {"enabled": true}}), "network-policy"),
        (json!({"openshift": {"enabled": true}}), "openshift"),
        (json!({"page": {"enabled": true}}), "page"),
        (json!({"podMonitor": {"enabled": true}}), "pod-monitor"),
        (
            json!({"serviceAccountCredentials": {"enabled": true, "createAccounts": true}}),
            "service-account-credentials",
        ),
        (json!({"servingCertificate": {"secretName": format!("{ACCOUNT}-serving")}}), "serving-certificate"),
    ] {
        assert_equal(&values, with_components("base", &[component]));
    }
    let monitor = json!({"enabled": true});
    let monitored = json!({"podMonitor": monitor, "prometheusRule": monitor});
    assert_equal(&monitored, kustomization("overlays/monitoring"));
    let secret = json!({"secretName": format!("{ACCOUNT}-serving")});
    assert_equal(
        &json!({"podMonitor": monitor, "prometheusRule": monitor, "servingCertificate": secret}),
        with_components("overlays/monitoring", &["serving-certificate"]),
    );
}

/// Prometheus sends no token but that of an account that may read the metrics and nothing else.
#[test]
fn both_monitors_scrape_with_the_token_of_the_metrics_reader() {
    let pods = template(SYSTEM, &json!({"podMonitor": {"enabled": true}}));
    let service = template(SYSTEM, &json!({"serviceMonitor": {"enabled": true}}));
    let endpoints = &only(&pods, "PodMonitor")["spec"]["podMetricsEndpoints"];
    assert_eq!(only(&service, "ServiceMonitor")["spec"]["endpoints"], *endpoints);
    let secret = only(&service, "Secret");
    assert_eq!(only(&pods, "Secret"), secret);
    let token = json!({"credentials": {"name": secret["metadata"]["name"], "key": "token"}});
    for endpoint in endpoints.as_array().unwrap() {
        assert_eq!(endpoint["authorization"], token);
        assert!(endpoint.get("bearerTokenFile").is_none(), "{endpoint}");
        // What the alert Down selects by: `up` of /metrics/slis says nothing.
        let label = json!([{"sourceLabels": ["__metrics_path__"], "targetLabel": "metrics_path"}]);
        assert_eq!(endpoint["relabelings"], label);
    }
}

#[test]
fn the_alerts_are_those_of_the_overlay_and_lead_to_the_runbooks_of_the_operator() {
    let rule = |values| only(&template(SYSTEM, &json!({"prometheusRule": values})), "PrometheusRule");
    let default = without_recommended(rule(json!({"enabled": true})));
    assert_eq!(default, only(&kustomization("overlays/monitoring"), "PrometheusRule"));
    let own = rule(json!({"enabled": true, "runbookBaseUrl": "https://wiki.example/runbooks"})).to_string();
    let urls: Vec<&str> = own.split("\"runbook_url\":\"").skip(1).collect();
    assert!(!urls.is_empty());
    for url in urls {
        assert!(url.starts_with("https://wiki.example/runbooks/EndpointControllerManager"), "{url}");
    }
}

#[test]
fn a_replica_is_missing_of_those_that_the_chart_has() {
    for replicas in [1, 3] {
        let values = json!({"replicas": replicas, "prometheusRule": {"enabled": true}});
        let rule = only(&template(SYSTEM, &values), "PrometheusRule");
        let alerts = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
        let is_meant = |alert: &&Value| text(alert, "/alert") == "EndpointControllerManagerReplicaMissing";
        let alert = alerts.iter().find(is_meant).unwrap();
        let [expr, summary] = ["/expr", "/annotations/summary"].map(|part| text(alert, part));
        assert!(expr.ends_with(&format!(" < {replicas}")), "{expr}");
        assert!(summary.ends_with(&format!(" instead of {replicas}.")), "{summary}");
    }
}

#[test]
fn a_held_lease_is_that_of_the_migration() {
    let lease = only(&template(SYSTEM, &json!({"lease": {"hold": true}})), "Lease");
    let hold = &file("disable-built-ins/hold.yaml")[0];
    assert_eq!(lease["metadata"]["annotations"], hold["metadata"]["annotations"]);
    assert_eq!(name(&lease), name(hold));
}

/// A manifest with a holder, applied again, would take the Lease from the leader.
#[test]
fn no_manifest_names_the_holder_of_the_lease() {
    let mut objects = template(SYSTEM, &json!({"lease": {"hold": true}}));
    objects.extend(template(SYSTEM, &json!({})));
    objects.extend(kustomization("base"));
    objects.extend(file("disable-built-ins/hold.yaml"));
    let leases = objects.iter().filter(|object| text(object, "/kind") == "Lease");
    assert!(leases.clone().count() == 4 && leases.clone().all(|lease| lease.get("spec").is_none()));
    let released = leases.filter(|lease| lease.to_string().contains("hold-released"));
    assert_eq!(released.count(), 0, "applied again, it would release a hold");
}

/// Only the Lease, what is about it, and what belongs to the API server stay in kube-system.
#[test]
fn in_another_namespace_the_lease_stays_in_kube_system() {
    let values = json!({"serviceMonitor": {"enabled": true}, "podMonitor": {"enabled": true}, "networkPolicy": {"enabled": true}});
    let objects = template("endpoints", &values);
    let in_system: Vec<String> =
        objects.iter().map(name).filter(|name| name.contains(&format!(" {SYSTEM}/"))).collect();
    assert_eq!(
        in_system,
        [
            format!("Role {SYSTEM}/{ACCOUNT}:leader-election"),
            format!("RoleBinding {SYSTEM}/{ACCOUNT}:extension-apiserver-authentication-reader"),
            format!("RoleBinding {SYSTEM}/{ACCOUNT}:leader-election"),
            format!("Lease {SYSTEM}/{ACCOUNT}"),
        ]
    );
    for object in &objects {
        let subjects = object["subjects"].as_array().into_iter().flatten();
        for subject in subjects {
            assert_eq!(subject["namespace"], "endpoints", "{}", name(object));
        }
        if text(object, "/kind") == "FlowSchema" {
            let subject = &object["spec"]["rules"][0]["subjects"][0]["serviceAccount"];
            assert_eq!(subject["namespace"], "endpoints", "{}", name(object));
        }
    }
}

#[test]
fn flags_follow_from_values() {
    let flags = |values: &Value| -> Vec<String> {
        let args = &pod(&template(SYSTEM, values))["containers"][0]["args"];
        serde_json::from_value(args.clone()).unwrap()
    };
    let defaults: Vec<String> =
        serde_json::from_value(deployment()["containers"][0]["args"].clone()).unwrap();
    let values = json!({
        "controllers": ["endpoints-controller", "endpointslice-controller"],
        "featureGates": {"EndpointSliceCoalescing": true, "AllAlpha": false},
        "takeoverMaxWrites": 0,
        "extraArgs": ["--kube-api-qps=50", "--logging-format=json"],
    });
    let more = [
        "--takeover-max-writes=0",
        "--controllers=endpoints-controller,endpointslice-controller",
        "--feature-gates=AllAlpha=false,EndpointSliceCoalescing=true",
        "--kube-api-qps=50",
        "--logging-format=json",
    ];
    let expected: Vec<String> = defaults.into_iter().chain(more.map(str::to_owned)).collect();
    assert_eq!(flags(&values), expected);
    // A controller that does not run has no permissions.
    let objects = template(SYSTEM, &values);
    assert!(!objects.iter().any(|object| name(object).contains("mirroring")));
}

#[test]
fn helm_has_no_complaints() {
    let chart = chart();
    let printed = helm(&["lint", "--strict", chart.to_str().unwrap()], &json!({})).unwrap();
    let complaints: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with('[') && !line.contains("icon is recommended"))
        .collect();
    assert!(complaints.is_empty(), "{printed}");
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = &file("chart/Chart.yaml")[0];
    for version in ["version", "appVersion"] {
        assert_eq!(chart[version], env!("CARGO_PKG_VERSION"), "{version}");
    }
}
