//! Each rule of the audit: clusters in which it finds something, or nothing, and how that is repaired.

mod dns;
mod proxy;
mod repairs;

use std::collections::BTreeMap;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::{Audit, Finding, Options, Severity, audit};
use endpoint_diagnostics::snapshot::Kind;
use endpointslice::well_known::HEADLESS;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{Changes, Cluster, kinds, merge};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// A cluster in which nothing is wrong.
    cluster: Changes,
    /// By what they show.
    cases: BTreeMap<String, Vec<Case>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Case {
    given: Changes,
    change: Changes,
    unreadable: Vec<String>,
    max_endpoints_per_slice: Option<usize>,
    finds: Vec<String>,
    skips: Vec<String>,
    /// Not looked at without it.
    repairs: Option<Vec<String>>,
}

fn file() -> File {
    serde_yaml::from_str(include_str!("findings.yaml")).unwrap()
}

/// The cluster in which nothing is wrong.
fn healthy() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.change_all(&file().cluster);
    cluster
}

/// Adds a copy of the slice `web-a` with this name and merge patch.
fn add_slice(cluster: &mut Cluster, name: &str, patch: &Value) {
    let slice = cluster.slices["web-a"].clone();
    cluster.slices.insert(name.to_owned(), slice);
    cluster.change("slices", name, &json!({"metadata": {"name": name, "uid": format!("uid-{name}")}}));
    cluster.change("slices", name, patch);
}

fn snapshot(cluster: &Cluster, unreadable: &[Kind]) -> Snapshot {
    cluster.snapshot_without("2026-06-01T00:00:00Z".parse().unwrap(), unreadable)
}

/// The findings of all rules.
fn all(cluster: &Cluster) -> Audit {
    audit(&snapshot(cluster, &[]), &Options::default())
}

fn findings(cluster: &Cluster) -> Vec<Finding> {
    all(cluster).without_explained().findings
}

/// Findings as `rule severity Kind name`.
fn lines(findings: &[Finding]) -> Vec<String> {
    let line = |Finding { rule, severity, object, .. }: &Finding| {
        format!("{rule} {} {} {}", severity.name(), object.kind.name(), object.name)
    };
    findings.iter().map(line).collect()
}

fn repairs(findings: &[Finding]) -> Vec<String> {
    findings.iter().filter_map(|finding| finding.repair.as_ref()).map(ToString::to_string).collect()
}

/// The findings in a cluster, if a case expects others.
fn failure(mut cluster: Cluster, case: &Case) -> Option<String> {
    cluster.change_all(&case.given);
    cluster.change_all(&case.change);
    let snapshot = snapshot(&cluster, &kinds(&case.unreadable));
    let options = Options { max_endpoints_per_slice: case.max_endpoints_per_slice, ..Options::default() };
    let Audit { findings, skipped } = audit(&snapshot, &options).without_explained();
    let (found, repairs) = (lines(&findings), repairs(&findings));
    let skipped_rules: Vec<&str> = skipped.iter().map(|it| it.rule).collect();
    let is_as_expected = found == case.finds
        && case.repairs.as_ref().is_none_or(|expected| *expected == repairs)
        && skipped_rules == case.skips
        && skipped.iter().all(|it| it.needs == case.unreadable);
    (!is_as_expected).then(|| format!("{findings:#?} {repairs:?} {skipped:?}"))
}

