//! What an operator's own values change, and that both versions of helm render them alike.

use serde_json::{Value, json};

use super::super::manifests::{folder, name, text};
use super::super::site::{ACCOUNT, SYSTEM};
use super::{only, template, template_of};

fn pod(objects: &[Value]) -> Value {
    only(objects, "Deployment")["spec"]["template"].clone()
}

#[test]
fn a_configuration_and_volumes_reach_the_program() {
    let config = json!({"Generic": {"ClientConnection": {"qps": 50}}});
    let values = json!({
        "config": config,
        "extraEnv": [{"name": "NO_PROXY", "value": "10.0.0.0/8"}],
        "extraVolumes": [{"name": "kubeconfig", "secret": {"secretName": "kubeconfig"}}],
        "extraVolumeMounts": [{"name": "kubeconfig", "mountPath": "/kubeconfig"}],
        "lease": {"hold": true}, "preflight": {"enabled": true},
    });
    let objects = template(SYSTEM, &values);
    let job = only(&objects, "Job")["spec"]["template"]["spec"].clone();
    for (spec, map) in [(&pod(&objects)["spec"], ACCOUNT), (&job, "endpoint-controller-manager-preflight")] {
        let container = &spec["containers"][0];
        let args = container["args"].to_string();
        assert!(args.contains("--config=/etc/endpoint-controller-manager/config/config.yaml"), "{args}");
        assert_eq!(container["env"], values["extraEnv"]);
        assert_eq!(
            spec["volumes"],
            json!([{"name": "config", "configMap": {"name": map}}, values["extraVolumes"][0]])
        );
        let mounts: Vec<&str> = container["volumeMounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mount| text(mount, "/mountPath"))
            .collect();
        assert_eq!(mounts, ["/etc/endpoint-controller-manager/config", "/kubeconfig"]);
        let written =
            objects.iter().find(|object| name(object) == format!("ConfigMap {SYSTEM}/{map}")).unwrap();
        let file: Value = serde_yaml::from_str(text(written, "/data/config.yaml")).unwrap();
        assert_eq!(file["kind"], "KubeControllerManagerConfiguration");
        assert_eq!(file["Generic"], config["Generic"]);
    }
}

#[test]
fn the_controller_of_endpoints_reads_nodes_with_the_gate_that_needs_them() {
    for (gates, reads) in [
        (json!({}), json!(["services", "pods"])),
        (json!({"EndpointsKeepReadyOnDisruption": true}), json!(["services", "pods", "nodes"])),
        (json!({"AllAlpha": true}), json!(["services", "pods", "nodes"])),
        (json!({"AllAlpha": true, "EndpointsKeepReadyOnDisruption": false}), json!(["services", "pods"])),
    ] {
        let objects =
            template(SYSTEM, &json!({"controllers": ["endpoints-controller"], "featureGates": gates}));
        let role = format!("ClusterRole /{ACCOUNT}:endpoints-controller");
        let role = objects.iter().find(|object| name(object) == role).unwrap();
        assert_eq!(role["rules"][0]["resources"], reads, "{gates}");
    }
}

#[test]
fn labels_and_annotations_are_where_they_belong() {
    let objects = template(
        SYSTEM,
        &json!({"commonLabels": {"team": "network"}, "podLabels": {"scrape": "yes"}, "annotations": {"of": "deployment"}}),
    );
    for object in &objects {
        assert_eq!(text(object, "/metadata/labels/team"), "network", "{}", name(object));
    }
    let deployment = only(&objects, "Deployment");
    assert_eq!(deployment["metadata"]["annotations"], json!({"of": "deployment"}));
    let name = json!({"app.kubernetes.io/name": ACCOUNT});
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], name, "it never changes");
    let labels = &pod(&objects)["metadata"]["labels"];
    assert_eq!(*labels, json!({"app.kubernetes.io/name": ACCOUNT, "team": "network", "scrape": "yes"}));
}

