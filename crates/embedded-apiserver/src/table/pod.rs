//! Rows of pods.

use jiff::Timestamp;
use serde_json::Value;

use super::object::{Age, NONE, name, part, text_or, time};
use crate::kinds::tree::{field, flag, int, list, text};

/// Reason and message of the condition of a row whose pod has ended.
pub(super) fn completion(pod: &Value) -> Option<(&'static str, &'static str)> {
    match text(field(pod, "status"), "phase") {
        "Succeeded" => Some(("Succeeded", "The pod has completed successfully.")),
        "Failed" => Some(("Failed", "The pod failed.")),
        _ => None,
    }
}

pub(super) fn cells(pod: &Value, age: Age) -> Vec<Value> {
    let (spec, status) = (field(pod, "spec"), field(pod, "status"));
    let summary = Summary::of(pod);
    let restarts = match summary.restarted.last {
        Some(last) if summary.restarted.count != 0 => {
            format!("{} ({} ago)", summary.restarted.count, age.of(Some(last)))
        }
        _ => summary.restarted.count.to_string(),
    };
    let ip = list(status, "podIPs").first().map_or(NONE, |first| text_or(first, "ip", NONE));
    vec![
        name(pod),
        format!("{}/{}", summary.ready, summary.total).into(),
        summary.reason.into(),
        restarts.into(),
        age.of_object(pod),
        ip.into(),
        text_or(spec, "nodeName", NONE).into(),
        text_or(status, "nominatedNodeName", NONE).into(),
        readiness_gates(spec, status).into(),
    ]
}

fn readiness_gates(spec: &Value, status: &Value) -> String {
    let gates = list(spec, "readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let is_true = |gate: &&Value| {
        let of_gate = text(gate, "conditionType");
        let first = list(status, "conditions").iter().find(|condition| text(condition, "type") == of_gate);
        first.is_some_and(|condition| text(condition, "status") == "True")
    };
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len())
}

/// The state of all containers in a few words.
struct Summary {
    reason: String,
    ready: usize,
    total: usize,
    restarted: Restarts,
}

/// Counts restarts and finds the time of the last.
#[derive(Default, Clone, Copy)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += int(container, "restartCount");
        let ended =
            part(field(container, "lastState"), "terminated").and_then(|state| time(state, "finishedAt"));
        self.last = self.last.max(ended);
    }
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (field(pod, "spec"), field(pod, "status"));
        let sidecars = list(spec, "initContainers").iter().filter(|container| is_sidecar(container)).count();
        let mut summary = Self {
            reason: initial_reason(status),
            ready: 0,
            total: list(spec, "containers").len() + sidecars,
            restarted: Restarts::default(),
        };
        let (initializing, sidecars_restarted) = summary.add_init_containers(spec, status);
        if !initializing || has_initialized(status) {
            summary.restarted = sidecars_restarted;
            summary.add_containers(status);
        }
        if part(field(pod, "metadata"), "deletionTimestamp").is_some() {
            if text(status, "reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(text(status, "phase"), "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Goes through init containers up to the first that has not done its part. Returns whether there is one, and the
    /// restarts of sidecars up to there.
    fn add_init_containers(&mut self, spec: &Value, status: &Value) -> (bool, Restarts) {
        let specs = list(spec, "initContainers");
        let mut sidecars = Restarts::default();
        for (index, container) in list(status, "initContainerStatuses").iter().enumerate() {
            self.restarted.add(container);
            let of_name = specs.iter().rfind(|spec| text(spec, "name") == text(container, "name"));
            let is_sidecar = of_name.is_some_and(is_sidecar);
            if is_sidecar {
                sidecars.add(container);
            }
            let state = field(container, "state");
            let terminated = part(state, "terminated");
            if terminated.is_some_and(|state| int(state, "exitCode") == 0) {
                continue;
            }
            if is_sidecar && flag(container, "started") {
                self.ready += usize::from(flag(container, "ready"));
                continue;
            }
            let waits_for = part(state, "waiting").map_or("", |state| text(state, "reason"));
            self.reason = if let Some(state) = terminated {
                format!("Init:{}", end_of(state))
            } else if !matches!(waits_for, "" | "PodInitializing") {
                format!("Init:{waits_for}")
            } else {
                format!("Init:{index}/{}", specs.len())
            };
            return (true, sidecars);
        }
        (false, sidecars)
    }

    /// Goes through containers; the first that has something to say wins.
    fn add_containers(&mut self, status: &Value) {
        let mut is_one_running = false;
        let mut failure = None;
        for container in list(status, "containerStatuses").iter().rev() {
            self.restarted.add(container);
            let state = field(container, "state");
            let waits_for = part(state, "waiting").map_or("", |state| text(state, "reason"));
            if !waits_for.is_empty() {
                waits_for.clone_into(&mut self.reason);
            } else if let Some(state) = part(state, "terminated") {
                self.reason = end_of(state);
                if int(state, "exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if flag(container, "ready") && part(state, "running").is_some() {
                is_one_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if is_one_running && is_ready(status) {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if is_one_running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

fn initial_reason(status: &Value) -> String {
    let is_gated = |condition: &Value| {
        text(condition, "type") == "PodScheduled" && text(condition, "reason") == "SchedulingGated"
    };
    if list(status, "conditions").iter().any(is_gated) {
        return "SchedulingGated".to_owned();
    }
    text_or(status, "reason", text(status, "phase")).to_owned()
}

/// An init container that runs on alongside the others.
fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// The end of a container: its reason, else its signal or exit code.
fn end_of(terminated: &Value) -> String {
    let (reason, signal) = (text(terminated, "reason"), int(terminated, "signal"));
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", int(terminated, "exitCode"))
    }
}

fn has_initialized(status: &Value) -> bool {
    let first = list(status, "conditions").iter().find(|condition| text(condition, "type") == "Initialized");
    first.is_some_and(|condition| text(condition, "status") == "True")
}

fn is_ready(status: &Value) -> bool {
    list(status, "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Ready" && text(condition, "status") == "True")
}