#[test]
fn each_case_has_its_findings() {
    let (healthy, cases) = (healthy(), file().cases);
    let of_all = cases.iter().flat_map(|(title, cases)| cases.iter().map(move |case| (title, case)));
    let failures: Vec<String> = of_all
        .filter_map(|(title, case)| Some(format!("{title}: {case:?}\n{}", failure(healthy.clone(), case)?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn many_slices_for_few_endpoints_are_worth_knowing() {
    let mut cluster = healthy();
    let mut endpoints = cluster.endpoints["web"].clone();
    for number in 3..9 {
        let (name, ip) = (format!("web-{number}"), format!("10.1.0.{number}"));
        let metadata = json!({"name": name, "uid": format!("uid-{name}")});
        let mut pod = cluster.pods["web-1"].clone();
        merge(&mut pod, &json!({"metadata": metadata, "status": {"podIP": ip, "podIPs": [{"ip": ip}]}}));
        cluster.pods.insert(name.clone(), pod);
        let mut endpoint = cluster.slices["web-a"]["endpoints"][0].clone();
        merge(&mut endpoint, &json!({"addresses": [ip], "targetRef": metadata}));
        add_slice(&mut cluster, &name, &json!({"endpoints": [endpoint]}));
        let addresses = endpoints["subsets"][0]["addresses"].as_array_mut().unwrap();
        let mut address = addresses[0].clone();
        merge(&mut address, &json!({"ip": ip, "targetRef": metadata}));
        addresses.push(address);
    }
    cluster.change("endpoints", "web", &endpoints);
    assert_eq!(lines(&findings(&cluster)), ["half-empty-slices info Service web"]);
}

#[test]
fn endpoints_beyond_a_limit_are_found() {
    let mut cluster = healthy();
    let many = (0..1001).map(|number| json!({"ip": format!("10.8.{}.{}", number / 250, number % 250)}));
    let endpoints = cluster.endpoints.get_mut("db").unwrap();
    endpoints["subsets"][0]["addresses"] = many.collect();
    assert_eq!(
        lines(&findings(&cluster)),
        ["mirror-out-of-sync warning Endpoints db", "truncated-endpoints warning Endpoints db"]
    );
}

#[test]
fn the_state_of_patroni_is_named() {
    let mut cluster = healthy();
    let annotations = json!({"initialize": "6840371529"});
    cluster.change("endpoints", "pg", &json!({"metadata": {"annotations": annotations}}));
    let message = findings(&cluster).remove(0).message;
    assert!(message.contains("Patroni"), "{message}");
}

#[test]
fn a_second_look_confirms_what_is_there_both_times() {
    let (mut first, mut second) = (healthy(), healthy());
    first.change("pods", "web-2", &Value::Null);
    for cluster in [&mut first, &mut second] {
        cluster.change("slices", "db-a", &json!({"metadata": {"ownerReferences": []}}));
    }
    second.change("slices", "web-a", &json!({"metadata": {"labels": {HEADLESS: ""}}}));
    second.change("slices", "db-a", &json!({"metadata": {"resourceVersion": "8"}}));
    let confirmed = all(&second).confirming(&all(&first)).without_explained();
    let [finding] = confirmed.findings.as_slice() else { panic!("{confirmed:?}") };
    assert_eq!(finding.rule, "slice-owner");
    // The repair is of the version seen last.
    assert_eq!(finding.repair.as_ref().map(|repair| &*repair.resource_version), Some("8"));
    assert_eq!(confirmed.gravest(), Some(Severity::Warning));
}

#[test]
fn a_second_look_confirms_no_other_pod_of_the_same_slice() {
    let rules = |first: &Cluster, second: &Cluster| -> Vec<&'static str> {
        let confirmed = all(second).confirming(&all(first));
        confirmed.findings.iter().map(|finding| finding.rule).filter(|rule| *rule == "stale-pod").collect()
    };
    let (mut first, mut second) = (healthy(), healthy());
    first.change("pods", "web-1", &Value::Null);
    second.change("pods", "web-2", &Value::Null);
    assert_eq!(rules(&first, &second), [""; 0]);
    second.change("pods", "web-1", &Value::Null);
    assert_eq!(rules(&first, &second), ["stale-pod"; 2], "one of both is the same");
    // Another one of the name.
    let mut replaced = first.clone();
    let slice = replaced.slices.get_mut("web-a").unwrap();
    slice["endpoints"][0]["targetRef"]["uid"] = "another".into();
    let endpoints = replaced.endpoints.get_mut("web").unwrap();
    endpoints["subsets"][0]["addresses"][0]["targetRef"]["uid"] = "another".into();
    assert_eq!(rules(&first, &replaced), [""; 0]);
}

#[test]
fn a_finding_that_passes_explains_no_other() {
    let (mut first, mut second) = (healthy(), healthy());
    first.change("pods", "web-2", &Value::Null);
    second.slices.get_mut("web-a").unwrap()["endpoints"].as_array_mut().unwrap().pop();
    assert_eq!(findings(&first).len(), 2, "both are stale pods");
    let confirmed = all(&second).confirming(&all(&first)).without_explained();
    assert_eq!(lines(&confirmed.findings), ["slices-out-of-sync warning Service web"]);
}
