//! What an operator's own values change, and that both versions of helm render them alike.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::manifests::{folder, name, text};
use super::super::site::{ACCOUNT, SYSTEM};
use super::{only, template, template_of};

fn pod(objects: &[Value]) -> Value {
    only(objects, "Deployment")["spec"]["template"].clone()
}

/// An element of `options.yaml`, which describes them.
#[derive(Deserialize)]
struct Case {
    values: Value,
    objects: BTreeMap<String, BTreeMap<String, Value>>,
}

#[test]
fn values_are_where_they_belong() {
    let cases: Vec<Case> = serde_yaml::from_str(include_str!("options.yaml")).unwrap();
    for Case { values, objects } in cases {
        let rendered = template(SYSTEM, &values);
        for (which, parts) in objects {
            let is_meant =
                |object: &&Value| which == "each" || which == name(object) || which == text(object, "/kind");
            let found: Vec<&Value> = rendered.iter().filter(is_meant).collect();
            assert!(found.len() == 1 || which == "each", "{} {which}: {values}", found.len());
            for object in found {
                for (part, expected) in &parts {
                    let there = object.pointer(part).unwrap_or(&Value::Null);
                    assert_eq!(there, expected, "{part} of {}: {values}", name(object));
                }
            }
        }
    }
}

/// kustomize refuses a key that is there twice, as `template` does.
#[test]
fn a_label_of_two_values_is_there_once() {
    let more = |value: &str| json!({"enabled": true, "labels": {"release": value}});
    let objects = template(
        SYSTEM,
        &json!({
            "commonLabels": {"release": "all", "helm.sh/chart": "mine"}, "podMonitor": more("pods"),
            "serviceMonitor": more("services"), "prometheusRule": more("rules"), "dashboard": more("boards"),
        }),
    );
    for (kind, release) in [
        ("Lease", "all"),
        ("PodMonitor", "pods"),
        ("ServiceMonitor", "services"),
        ("PrometheusRule", "rules"),
        ("ConfigMap", "boards"),
    ] {
        let object = only(&objects, kind);
        assert_eq!(text(&object, "/metadata/labels/release"), release, "{kind}");
        assert_eq!(text(&object, "/metadata/labels/helm.sh~1chart"), "mine", "{kind}");
    }
}

#[test]
fn an_account_of_the_operators_has_all_permissions() {
    let values = json!({"serviceAccount": {"create": false, "name": "mine"}, "lease": {"hold": true}, "preflight": {"enabled": true}});
    let objects = template("endpoints", &values);
    assert!(!objects.iter().any(|object| name(object) == "ServiceAccount endpoints/mine"));
    assert_eq!(pod(&objects)["spec"]["serviceAccountName"], "mine");
    let of_checks = "endpoint-controller-manager-preflight";
    for object in objects.iter().filter(|object| !name(object).contains("preflight")) {
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["name"], "mine", "{}", name(object));
        }
        if text(object, "/kind") == "FlowSchema" {
            assert_eq!(text(object, "/spec/rules/0/subjects/0/serviceAccount/name"), "mine");
        }
    }
    let job = only(&objects, "Job").to_string();
    assert!(job.contains("--service-account=endpoints:mine") && job.contains(of_checks), "{job}");
}

#[test]
fn monitors_have_intervals_and_relabelings() {
    let rule = json!([{"action": "labeldrop", "regex": "pod"}]);
    let monitor = json!({"enabled": true, "interval": "15s", "scrapeTimeout": "12s", "relabelings": rule, "metricRelabelings": rule});
    for (name, kind, endpoints) in [
        ("podMonitor", "PodMonitor", "/spec/podMetricsEndpoints"),
        ("serviceMonitor", "ServiceMonitor", "/spec/endpoints"),
    ] {
        let object = only(&template(SYSTEM, &json!({name: monitor})), kind);
        let pages = object.pointer(endpoints).unwrap().as_array().unwrap();
        for page in pages {
            let is_whole = page["path"] == "/metrics";
            assert_eq!(page["interval"], if is_whole { "15s" } else { "5s" });
            assert_eq!(page["scrapeTimeout"], if is_whole { json!("12s") } else { Value::Null });
            assert_eq!(page["relabelings"][0]["targetLabel"], "metrics_path");
            assert_eq!((&page["relabelings"][1], &page["metricRelabelings"]), (&rule[0], &rule));
        }
        assert_eq!(pages.len(), 2);
    }
}