#[test]
fn an_account_of_the_operators_has_all_rights() {
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
fn placement_and_timing_replace_the_defaults() {
    let spread = json!([{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]);
    let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}});
    let values = json!({
        "affinity": affinity, "topologySpreadConstraints": spread, "hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet",
        "strategy": {"type": "Recreate", "rollingUpdate": null}, "revisionHistoryLimit": 3,
        "terminationGracePeriodSeconds": 60, "probes": {"liveness": {"failureThreshold": 20}},
        "podSecurityContext": {"runAsUser": null, "runAsGroup": null},
    });
    let objects = template(SYSTEM, &values);
    let deployment = &only(&objects, "Deployment")["spec"];
    assert_eq!(deployment["strategy"], json!({"type": "Recreate"}));
    assert_eq!(deployment["revisionHistoryLimit"], 3);
    let spec = &pod(&objects)["spec"];
    assert_eq!((&spec["affinity"], &spec["topologySpreadConstraints"]), (&affinity, &spread));
    assert_eq!(spec["terminationGracePeriodSeconds"], 60);
    assert_eq!((&spec["hostNetwork"], &spec["dnsPolicy"]), (&json!(true), &values["dnsPolicy"]));
    assert_eq!(
        spec["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
    let probe = &spec["containers"][0]["livenessProbe"];
    assert_eq!((&probe["failureThreshold"], &probe["timeoutSeconds"]), (&json!(20), &json!(15)));
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

#[test]
fn more_fields_of_pods_and_labels_reach_the_checks_too() {
    let values = json!({
        "podSpec": {"dnsConfig": {"options": [{"name": "ndots", "value": "1"}]}, "hostUsers": false},
        "dnsPolicy": "None", "priorityClassName": "", "resources": {"requests": {"cpu": 0.5}},
        "commonLabels": {"team": "network"}, "podLabels": {"mesh": "off"}, "podAnnotations": {"a": "b"},
        "preflight": {"enabled": true}, "lease": {"hold": true},
    });
    let objects = template(SYSTEM, &values);
    let job = only(&objects, "Job");
    for template in [pod(&objects), job["spec"]["template"].clone()] {
        assert_eq!(template["spec"]["dnsConfig"], values["podSpec"]["dnsConfig"]);
        assert_eq!(
            (&template["spec"]["hostUsers"], &template["spec"]["dnsPolicy"]),
            (&json!(false), &json!("None"))
        );
        assert_eq!(template["metadata"]["annotations"], values["podAnnotations"]);
        assert_eq!(text(&template, "/metadata/labels/mesh"), "off");
    }
    for object in &objects {
        assert_eq!(text(object, "/metadata/labels/team"), "network", "{}", name(object));
    }
}

#[test]
fn flags_reach_the_controller_of_pod_networks() {
    let values = json!({"podNetworks": {"enabled": true, "extraArgs": ["--kube-api-qps=50"]}});
    let objects = template(SYSTEM, &values);
    let is_other = |object: &&Value| {
        text(object, "/kind") == "Deployment" && name(object).ends_with("pod-network-controller")
    };
    let args =
        objects.iter().find(is_other).unwrap().pointer("/spec/template/spec/containers/0/args").unwrap();
    assert!(args.as_array().unwrap().contains(&json!("--kube-api-qps=50")), "{args}");
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
fn extra_objects_are_part_of_the_release() {
    let more =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}, "data": {"a": "b"}});
    assert_eq!(only(&template(SYSTEM, &json!({"extraObjects": [more]})), "ConfigMap"), more);
}

#[test]
fn both_versions_of_helm_render_the_same() {
    let enabled = json!({"enabled": true});
    for values in [
        json!({}),
        json!({"mode": "shadow"}),
        json!({
            "config": {"Generic": {}}, "dashboard": enabled, "podMonitor": enabled, "prometheusRule": enabled, "pods": 300_000,
            "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}],
        }),
    ] {
        assert_eq!(template_of("helm3", SYSTEM, &values), template_of("helm", SYSTEM, &values), "{values}");
    }
}
