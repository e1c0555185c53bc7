//! The traffic that a Service can get. That is another question than the verdict, whether the controllers did their work: a Service
//! without a ready pod is in order, and gets none.
//!
//! The answer is that of the stored slices, because kube-proxy, DNS and meshes read nothing else.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::Endpoint;
use serde::Serialize;

use crate::explain::{codes, entries};
use crate::report::{PodReport, Presence, Reason, ServiceReport, Verdict};

/// The endpoints of a Service that can receive new connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    /// Pods that are ready in the slices and neither gone nor ended, with a port if clients need one; if none is, and of a
    /// Service without a selector, ready endpoints.
    pub ready: usize,
    /// Pods that should be: selected, and neither ended nor being deleted; of a Service without a selector, all endpoints.
    pub of: usize,
    /// Pods that are being deleted and still serve; without a selector, such endpoints. kube-proxy sends connections to them if
    /// nothing is ready; DNS has none of them, so that a headless Service counts none.
    pub serving: usize,
    /// The first reason for which there are fewer than there should be; no note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl Traffic {
    /// The traffic of a Service; none if it gets its connections by another name (`ExternalName`), or if slices are not known.
    pub fn of(report: &ServiceReport) -> Option<Self> {
        let is_alias = report.reasons.iter().any(|reason| reason.code == codes::EXTERNAL_NAME.name);
        let is_unknown = report.verdict == Verdict::Unknown && report.slices.is_empty();
        if is_alias || is_unknown {
            return None;
        }
        let by_pods: Vec<&PodReport> =
            report.pods.iter().filter(|pod| pod.slices != Presence::NotApplicable).collect();
        if report.is_custom() || by_pods.is_empty() && !report.slices.is_empty() {
            return Some(Self::of_slices(report));
        }
        let (dead, alive): (Vec<&PodReport>, Vec<&PodReport>) =
            by_pods.into_iter().partition(|pod| is_dead(pod));
        let in_state = |pod: &PodReport, state: Presence| pod.slices == state && !pod.without_ports;
        let count =
            |pods: &[&PodReport], state: Presence| pods.iter().filter(|pod| in_state(pod, state)).count();
        let ready = count(&alive, Presence::Ready);
        let wanted = || alive.iter().filter(|pod| is_wanted(pod));
        let of_pods = wanted().filter(|pod| !in_state(pod, Presence::Ready)).find_map(|pod| reason(pod));
        let serving = if report.has_cluster_ip { count(&alive, Presence::Serving) } else { 0 };
        // Endpoints of other clusters, or those that users write. Slices that lag count dead pods, too.
        let others = if ready + serving == 0 {
            Self::of_slices(report).ready.saturating_sub(count(&dead, Presence::Ready))
        } else {
            0
        };
        let ready = ready + others;
        // A pod that is on its way out can still be ready in a slice that lags.
        let of = (wanted().count() + others).max(ready);
        let going = alive.iter().filter(|pod| pod.slices == Presence::Serving).find_map(|pod| reason(pod));
        let of_none = report.cause().or(going).filter(|_| ready == 0);
        Some(Self { ready, of, serving, reason: of_pods.or(of_none).cloned() })
    }

    /// Each endpoint counts once, also if it has addresses of both families. It is ready only if connections reach it.
    fn of_slices(report: &ServiceReport) -> Self {
        let mut families: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
        for slice in &report.slices {
            let (ready, serving, of) = families.entry(&slice.address_type).or_default();
            if slice.is_used {
                *ready += slice.ready;
                *serving += if report.has_cluster_ip { slice.serving } else { 0 };
            }
            *of += slice.endpoints;
        }
        let (ready, serving, of) = families.into_values().max().unwrap_or_default();
        let reason = report.cause().filter(|_| ready < of || ready == 0).cloned();
        Self { ready, of, serving, reason }
    }

    /// True if connections have nowhere to go.
    pub fn is_none(&self) -> bool {
        self.ready == 0 && self.serving == 0
    }
}

/// True for an endpoint that consumers of slices use: one without the condition is ready.
pub fn is_ready(endpoint: &Endpoint) -> bool {
    entries::state(endpoint.conditions.as_ref()) == Presence::Ready
}

