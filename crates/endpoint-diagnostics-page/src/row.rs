//! A Service in the list.

use std::collections::BTreeMap;

use endpoint_diagnostics::report::Counts;
use endpoint_diagnostics::traffic::Traffic;
use endpoint_diagnostics::{EndpointCounts, PodReport, Presence, ServiceReport, Verdict};
use jiff::Timestamp;
use serde::Serialize;

use crate::trend::Trend;

/// A Service in the list: its report without lists of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The verdict of the report.
    pub verdict: Verdict,
    /// Numbers of pods.
    pub counts: Counts,
    /// Pods that should be ready, or endpoints of a Service without a selector.
    pub expected: usize,
    /// Pods that slices keep ready as they were before a disruption.
    pub kept: usize,
    /// The endpoints of the slices, also those that are not pods.
    pub traffic: EndpointCounts,
    /// The code of the first reason, a note only if there is no other; empty if there is none.
    pub code: &'static str,
    /// The reasons in one line: that of the Service, else those of its pods by number, else a note; empty if there are none.
    pub summary: String,
    /// The time of the newest change that was seen, in milliseconds since the epoch; 0 if none was.
    pub changed: i64,
    /// The endpoints over the last quarter of an hour.
    pub trend: Trend,
}

impl Row {
    /// The row of a report, without a trend. `changed` is the time of the newest change that was seen.
    pub fn of(report: &ServiceReport, traffic: EndpointCounts, changed: Option<Timestamp>) -> Self {
        Self {
            namespace: report.namespace.clone(),
            name: report.name.clone(),
            verdict: report.verdict,
            counts: report.counts,
            expected: Traffic::of(report).map_or(0, |traffic| traffic.of),
            kept: report.pods.iter().filter(|pod| has(pod, KEPT_READY)).count(),
            traffic,
            code: code(report),
            summary: summary(report),
            changed: changed.map_or(0, Timestamp::as_millisecond),
            trend: Trend::default(),
        }
    }
}

/// The code of pods that the gate `EndpointsKeepReadyOnDisruption` keeps ready.
const KEPT_READY: &str = "kept-ready";

fn has(pod: &PodReport, code: &str) -> bool {
    pod.reasons.iter().any(|reason| reason.code == code)
}

/// The code of the first reason, of the Service or of a pod that decides, else of a note.
fn code(report: &ServiceReport) -> &'static str {
    let of_pods = || deciding(report).iter().find_map(|pod| pod.reasons.first());
    report.cause().or_else(of_pods).or(report.reasons.first()).map_or("", |reason| reason.code)
}

/// The message of the first reason of the Service, else the reasons of its pods, else the message of a note.
fn summary(report: &ServiceReport) -> String {
    let of_service = || report.cause().map(|reason| reason.message.clone());
    let of_pods = || Some(of_pods(report)).filter(|text| !text.is_empty());
    let note = || report.reasons.first().map(|reason| reason.message.clone());
    of_service().or_else(of_pods).or_else(note).unwrap_or_default()
}

/// The code of pods that the Service doesn't select, by one label: no news unless it selects none at all.
const LABEL_DIFFERS: &str = "label-differs";

/// The pods that decide about the verdict, or those that are not ready.
fn deciding(report: &ServiceReport) -> Vec<&PodReport> {
    let is_present = |presence| matches!(presence, Presence::Ready | Presence::NotApplicable);
    let is_missed = |pod: &PodReport| pod.reasons.first().is_some_and(|reason| reason.code == LABEL_DIFFERS);
    let decides = |pod: &&PodReport| match report.verdict {
        Verdict::Ok if report.counts.pods > 0 && is_missed(pod) => false,
        Verdict::Ok => !is_present(pod.slices) || !is_present(pod.endpoints) || pod.without_ports,
        verdict => pod.verdict == verdict,
    };
    report.pods.iter().filter(decides).collect()
}

