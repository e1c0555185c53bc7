//! Operations on pods.

use serde_json::{Value, json};

use super::Generator;
use crate::operation::{Operation, PodStatus, Readiness};
use crate::rng::Rng;
use crate::services::{self, with};

/// The maximum number of pods at a time.
const MAX_PODS: usize = 26;

const FINALIZER: &str = "tests.example/hold";

#[derive(Debug, Clone)]
pub(super) struct Pod {
    state: State,
    bound: bool,
    finalizer: bool,
    ips: Vec<String>,
    ready: Readiness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    Running,
    /// Failed or succeeded.
    Finished,
    Terminating,
    /// Both finished and terminating.
    FinishedTerminating,
}

impl Pod {
    fn is_terminating(&self) -> bool {
        matches!(self.state, State::Terminating | State::FinishedTerminating)
    }

    /// True if the pod may disappear in one step. The API server marks a pod that it deletes at once as terminating
    /// first, so a serving pod would cause one write or two, by chance.
    fn may_go(&self) -> bool {
        self.is_terminating() || self.state == State::Finished || self.ips.is_empty()
    }
}

impl Generator {
    pub(super) fn create_pod(&mut self) -> Option<Operation> {
        if self.pods.len() >= MAX_PODS {
            return None;
        }
        let rng = &mut self.rng;
        // A stateful pod is created again under its name.
        let name = format!("pod-{}", if rng.percent(60) { self.pods_made } else { rng.below(20) });
        if self.pods.contains_key(&name) {
            return None;
        }
        self.pods_made += 1;
        let bound = rng.percent(85);
        let finalizer = rng.percent(15);
        let mut spec = pod_spec(rng);
        if bound {
            spec["nodeName"] = json!(self.any_node());
        }
        let rng = &mut self.rng;
        if rng.percent(40) {
            spec["hostname"] = json!(name);
            if rng.percent(80) {
                spec["subdomain"] = json!(rng.pick(&services::NAMES));
            }
        }
        let mut metadata = json!({"name": name, "labels": pod_labels(rng)});
        if finalizer {
            metadata["finalizers"] = json!([FINALIZER]);
        }
        let mut pod =
            Pod { state: State::Pending, bound, finalizer, ips: Vec::new(), ready: Readiness::Absent };
        let mut status = PodStatus::default();
        if bound && self.rng.percent(70) {
            status = self.start(&mut pod);
        }
        self.pods.insert(name.clone(), pod);
        Some(Operation::CreatePod { name, object: json!({"metadata": metadata, "spec": spec}), status })
    }

