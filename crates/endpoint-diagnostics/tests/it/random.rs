//! Reports about random clusters: what the controllers wrote is right, and everything has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use endpoint_diagnostics::explain_all;
use endpoint_diagnostics::report::{PodReport, Presence, ServiceReport, Verdict};
use expected_objects::{Named, Objects};
use jiff::Timestamp;
use proptest::prelude::*;
use random_operations::Generator;
use serde_json::Value;

use crate::cluster::Cluster;

/// Reasons of a Service for the absence of all its pods.
const OF_ALL_PODS: [&str; 3] = ["no-ports", "external-name", "no-selector"];

/// Long after all changes.
fn later() -> Timestamp {
    "2001-01-02T00:00:00Z".parse().unwrap()
}

fn steps(cluster: &mut Cluster, generator: &mut Generator, count: usize) {
    for _ in 0..count {
        cluster.apply(&generator.step().operation);
    }
}

fn pods(reports: &[ServiceReport]) -> impl Iterator<Item = (&ServiceReport, &PodReport)> {
    reports.iter().flat_map(|report| report.pods.iter().map(move |pod| (report, pod)))
}

/// The codes of a Service and its pods that must never occur.
fn unexplained(reports: &[ServiceReport]) -> Vec<String> {
    let all = pods(reports)
        .flat_map(|(report, pod)| pod.reasons.iter().map(move |reason| (&report.name, &pod.name, reason)));
    all.filter(|(.., reason)| reason.code == "unexplained").map(|found| format!("{found:?}")).collect()
}

/// The pods that slices and Endpoints of a Service should have by the oracle, with the readiness.
fn by_oracle(lines: &BTreeSet<String>, of: &str, pod: &str) -> Option<bool> {
    let of_pod = |line: &&String| line.split(' ').any(|word| word == format!("{of}={pod}"));
    let ready = |line: &String| line.contains("ready=true") || line.split(' ').nth(1) == Some("true");
    let mut found = lines.iter().filter(of_pod).map(ready).peekable();
    found.peek()?;
    Some(found.any(|ready| ready))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// After each sync all is as it should be, and each pod is where another implementation of the rules expects it.
    #[test]
    fn settled_clusters_are_in_order(seed: u64, custom_endpoints: bool) {
        let mut generator = Generator::new(seed, true, custom_endpoints, true);
        let mut cluster = Cluster::new();
        for _ in 0..6 {
            steps(&mut cluster, &mut generator, 25);
            cluster.settle();
            let reports = explain_all(&cluster.snapshot(later()));
            prop_assert_eq!(unexplained(&reports), Vec::<String>::new());
            let named = |objects: &BTreeMap<String, Value>| -> Named {
                objects.iter().map(|(name, object)| (name.clone(), Arc::new(object.clone()))).collect()
            };
            let objects = Objects {
                services: named(&cluster.services),
                pods: named(&cluster.pods),
                nodes: named(&cluster.nodes),
                ..Objects::default()
            };
            for report in &reports {
                prop_assert_eq!(report.verdict, Verdict::Ok, "{:#?}", report);
                if !objects.is_kept(&report.name) {
                    continue;
                }
                let service = &objects.services[&report.name];
                let lines = [objects.slice_lines(&report.name, service), objects.endpoints_lines(service)];
                for pod in &report.pods {
                    for (presence, lines, of) in [(pod.slices, &lines[0], "pod"), (pod.endpoints, &lines[1], "of")] {
                        let expected = by_oracle(lines, of, &pod.name);
                        let found = (presence != Presence::Absent).then_some(presence == Presence::Ready);
                        prop_assert_eq!(found, expected, "{} {:#?} {:?}", report.name, pod, lines);
                    }
                }
            }
        }
    }

    /// A state in which controllers are behind is explained too: by lag at first, and as wrong later.
    #[test]
    fn unsettled_clusters_are_explained(seed: u64, custom_endpoints: bool) {
        let mut generator = Generator::new(seed, true, custom_endpoints, true);
        let mut cluster = Cluster::new();
        for _ in 0..6 {
            steps(&mut cluster, &mut generator, 20);
            cluster.settle();
            steps(&mut cluster, &mut generator, 6);
            let reports = explain_all(&cluster.snapshot(later()));
            prop_assert_eq!(unexplained(&reports), Vec::<String>::new());
            for (report, pod) in pods(&reports) {
                prop_assert!(pod.verdict != Verdict::Lagging, "{:#?}", pod);
                let is_ready = pod.slices == Presence::Ready && pod.endpoints == Presence::Ready;
                let of_service = report.reasons.iter().any(|reason| OF_ALL_PODS.contains(&reason.code));
                prop_assert!(is_ready || !pod.reasons.is_empty() || of_service, "no reason for {:?} {:#?}", report.reasons, pod);
            }
        }
    }
}
