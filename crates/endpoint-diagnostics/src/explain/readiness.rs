//! The reasons for which a pod is not ready.

use endpointslice::Node;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};

use super::codes;
use crate::report::Reason;

/// The reasons for which a pod is not ready; empty if it is.
pub(super) fn reasons(pod: &Pod, node: Option<&Node>) -> Vec<Reason> {
    let Some(ready) = condition(pod, "Ready") else {
        return vec![codes::NO_READY_CONDITION.reason("the pod's status has no Ready condition")];
    };
    if ready.status == "True" {
        return vec![];
    }
    let mut reasons: Vec<Reason> = init_reason(pod).into_iter().collect();
    if reasons.is_empty() {
        reasons = container_reasons(pod);
    }
    reasons.extend(gate_reasons(pod));
    if reasons.is_empty() {
        reasons.push(remaining(ready, node));
    }
    reasons
}

/// A condition of a pod by its type.
pub(super) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

fn init_reason(pod: &Pod) -> Option<Reason> {
    let initialized = condition(pod, "Initialized").filter(|condition| condition.status != "True")?;
    let statuses = pod.status.as_ref()?.init_container_statuses.as_deref().unwrap_or_default();
    let waiting = statuses.iter().find_map(|status| {
        let waiting = status.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref().filter(|reason| *reason != "PodInitializing")?;
        Some(format!("init container {} waits: {reason}", status.name))
    });
    let message = initialized.message.clone().filter(|message| !message.is_empty());
    let detail = waiting.or(message).unwrap_or_else(|| "init containers have not completed".to_owned());
    Some(codes::INITIALIZING.reason(detail))
}

fn container_reasons(pod: &Pod) -> Vec<Reason> {
    let status = pod.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    statuses.iter().filter(|status| !status.ready).map(container_reason).collect()
}

fn container_reason(status: &ContainerStatus) -> Reason {
    let name = &status.name;
    let state = status.state.clone().unwrap_or_default();
    if let Some(waiting) = state.waiting {
        let reason = waiting.reason.unwrap_or_else(|| "no reason given".to_owned());
        let remedy = format!("kubectl logs --previous -c {name}, and kubectl describe pod, show why");
        let message = format!("container {name} waits: {reason}");
        return if reason == "CrashLoopBackOff" {
            codes::CONTAINER_WAITING.with_remedy(message, remedy)
        } else {
            codes::CONTAINER_WAITING.reason(message)
        };
    }
    if let Some(ended) = state.terminated {
        let reason = ended.reason.unwrap_or_else(|| "ended".to_owned());
        let message = format!("container {name} has ended: {reason}, exit code {}", ended.exit_code);
        return codes::CONTAINER_TERMINATED.reason(message);
    }
    if status.started == Some(false) {
        return codes::STARTUP_PROBE
            .reason(format!("container {name} runs, and its startup probe has not succeeded yet"));
    }
    codes::PROBE_FAILS.with_remedy(
        format!("container {name} runs, and its readiness probe does not succeed"),
        "the events of the pod have the responses to the probe",
    )
}

fn gate_reasons(pod: &Pod) -> impl Iterator<Item = Reason> {
    let gates = pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_deref()).unwrap_or_default();
    gates.iter().filter_map(|gate| {
        let gate = gate.condition_type.as_str();
        let found = condition(pod, gate);
        let state = match found {
            Some(condition) if condition.status == "True" => return None,
            Some(condition) => format!("is {}", condition.status),
            None => "is not set".to_owned(),
        };
        let detail = found.and_then(|condition| condition.reason.as_deref()).filter(|it| !it.is_empty());
        let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
        Some(codes::READINESS_GATE.with_remedy(
            format!("the condition {gate} of a readiness gate {state}{detail}"),
            format!("the controller that sets {gate}, such as a load balancer's, has to set it to True"),
        ))
    })
}

/// The reason if neither containers nor gates explain the condition.
fn remaining(ready: &PodCondition, node: Option<&Node>) -> Reason {
    if let Some(node) = node.filter(|node| !node.ready) {
        return codes::NODE_NOT_READY.reason(format!("node {} is not ready", node.name));
    }
    let texts = [ready.reason.as_deref(), ready.message.as_deref()].into_iter().flatten();
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    let detail = if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) };
    codes::NOT_READY.reason(format!("the pod's Ready condition is {}{detail}", ready.status))
}
