//! `--wait`: until Services are in a state.

use std::time::Duration;

use endpoint_diagnostics::report::{PodReport, Presence};
use endpoint_diagnostics::traffic::is_wanted;
use endpoint_diagnostics::{ServiceReport, Traffic};
use kube_api::time::{Instant, sleep, timeout_at};

use super::command::{Explanation, State, Wait};
use super::select::select;
use crate::cluster::Cluster;
use crate::exit::Failure;

/// The pause between two looks at the cluster.
const PERIOD: Duration = Duration::from_secs(1);

/// Reads the cluster again and again, until all Services are in the state. A Service that does not exist yet is waited for, and so
/// is an API server that answered before.
///
/// # Errors
/// A line about the Service that is farthest from the state, or about a silent API server, once the time is over; about one
/// that never has endpoints; or about a cluster that cannot be read.
pub(super) async fn wait(
    explanation: &Explanation,
    cluster: &Cluster,
    wait: Wait,
) -> Result<Vec<ServiceReport>, Failure> {
    let deadline = Instant::now() + wait.timeout;
    let mut last = None;
    loop {
        // The last look begins at the deadline.
        let snapshot = match timeout_at(deadline + PERIOD, cluster.read()).await {
            Err(_) => break,
            Ok(Err(_)) if last.is_some() && Instant::now() < deadline => {
                sleep(PERIOD).await;
                continue;
            }
            Ok(read) => read?,
        };
        let found = select(explanation, &snapshot, cluster.namespace.as_deref(), &cluster.server);
        let open = match &found {
            Ok(reports) => {
                reports.iter().find_map(refusal).map_or(Ok(()), Err)?;
                reports.iter().find_map(|report| missing(report, wait.state))
            }
            Err(failure) => Some(failure.line()),
        };
        if open.is_none() {
            return found;
        }
        last = open;
        if Instant::now() >= deadline {
            break;
        }
        sleep(PERIOD.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
    let open = last.unwrap_or_else(|| format!("{} has not answered", cluster.server));
    Err(Failure::Timeout(format!("{open}, after {} s of waiting", wait.timeout.as_secs())))
}

/// The reason not to wait for a Service.
fn refusal(ServiceReport { namespace, name, reasons, .. }: &ServiceReport) -> Option<Failure> {
    let reason = reasons.iter().find(|reason| reason.code == "external-name")?;
    Some(Failure::Input(format!("cannot wait for {namespace}/{name}: {}", reason.message)))
}

/// The state that a Service still misses.
fn missing(report: &ServiceReport, state: State) -> Option<String> {
    let key = format!("{}/{}", report.namespace, report.name);
    if report.is_custom() {
        let (ready, of) = Traffic::of(report).map_or((0, 0), |traffic| (traffic.ready, traffic.of));
        let wanted = match state {
            State::AtLeast(count) => count,
            State::Ready => of.max(1),
        };
        return (ready < wanted).then(|| format!("{key} has {ready} of {wanted} endpoints ready in slices"));
    }
    let has = |pod: &PodReport, code: &str| pod.reasons.iter().any(|reason| reason.code == code);
    let is_ready = |pod: &&PodReport| {
        // Endpoints have no more than 1,000 addresses.
        let in_endpoints =
            matches!(pod.endpoints, Presence::Ready | Presence::NotApplicable) || has(pod, "cut-at-capacity");
        // Objects that lag may have a pod that ends as ready, or an earlier one of its name.
        let is_current = is_wanted(pod) && !has(pod, "pod-replaced");
        pod.slices == Presence::Ready && !pod.without_ports && in_endpoints && is_current
    };
    let ready = report.pods.iter().filter(is_ready).count();
    let wanted = match state {
        State::AtLeast(count) => count,
        State::Ready => report.pods.iter().filter(|pod| is_wanted(pod)).count().max(1),
    };
    let difference = report.pods.iter().filter(|pod| !is_ready(pod) && is_wanted(pod)).find_map(|pod| {
        let reason = pod.reasons.first()?;
        Some(format!(" ({}: {})", pod.name, reason.message))
    });
    (ready < wanted).then(|| {
        format!(
            "{key} has {ready} of {wanted} pods ready in slices and Endpoints{}",
            difference.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use endpoint_diagnostics::report::{Reason, Scope, SliceReport};
    use endpoint_diagnostics::snapshot::Kind;
    use http::Method;
    use scripted_api::script::{Answer, Script, Step};

    use super::super::command;
    use super::*;
    use crate::live::Resource;

    fn pod(name: &str, presence: Presence, code: Option<&'static str>) -> PodReport {
        let reason = |code| Reason { code, message: "because".to_owned(), remedy: None, scope: Scope::Both };
        PodReport {
            name: name.to_owned(),
            slices: presence,
            endpoints: presence,
            reasons: code.map(reason).into_iter().collect(),
            ..PodReport::default()
        }
    }

    fn service(pods: Vec<PodReport>) -> ServiceReport {
        ServiceReport {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            has_cluster_ip: true,
            pods,
            ..ServiceReport::default()
        }
    }

    #[test]
    fn pods_that_end_are_not_waited_for() {
        let pods = vec![
            pod("a", Presence::Ready, None),
            pod("b", Presence::Serving, Some("terminating")),
            pod("c", Presence::Absent, Some("succeeded")),
            pod("d", Presence::Absent, Some("label-differs")),
        ];
        let cut =
            PodReport { endpoints: Presence::Absent, ..pod("e", Presence::Ready, Some("cut-at-capacity")) };
        let many = [pods.clone(), vec![cut]].concat();
        assert_eq!(missing(&service(many), State::AtLeast(2)), None, "the Endpoints are full");
        assert_eq!(missing(&service(pods.clone()), State::Ready), None);
        assert_eq!(missing(&service(pods.clone()), State::AtLeast(1)), None);
        assert!(missing(&service(pods), State::AtLeast(2)).is_some());
    }

    #[test]
    fn entries_of_pods_that_end_or_are_replaced_do_not_count() {
        let unready = || pod("b", Presence::NotReady, Some("readiness-probe"));
        for code in ["terminating", "succeeded", "pod-gone", "not-selected"] {
            let report = service(vec![pod("a", Presence::Ready, Some(code)), unready()]);
            assert!(missing(&report, State::Ready).is_some(), "{code}");
            assert!(missing(&report, State::AtLeast(1)).is_some(), "{code}");
        }
        let replaced = service(vec![pod("a", Presence::Ready, Some("pod-replaced"))]);
        let open = missing(&replaced, State::Ready).unwrap();
        assert_eq!(open, "shop/web has 0 of 1 pods ready in slices and Endpoints (a: because)");
    }

    #[test]
    fn without_a_selector_endpoints_are_waited_for() {
        let reason = |code| Reason { code, message: "because".to_owned(), remedy: None, scope: Scope::Both };
        let slice = SliceReport {
            address_type: "IPv4".to_owned(),
            ports: vec!["http:80/TCP".to_owned()],
            endpoints: 3,
            ready: 2,
            is_used: true,
            ..SliceReport::default()
        };
        let custom =
            ServiceReport { reasons: vec![reason("no-selector")], slices: vec![slice], ..service(vec![]) };
        assert_eq!(missing(&custom, State::AtLeast(2)), None);
        let open = missing(&custom, State::Ready).unwrap();
        assert_eq!(open, "shop/web has 2 of 3 endpoints ready in slices");
        assert!(refusal(&custom).is_none());
        let alias = ServiceReport { reasons: vec![reason("external-name")], ..service(vec![]) };
        let failure = Failure::Input("cannot wait for shop/web: because".to_owned());
        assert_eq!(refusal(&alias), Some(failure));
    }

    #[test]
    fn the_missing_pods_are_named() {
        let open =
            missing(&service(vec![pod("a", Presence::NotReady, Some("readiness-probe"))]), State::Ready);
        assert_eq!(open.unwrap(), "shop/web has 0 of 1 pods ready in slices and Endpoints (a: because)");
        assert!(missing(&service(vec![]), State::Ready).is_some());
        assert_eq!(missing(&service(vec![]), State::AtLeast(0)), None);
    }

    fn list(code: u16, items: &str) -> Answer {
        let body = format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{items}]}}"#);
        Answer::new(code, "application/json", body)
    }

    /// Waits for a minute for the Service `web` of a server with these answers to lists of Services, one a look.
    async fn waited(services: impl IntoIterator<Item = Answer>) -> Result<Vec<ServiceReport>, Failure> {
        let steps = services.into_iter().flat_map(|answer| {
            let mut services = Some(answer);
            Kind::ALWAYS.map(|kind| {
                let answer = services.take_if(|_| kind == Kind::Services).unwrap_or_else(|| list(200, ""));
                let path = Resource { kind, namespace: Some("shop".to_owned()) }.path();
                Step::new(Method::GET, &path, answer)
            })
        });
        let script = Script::new(steps);
        let cluster =
            Cluster::new(script.client(), "https://api".to_owned(), Some("shop".to_owned()), "test");
        let Ok(explanation) = command::parse(&["web".into()]) else { panic!("refused") };
        let found =
            wait(&explanation, &cluster, Wait { state: State::AtLeast(0), timeout: Duration::from_secs(60) })
                .await;
        script.check();
        found
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_answered_before_is_waited_for() {
        let service =
            r#"{"metadata": {"namespace": "shop", "name": "web"}, "spec": {"selector": {"app": "web"}}}"#;
        let found = waited([list(200, ""), list(500, ""), list(200, service)]).await;
        assert_eq!(found.unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_api_server_does_not_delay_the_end() {
        let start = Instant::now();
        let found = waited([list(200, ""), Answer::never(), Answer::never()]).await;
        assert_eq!(start.elapsed(), Duration::from_secs(60) + PERIOD);
        let Err(Failure::Timeout(line)) = found else { panic!("{found:?}") };
        assert!(line.contains("no Service web") && line.ends_with(", after 60 s of waiting"), "{line}");
    }
}
