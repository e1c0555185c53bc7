//! `values.schema.json` refuses wrong values, and the error names them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::manifests::file;
use super::{chart, helm};

/// A wrong value, and the path by which the error names it.
fn wrong() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"mode": "compare"}), "/mode"),
        (json!({"pods": "many"}), "/pods"),
        (json!({"extraEnv": [{"value": "x"}]}), "/extraEnv/0"),
        (json!({"extraVolumeMounts": [{"name": "x"}]}), "/extraVolumeMounts/0"),
        (
            json!({"podLabels": {"app.kubernetes.io/name": "other"}}),
            "invalid propertyName 'app.kubernetes.io/name'",
        ),
        (json!({"commonLabels": {"team": 1}}), "/commonLabels/team"),
        (json!({"probes": {"liveness": {"path": "/"}}}), "/probes/liveness"),
        (json!({"serviceAccount": {"name": "Mine"}}), "/serviceAccount/name"),
        (json!({"dashboard": {"labels": {"grafana_dashboard": 1}}}), "/dashboard/labels/grafana_dashboard"),
        (json!({"extraObjects": [{"kind": "ConfigMap"}]}), "/extraObjects/0"),
        (json!({"replica": 2}), "additional properties 'replica'"),
        (json!({"image": {"name": "ecm"}}), "/image"),
        (json!({"image": {"repository": "https://registry.example/ecm"}}), "/image/repository"),
        (json!({"image": {"tag": "v1:2"}}), "/image/tag"),
        (json!({"image": {"tag": 0.1}}), "/image/tag"),
        (json!({"image": {"digest": "sha256:abc"}}), "/image/digest"),
        (json!({"image": {"pullPolicy": "IfNotPresnt"}}), "/image/pullPolicy"),
        (json!({"imagePullSecrets": ["registry"]}), "/imagePullSecrets/0"),
        (json!({"controllers": []}), "/controllers"),
        (json!({"controllers": ["endpoint-slice-controller"]}), "/controllers/0"),
        (json!({"controllers": ["endpoints-controller", "endpoints-controller"]}), "/controllers"),
        (json!({"controllers": "endpoints-controller"}), "/controllers"),
        (json!({"featureGates": {"AllAlpha": "true"}}), "/featureGates/AllAlpha"),
        (json!({"featureGates": {"allAlpha=true,": true}}), "invalid propertyName 'allAlpha=true,'"),
        (json!({"takeoverMaxWrites": -1}), "/takeoverMaxWrites"),
        (json!({"takeoverMaxWrites": "0"}), "/takeoverMaxWrites"),
        (json!({"verbosity": 11}), "/verbosity"),
        (json!({"extraArgs": ["kube-api-qps=50"]}), "/extraArgs/0"),
        (json!({"extraArgs": {"kube-api-qps": 50}}), "/extraArgs"),
        (json!({"extraArgs": ["--leader-elect=false"]}), "/extraArgs/0"),
        (json!({"extraArgs": ["--leader-elect-resource-name=mine"]}), "/extraArgs/0"),
        (json!({"extraArgs": ["--secure-port=0"]}), "/extraArgs/0"),
        (json!({"replicas": -1}), "/replicas"),
        (json!({"replicas": 1.5}), "/replicas"),
        (json!({"replicas": "2"}), "/replicas"),
        (json!({"resources": {"request": {"cpu": "1"}}}), "/resources"),
        (json!({"resources": {"requests": {"memory": "64MB"}}}), "/resources/requests/memory"),
        (json!({"tolerations": [{"operator": "Exist"}]}), "/tolerations/0/operator"),
        (json!({"nodeSelector": {"node": true}}), "/nodeSelector/node"),
        (json!({"podDisruptionBudget": false}), "/podDisruptionBudget"),
        (json!({"lease": {"hold": "yes"}}), "/lease/hold"),
        (json!({"preflight": true}), "/preflight"),
        (json!({"preflight": {"activeDeadlineSeconds": 0}}), "/preflight/activeDeadlineSeconds"),
        (json!({"preflight": {"resources": {"request": {}}}}), "/preflight/resources"),
        (json!({"page": true}), "/page"),
        (json!({"page": {"enabled": "yes"}}), "/page/enabled"),
        (json!({"podNetworks": {"replicas": -1}}), "/podNetworks/replicas"),
        (json!({"builtInControllersDisabled": "yes"}), "/builtInControllersDisabled"),
        (json!({"flowSchemas": {"enabled": "false"}}), "/flowSchemas/enabled"),
        (
            json!({"networkPolicy": {"enabled": true, "apiServerPorts": [0]}}),
            "/networkPolicy/apiServerPorts/0",
        ),
        (json!({"networkPolicy": {"prometheusNamespace": "a.b"}}), "/networkPolicy/prometheusNamespace"),
        (json!({"servingCertificate": {"secretName": "Serving"}}), "/servingCertificate/secretName"),
        (json!({"serviceMonitor": {"enable": true}}), "/serviceMonitor"),
        (json!({"podMonitor": {"labels": {"release": 1}}}), "/podMonitor/labels/release"),
        (json!({"prometheusRule": {"enabled": "yes"}}), "/prometheusRule/enabled"),
        (json!({"prometheusRule": {"runbookBaseUrl": "wiki"}}), "/prometheusRule/runbookBaseUrl"),
        (
            json!({"config": {"Generic": {"LeaderElection": {"resourceName": "other"}}}}),
            "config.Generic.LeaderElection.resourceName",
        ),
        (json!({"config": {"Generic": {"Logging": {"verbosity": 4}}}}), "config.Generic.Logging.verbosity"),
        (json!({"config": {"Generic": {"Controllers": ["*"]}}}), "config.Generic.Controllers"),
    ]
}

/// The program reads fields of `config` that are null as absent.
#[test]
fn fields_of_the_configuration_may_be_null() {
    for config in
        [json!({"Generic": null}), json!({"Generic": {"Logging": {"verbosity": null}, "Debugging": null}})]
    {
        let values = json!({"lease": {"hold": true}, "config": config});
        let output = helm(&["template", "release", chart().to_str().unwrap()], &values);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{values}: {error}");
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    let chart = chart();
    for (values, path) in wrong() {
        let output = helm(&["template", "release", chart.to_str().unwrap()], &values);
        assert!(!output.status.success(), "{values} is accepted");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(path), "{values}: {error}");
    }
}

/// The defaults themselves have exactly the properties of the schema.
#[test]
fn each_value_has_a_default_and_a_description() {
    let schema = std::fs::read_to_string(chart().join("values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    compare("", &schema, &file("chart/values.yaml")[0]);
}

fn compare(path: &str, schema: &Value, default: &Value) {
    if schema["description"].is_string() {
        return;
    }
    let properties = schema["properties"].as_object();
    let properties = properties.unwrap_or_else(|| panic!("{path} has no description"));
    let defaults = default.as_object().unwrap_or_else(|| panic!("{path} has no default"));
    let named: BTreeSet<&String> = properties.keys().filter(|name| *name != "global").collect();
    assert_eq!(named, defaults.keys().collect(), "{path}");
    for name in named {
        compare(&format!("{path}.{name}"), &properties[name], &defaults[name]);
    }
}