/// The file is read at the start only.
#[test]
fn a_change_of_the_configuration_replaces_the_pods() {
    let annotations = |qps: u32| {
        let config = json!({"Generic": {"ClientConnection": {"qps": qps}}});
        let objects = template(SYSTEM, &json!({"config": config, "podAnnotations": {"a": "b"}}));
        pod(&objects)["metadata"]["annotations"].clone()
    };
    let (one, other) = (annotations(50), annotations(51));
    assert_ne!(one["checksum/config"], other["checksum/config"]);
    assert_eq!((text(&one, "/checksum~1config").len(), &one["a"]), (64, &json!("b")));
}

/// docs/operate/sizing.md: the figure of the table and a quarter.
#[test]
fn requests_follow_from_the_number_of_pods() {
    const CONTAINER: &str = "/spec/containers/0/resources/requests/memory";
    let templates = |values: &Value| {
        let objects = template(SYSTEM, values);
        let named = |kind: &str, part: &str| {
            let is_wanted = |object: &&Value| text(object, "/kind") == kind && name(object).ends_with(part);
            objects.iter().find(is_wanted).unwrap()["spec"]["template"].clone()
        };
        [named("Deployment", ACCOUNT), named("Job", "preflight"), named("Deployment", "-page")]
    };
    let sizing = std::fs::read_to_string(folder().join("../docs/operate/sizing.md")).unwrap();
    let number = |cell: &str| cell.trim_matches([' ', '*']).replace(',', "").parse::<u32>().ok();
    let rows = sizing.lines().filter(|line| line.starts_with("| ")).map(|line| {
        let cells: Vec<Option<u32>> = line.split('|').map(number).collect();
        (cells[1], [cells[3], cells[4], cells[6]])
    });
    let mut compared = 0;
    for (pods, peaks) in rows.filter_map(|(pods, peaks)| Some((pods.filter(|pods| *pods > 0)?, peaks))) {
        let values = json!({"pods": pods, "preflight": {"enabled": true}, "page": {"enabled": true}, "lease": {"hold": true}});
        for (template, peak) in templates(&values).iter().zip(peaks) {
            let requested: f64 = text(template, CONTAINER).strip_suffix("Mi").unwrap().parse().unwrap();
            let ratio = requested * 1.048_576 / f64::from(peak.unwrap());
            assert!((1.2..2.1).contains(&ratio), "{pods}: {requested} Mi for {peak:?} MB");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
    let own = json!({"requests": {"memory": "1Gi"}});
    let values = json!({"pods": 1_000_000, "resources": own, "lease": {"hold": true},
        "preflight": {"enabled": true, "resources": own}, "page": {"enabled": true, "resources": own}});
    for template in templates(&values) {
        assert_eq!(text(&template, CONTAINER), "1Gi");
    }
}

#[test]
fn the_dashboard_is_that_of_monitoring() {
    let monitoring = std::fs::read_to_string(folder().join("monitoring/dashboard.json")).unwrap();
    let chart = std::fs::read_to_string(folder().join("chart/files/dashboard.json")).unwrap();
    assert!(monitoring == chart, "run `cp deploy/monitoring/dashboard.json deploy/chart/files/`");
    let values = json!({"dashboard": {"enabled": true, "namespace": "grafana", "annotations": {"folder": "Kubernetes"}}});
    let map = only(&template(SYSTEM, &values), "ConfigMap");
    assert_eq!(name(&map), format!("ConfigMap grafana/{ACCOUNT}-dashboard"));
    assert_eq!(map["metadata"]["annotations"], json!({"folder": "Kubernetes"}));
    assert_eq!(text(&map, "/metadata/labels/grafana_dashboard"), "1");
    assert_eq!(text(&map, "/data/endpoint-controller-manager.json").trim(), monitoring.trim());
}

#[test]
fn both_versions_of_helm_render_the_same() {
    let enabled = json!({"enabled": true});
    for values in [
        json!({}),
        json!({"mode": "shadow", "prometheusRule": enabled}),
        json!({
            "config": {"Generic": {}}, "dashboard": enabled, "podMonitor": enabled, "prometheusRule": enabled, "pods": 300_000,
            "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}],
        }),
    ] {
        assert_eq!(template_of("helm3", SYSTEM, &values), template_of("helm", SYSTEM, &values), "{values}");
    }
}
