//! `deploy/monitoring`: all forms of the alerts are the same, Prometheus' own tool accepts them and runs their unit tests,
//! each has a runbook, and nothing names a metric that does not exist. `cargo xtask alerts` makes them fire.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::manifests::{file, folder, text};
use crate::metrics::promtool;

/// The alerts of the plain rules file.
fn alerts() -> Vec<Value> {
    let groups = file("monitoring/alerts.yaml").remove(0);
    let groups = groups["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap()).cloned().collect()
}

fn names(values: &[Value], field: &str) -> BTreeSet<String> {
    values.iter().map(|value| value[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn prometheus_accepts_the_alerts_and_runs_their_tests() {
    let path = |file: &str| folder().join("monitoring").join(file).display().to_string();
    for (command, file) in [
        ("check", "alerts.yaml"),
        ("test", "tests.yaml"),
        ("check", "slos.yaml"),
        ("test", "slos-tests.yaml"),
    ] {
        promtool::rules(command, &path(file));
    }
    let tests = file("monitoring/tests.yaml").remove(0);
    let tests = names(tests["tests"].as_array().unwrap(), "name");
    let alerts = names(&alerts(), "alert");
    let expected = alerts.iter().flat_map(|alert| {
        let name = alert.strip_prefix("EndpointControllerManager").unwrap();
        ["fires", "does not fire"].map(|what| format!("{name} {what}"))
    });
    let missing: Vec<String> = expected.filter(|name| !tests.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A range that is shorter than the time between two events resets `for`: a key that fails is retried after up to 1,000 s. So
/// what lasts is a gauge. Foreign writes are events, and one of them is to be no alert. The ranges of `NoLeader` and Held are
/// memories of the last leader, which no event resets.
#[test]
fn no_alert_waits_for_a_range() {
    let alerts = alerts();
    let waits = |alert: &&Value| alert.get("for").is_some() && text(alert, "/expr").contains('[');
    let both: Vec<&str> = alerts.iter().filter(waits).map(|alert| text(alert, "/alert")).collect();
    let expected =
        ["NoLeader", "Held", "ForeignWrites"].map(|name| format!("EndpointControllerManager{name}"));
    assert_eq!(both, expected);
}

#[test]
fn all_forms_of_the_alerts_are_the_same() {
    let rule = file("overlays/monitoring/rules.yaml").remove(0);
    assert_eq!(
        (text(&rule, "/apiVersion"), text(&rule, "/kind")),
        ("monitoring.coreos.com/v1", "PrometheusRule")
    );
    let alerts = file("monitoring/alerts.yaml").remove(0);
    assert_eq!(rule["spec"], alerts);
    assert_eq!(file("chart/files/alerts.yaml").remove(0), alerts);
}

#[test]
fn each_alert_has_a_runbook() {
    let docs = folder().parent().unwrap().join("docs/runbooks");
    let map = fs::read_to_string(docs.join("README.md")).unwrap();
    let mut pages = BTreeSet::new();
    for alert in &alerts() {
        let (name, url) = (text(alert, "/alert"), text(alert, "/annotations/runbook_url"));
        // Until the repository has a public address, a link would lead to a name that anybody may take.
        assert_eq!(url, format!("docs/runbooks/{name}.md"));
        let severity = text(alert, "/labels/severity");
        let row = map.lines().find(|line| line.starts_with(&format!("| {severity} |")));
        assert!(row.is_some_and(|row| row.contains(&format!("({name}.md)"))), "{name} is not in the map");
        let page = fs::read_to_string(docs.join(format!("{name}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {name}\n")) && page.contains("```sh\n"), "{name}");
        // That is the log of one replica, which may not be the leader. A comparison has one.
        let of_one = page.split("logs deployment/").skip(1);
        assert!(of_one.clone().all(|it| it.starts_with("endpoint-controller-manager-shadow")), "{name}");
        pages.insert(format!("{name}.md"));
    }
    let found = fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.filter(|name| name != "README.md").collect::<BTreeSet<_>>(), pages);
}

/// The words of an expression that could be names of metrics: with an underscore, and not labels.
fn metrics_in(expression: &str) -> impl Iterator<Item = &str> {
    /// Functions.
    const OTHERS: [&str; 3] = ["histogram_quantile", "max_over_time", "rate_interval"];
    let words = expression.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    words.filter(|word| word.contains('_') && !word.starts_with('_') && !OTHERS.contains(word))
}

/// Metrics that the program of docs/reference/metrics.md does not have.
const OF_OTHERS: [&str; 3] = [
    // Of kube-state-metrics.
    "kube_deployment_spec_replicas",
    // Of kube-proxy.
    "kubeproxy_network_programming_duration_seconds",
    // Of CoreDNS.
    "coredns_kubernetes_dns_programming_duration_seconds",
];

#[test]
fn alerts_and_dashboard_name_metrics_that_exist() {
    let documented =
        fs::read_to_string(folder().parent().unwrap().join("docs/reference/metrics.md")).unwrap();
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(folder().join("monitoring/dashboard.json")).unwrap())
            .unwrap();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| text(target, "/expr").to_owned());
    let expressions: Vec<String> =
        alerts().iter().map(|alert| text(alert, "/expr").to_owned()).chain(queries).collect();
    let mut names = BTreeSet::new();
    for expression in &expressions {
        // Without the braces, in which labels and their values are.
        let outside = expression.split('{').map(|part| part.rsplit('}').next().unwrap()).collect::<String>();
        names
            .extend(metrics_in(&outside).map(|name| name.strip_suffix("_bucket").unwrap_or(name).to_owned()));
    }
    assert!(names.len() > 20, "{names:?}");
    names.retain(|name| !OF_OTHERS.contains(&name.as_str()));
    let documented: BTreeSet<&str> =
        documented.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let missing: Vec<&String> = names.iter().filter(|name| !documented.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "not in docs/reference/metrics.md: {missing:?}");
}