/// The first reason of a pod that gets no traffic; of one without ports, that for it.
fn reason(pod: &PodReport) -> Option<&Reason> {
    let of_ports = [codes::PORT_UNRESOLVED.name, codes::PORT_OF_OTHER_PROTOCOL.name];
    let is_of_ports = |reason: &&Reason| pod.without_ports && of_ports.contains(&reason.code);
    pod.reasons.iter().find(is_of_ports).or(pod.reasons.first())
}

/// True for a pod that should be ready: selected, and neither ended nor being deleted.
pub fn is_wanted(pod: &PodReport) -> bool {
    !is_dead(pod) && !has_any(pod, &["label-differs", "not-selected", "terminating"])
}

/// True for a pod that accepts no connection, whatever slices that lag say: it does not exist, or has ended.
fn is_dead(pod: &PodReport) -> bool {
    has_any(pod, &["pod-gone", "succeeded", "failed"])
}

fn has_any(pod: &PodReport, of: &[&str]) -> bool {
    pod.reasons.iter().any(|reason| of.contains(&reason.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::CODES;
    use crate::report::{Scope, SliceReport};

    fn reason(code: &'static str) -> Reason {
        assert!(CODES.iter().any(|known| known.name == code), "{code}");
        Reason { code, message: "because".to_owned(), remedy: None, scope: Scope::Both }
    }

    fn pod(slices: Presence, code: Option<&'static str>) -> PodReport {
        PodReport {
            name: "web".to_owned(),
            node: None,
            addresses: vec![],
            slices,
            without_ports: code == Some("port-unresolved"),
            endpoints: slices,
            verdict: Verdict::Ok,
            reasons: code.map(reason).into_iter().collect(),
        }
    }

    fn service(pods: Vec<PodReport>, reasons: Vec<Reason>) -> ServiceReport {
        ServiceReport { has_cluster_ip: true, reasons, pods, ..ServiceReport::default() }
    }

    /// A slice behind a cluster IP.
    fn slice(address_type: &str, ports: &[&str], endpoints: usize, ready: usize) -> SliceReport {
        SliceReport {
            name: "web-a".to_owned(),
            address_type: address_type.to_owned(),
            managed_by: String::new(),
            ports: ports.iter().map(|port| (*port).to_owned()).collect(),
            endpoints,
            ready,
            serving: 0,
            is_used: !ports.is_empty(),
        }
    }

    fn counted(report: &ServiceReport) -> (usize, usize, usize, Option<&'static str>) {
        let Traffic { ready, of, serving, reason } = Traffic::of(report).unwrap();
        (ready, of, serving, reason.map(|reason| reason.code))
    }

    #[test]
    fn pods_on_their_way_out_are_not_wanted() {
        let pods = vec![
            pod(Presence::Ready, None),
            pod(Presence::NotReady, Some("readiness-probe")),
            pod(Presence::Serving, Some("terminating")),
            pod(Presence::Absent, Some("succeeded")),
            pod(Presence::Absent, Some("label-differs")),
        ];
        assert_eq!(counted(&service(pods, vec![])), (1, 2, 1, Some("readiness-probe")));
    }

    #[test]
    fn pods_that_are_gone_or_have_ended_get_no_connection() {
        let slice = || slice("IPv4", &["http:80/TCP"], 1, 1);
        for code in ["pod-gone", "succeeded", "failed"] {
            let mut report = service(vec![pod(Presence::Ready, Some(code))], vec![reason("selects-no-pods")]);
            report.slices = vec![slice()];
            assert_eq!(counted(&report), (0, 0, 0, Some("selects-no-pods")), "{code}");
            assert!(Traffic::of(&report).unwrap().is_none());
            // Of another cluster.
            report.slices.push(slice());
            assert_eq!(counted(&report), (1, 1, 0, None), "{code}");
            report.pods.push(pod(Presence::Ready, None));
            assert_eq!(counted(&report), (1, 1, 0, None), "{code}");
        }
        let report = service(vec![pod(Presence::Serving, Some("pod-gone"))], vec![]);
        assert!(Traffic::of(&report).unwrap().is_none());
    }

    /// kube-proxy falls back to them, and DNS does not.
    #[test]
    fn endpoints_that_terminate_get_the_connections_to_a_cluster_ip() {
        let mut report = service(vec![pod(Presence::Serving, Some("terminating"))], vec![]);
        assert_eq!(counted(&report), (0, 0, 1, Some("terminating")));
        report.has_cluster_ip = false;
        assert_eq!(counted(&report), (0, 0, 0, Some("terminating")));
        let mut report = service(vec![], vec![reason("no-selector")]);
        report.slices = vec![SliceReport { serving: 2, ..slice("IPv4", &["80/TCP"], 2, 0) }];
        report.slices.push(slice("IPv6", &[], 3, 3));
        assert_eq!(counted(&report), (0, 2, 2, Some("no-selector")));
        report.has_cluster_ip = false;
        assert!(Traffic::of(&report).unwrap().is_none());
    }

    #[test]
    fn pods_without_a_port_get_no_connection() {
        let unresolved = || pod(Presence::Ready, Some("port-unresolved"));
        let mut report = service(vec![unresolved(), unresolved()], vec![]);
        report.slices = vec![slice("IPv4", &[], 2, 2)];
        assert_eq!(counted(&report), (0, 2, 0, Some("port-unresolved")));
        assert!(Traffic::of(&report).unwrap().is_none());
        // Another pod has the port.
        report.pods.push(pod(Presence::Ready, None));
        report.slices.push(slice("IPv4", &["grpc:9000/TCP"], 2, 2));
        assert_eq!(counted(&report), (1, 3, 0, Some("port-unresolved")));
    }

    #[test]
    fn without_pods_the_service_says_why() {
        let report = service(vec![], vec![reason("selects-no-pods")]);
        assert_eq!(counted(&report), (0, 0, 0, Some("selects-no-pods")));
        assert!(Traffic::of(&report).unwrap().is_none());
        assert_eq!(Traffic::of(&service(vec![], vec![reason("external-name")])), None);
    }

    #[test]
    fn a_note_is_no_reason_for_missing_traffic() {
        let report = service(vec![], vec![reason("hints-ignored"), reason("selects-no-pods")]);
        assert_eq!(counted(&report), (0, 0, 0, Some("selects-no-pods")));
        let report =
            service(vec![pod(Presence::Absent, Some("label-differs"))], vec![reason("zones-outdated")]);
        assert_eq!(counted(&report), (0, 0, 0, None));
    }

    #[test]
    fn slices_without_pods_count_once_for_both_families() {
        let mut report = service(vec![], vec![reason("no-selector")]);
        report.slices = ["IPv4", "IPv6"].map(|family| slice(family, &["80/TCP"], 2, 2)).to_vec();
        assert_eq!(counted(&report), (2, 2, 0, None));
        report.slices.iter_mut().for_each(|slice| slice.is_used = false);
        assert_eq!(counted(&report), (0, 2, 0, Some("no-selector")));
    }

    #[test]
    fn without_a_selector_pods_are_endpoints_as_others() {
        let mut report =
            service(vec![pod(Presence::Ready, Some("written-by-user"))], vec![reason("no-selector")]);
        report.slices = vec![slice("IPv4", &["http:80/TCP"], 3, 3)];
        assert_eq!(counted(&report), (3, 3, 0, None));
    }

    #[test]
    fn endpoints_that_are_no_pods_get_traffic_if_no_pod_does() {
        let mut report = service(vec![pod(Presence::NotReady, Some("readiness-probe"))], vec![]);
        report.slices = vec![slice("IPv4", &["80/TCP"], 3, 2)];
        assert_eq!(counted(&report), (2, 3, 0, Some("readiness-probe")));
        assert!(!Traffic::of(&report).unwrap().is_none());
    }

    #[test]
    fn what_may_not_be_read_is_not_none() {
        let mut report = service(vec![pod(Presence::Absent, None)], vec![]);
        report.verdict = Verdict::Unknown;
        assert_eq!(Traffic::of(&report), None);
    }
}