/// The reasons of these pods.
fn of_pods(report: &ServiceReport) -> String {
    let pods = deciding(report);
    if let [pod] = pods.as_slice() {
        return pod.reasons.first().map(|reason| reason.message.clone()).unwrap_or_default();
    }
    let mut codes = BTreeMap::<&str, usize>::new();
    for reason in pods.iter().filter_map(|pod| pod.reasons.first()) {
        *codes.entry(reason.code).or_default() += 1;
    }
    let mut codes: Vec<(&str, usize)> = codes.into_iter().collect();
    codes.sort_by_key(|(_, pods)| std::cmp::Reverse(*pods));
    let parts =
        codes.iter().map(|(code, pods)| format!("{pods} {} {code}", if *pods == 1 { "pod" } else { "pods" }));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use endpoint_diagnostics::Reason;
    use endpoint_diagnostics::report::Scope;

    use super::*;

    fn reason(code: &'static str) -> Reason {
        Reason { code, message: format!("because of {code}"), remedy: None, scope: Scope::Both }
    }

    fn pod(verdict: Verdict, slices: Presence, code: &'static str) -> PodReport {
        PodReport {
            name: "web".to_owned(),
            slices,
            endpoints: slices,
            verdict,
            reasons: vec![reason(code)],
            ..PodReport::default()
        }
    }

    fn report(
        verdict: Verdict,
        selected: usize,
        reasons: Vec<Reason>,
        pods: Vec<PodReport>,
    ) -> ServiceReport {
        ServiceReport {
            verdict,
            has_cluster_ip: true,
            counts: Counts { pods: selected, ..Counts::default() },
            reasons,
            pods,
            ..ServiceReport::default()
        }
    }

    fn summary(verdict: Verdict, selected: usize, reasons: Vec<Reason>, pods: Vec<PodReport>) -> String {
        Row::of(&report(verdict, selected, reasons, pods), EndpointCounts::default(), None).summary
    }

    #[test]
    fn the_reasons_of_the_service_come_first() {
        let pods = vec![pod(Verdict::Wrong, Presence::Absent, "outdated")];
        assert_eq!(summary(Verdict::Wrong, 1, vec![reason("delegated")], pods), "because of delegated");
        assert_eq!(summary(Verdict::Ok, 0, vec![], vec![]), "");
    }

    #[test]
    fn a_note_stands_behind_the_reasons_of_pods() {
        let row = |pods| {
            let reasons = vec![reason("endpoints-not-kept")];
            let row = Row::of(&report(Verdict::Ok, 1, reasons, pods), EndpointCounts::default(), None);
            (row.code, row.summary)
        };
        let failing = vec![pod(Verdict::Ok, Presence::NotReady, "readiness-probe")];
        assert_eq!(row(failing), ("readiness-probe", "because of readiness-probe".to_owned()));
        let ready = vec![pod(Verdict::Ok, Presence::Ready, "published-unready")];
        assert_eq!(row(ready), ("endpoints-not-kept", "because of endpoints-not-kept".to_owned()));
    }

    #[test]
    fn one_pod_has_its_message_and_several_are_counted() {
        let not_ready = || pod(Verdict::Ok, Presence::NotReady, "not-ready");
        let ready = || pod(Verdict::Ok, Presence::Ready, "note");
        assert_eq!(summary(Verdict::Ok, 2, vec![], vec![ready(), not_ready()]), "because of not-ready");
        let pods = vec![pod(Verdict::Ok, Presence::Absent, "terminal"), not_ready(), not_ready(), ready()];
        assert_eq!(summary(Verdict::Ok, 4, vec![], pods), "2 pods not-ready, 1 pod terminal");
    }

    #[test]
    fn the_pods_behind_the_verdict_count() {
        let pods = vec![
            pod(Verdict::Ok, Presence::NotReady, "not-ready"),
            pod(Verdict::Wrong, Presence::Absent, "outdated"),
        ];
        assert_eq!(summary(Verdict::Wrong, 2, vec![], pods), "because of outdated");
    }

    #[test]
    fn kept_pods_are_counted() {
        let pods =
            ["kept-ready", "not-ready", "kept-ready"].map(|code| pod(Verdict::Ok, Presence::Ready, code));
        let mut report = report(Verdict::Ok, 3, vec![], pods.into());
        assert_eq!(Row::of(&report, EndpointCounts::default(), None).kept, 2);
        report.pods.clear();
        assert_eq!(Row::of(&report, EndpointCounts::default(), None).kept, 0);
    }

    #[test]
    fn pods_that_the_selector_misses_are_news_if_it_selects_none() {
        let pods = || vec![pod(Verdict::Ok, Presence::Absent, LABEL_DIFFERS)];
        assert_eq!(summary(Verdict::Ok, 1, vec![], pods()), "");
        assert_eq!(summary(Verdict::Ok, 0, vec![], pods()), "because of label-differs");
    }
}