    pub(super) fn bind_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| !pod.bound && !pod.is_terminating())?;
        let node = self.any_node();
        self.pods.get_mut(&name)?.bound = true;
        Some(Operation::BindPod { name, node })
    }

    pub(super) fn start_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| pod.bound && pod.state == State::Pending)?;
        let mut pod = self.pods.remove(&name)?;
        let status = self.start(&mut pod);
        self.pods.insert(name.clone(), pod);
        Some(Operation::ChangePodStatus { name, what: "start pod", status })
    }

    /// Gives a pod its addresses, and may make it ready.
    fn start(&mut self, pod: &mut Pod) -> PodStatus {
        pod.state = State::Running;
        pod.ips = self.ips();
        let choices =
            [Readiness::True, Readiness::True, Readiness::True, Readiness::False, Readiness::Absent];
        pod.ready = *self.rng.pick(&choices);
        let phase = if self.rng.percent(90) { "Running" } else { "Pending" };
        PodStatus { phase: Some(phase), ips: Some(pod.ips.clone()), ready: Some(pod.ready) }
    }

    pub(super) fn flip_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| matches!(pod.state, State::Running | State::Terminating))?;
        let pod = self.pods.get_mut(&name)?;
        pod.ready = match pod.ready {
            Readiness::True if self.rng.percent(10) => Readiness::Absent,
            Readiness::True => Readiness::False,
            // No relevant change.
            Readiness::False if self.rng.percent(5) => Readiness::Absent,
            _ => Readiness::True,
        };
        let what = if pod.ready == Readiness::True { "pod becomes ready" } else { "pod becomes unready" };
        let status = PodStatus { ready: Some(pod.ready), ..PodStatus::default() };
        Some(Operation::ChangePodStatus { name, what, status })
    }

    pub(super) fn move_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| pod.state == State::Running)?;
        let ips = self.ips();
        self.pods.get_mut(&name)?.ips.clone_from(&ips);
        let status = PodStatus { ips: Some(ips), ..PodStatus::default() };
        Some(Operation::ChangePodStatus { name, what: "pod addresses", status })
    }

    pub(super) fn finish_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|pod| matches!(pod.state, State::Running | State::Terminating))?;
        let silent = self.rng.percent(20);
        let phase = *self.rng.pick(&["Failed", "Succeeded"]);
        let pod = self.pods.get_mut(&name)?;
        let ready = if silent { None } else { Some(Readiness::False) };
        pod.ready = ready.unwrap_or(pod.ready);
        pod.state = if pod.is_terminating() { State::FinishedTerminating } else { State::Finished };
        let status = PodStatus { phase: Some(phase), ready, ips: None };
        Some(Operation::ChangePodStatus { name, what: "pod ends", status })
    }

    pub(super) fn terminate_pod(&mut self) -> Option<Operation> {
        // The API server deletes at once a pod that has no kubelet, or whose status says that it has ended.
        let can =
            |pod: &Pod| !pod.is_terminating() && (pod.finalizer || pod.bound && pod.state != State::Finished);
        let name = self.any_pod(can)?;
        let pod = self.pods.get_mut(&name)?;
        pod.state =
            if pod.state == State::Finished { State::FinishedTerminating } else { State::Terminating };
        let grace_seconds = if pod.finalizer { 0 } else { 30 };
        Some(Operation::TerminatePod { name, grace_seconds })
    }

    pub(super) fn remove_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(Pod::may_go)?;
        let pod = self.pods.remove(&name)?;
        Some(Operation::RemovePod { name, finalizer: pod.finalizer })
    }

    pub(super) fn relabel_pod(&mut self) -> Option<Operation> {
        let name = self.any_pod(|_| true)?;
        let rng = &mut self.rng;
        let (key, values): (_, &[Option<&str>]) = match rng.below(10) {
            0..4 => ("app", &[Some("a"), Some("a"), Some("b"), Some("c"), None]),
            4..6 => ("tier", &[Some("x"), Some("y"), None]),
            6..8 => ("in", &[Some("all"), Some("all"), None]),
            8 => ("unrelated", &[Some("1"), Some("2"), None]),
            _ => {
                let metadata = json!({"annotations": {"note": rng.below(1000).to_string()}});
                return Some(Operation::ChangePod { name, what: "annotate pod", metadata });
            }
        };
        let metadata = json!({"labels": {key: rng.pick(values)}});
        Some(Operation::ChangePod { name, what: "relabel pod", metadata })
    }

    fn any_pod(&mut self, which: impl Fn(&Pod) -> bool) -> Option<String> {
        self.rng.any(self.pods.iter().filter(|(_, pod)| which(pod)).map(|(name, _)| name.clone()))
    }

    /// Addresses of one family or both; rarely ones that another pod has or had.
    fn ips(&mut self) -> Vec<String> {
        let number = if self.addresses > 0 && self.rng.percent(5) {
            u16::try_from(self.rng.below(self.addresses.into())).unwrap()
        } else {
            self.addresses += 1;
            self.addresses
        };
        let [high, low] = number.to_be_bytes();
        let (v4, v6) = (format!("10.1.{high}.{low}"), format!("fd00:1::{number:x}"));
        match self.rng.below(10) {
            0..2 => vec![v4],
            2..4 => vec![v6],
            4..6 => vec![v6, v4],
            _ => vec![v4, v6],
        }
    }
}

fn pod_labels(rng: &mut Rng) -> Value {
    let mut labels = json!({"app": rng.pick(&["a", "a", "b", "c"]), "tier": rng.pick(&["x", "y"])});
    if rng.percent(85) {
        labels["in"] = json!("all");
    }
    labels
}

/// Containers with the named ports of Services: on changing numbers, of the wrong protocol, or missing.
fn pod_spec(rng: &mut Rng) -> Value {
    let port = |name: &str, number: u16, protocol: &str| json!({"name": name, "containerPort": number, "protocol": protocol});
    let container = |name: &str, ports: Vec<Value>| json!({"name": name, "image": "none", "ports": ports});
    let mut ports = Vec::new();
    match rng.below(10) {
        0..6 => ports.push(port("http", 8080, "TCP")),
        6 => ports.push(port("http", 9090, "TCP")),
        7 => ports.push(port("http", 8080, "UDP")),
        _ => {}
    }
    if rng.percent(60) {
        ports.push(port("metrics", 9153, "TCP"));
    }
    let mut containers = vec![container("main", ports)];
    if rng.percent(10) {
        containers.push(container("second", vec![port("http", 7070, "TCP"), port("proxy", 7071, "TCP")]));
    }
    let mut spec = json!({"containers": containers});
    if rng.percent(30) {
        // An init container that ends gets no traffic; a sidecar does.
        let sidecar =
            with(container("sidecar", vec![port("proxy", 15001, "TCP")]), "restartPolicy", "Always");
        let setup = container("setup", vec![port("proxy", 1, "TCP")]);
        spec["initContainers"] = if rng.percent(70) { json!([setup, sidecar]) } else { json!([setup]) };
    }
    spec
}
