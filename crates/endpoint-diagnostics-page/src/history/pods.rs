//! Changes of pods, as far as endpoints depend on them.

use endpoint_diagnostics::snapshot::PodEntry;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

use super::event::{Event, Kind, Tone};

/// The event of a pod that changes as an endpoint; `after` and `now` are the same pod.
pub(super) fn event(
    name: &str,
    before: Option<&PodEntry>,
    after: Option<&Pod>,
    now: Option<&endpointslice::Pod>,
) -> Option<Event> {
    let (text, tone) = match (before.map(|before| &*before.pod), now) {
        (None, None) => return None,
        (Some(_), None) => ("was deleted".to_owned(), Tone::Bad),
        (None, Some(now)) => {
            (format!("was created{}", place(now)), if now.ready { Tone::Good } else { Tone::Neutral })
        }
        (Some(was), Some(is)) => changed(was, is, after)?,
    };
    Some(Event::new(Kind::Pod, name, text, tone))
}

fn changed(was: &endpointslice::Pod, is: &endpointslice::Pod, after: Option<&Pod>) -> Option<(String, Tone)> {
    let why = || after.and_then(reason).map_or_else(String::new, |why| format!(": {why}"));
    Some(if was.uid != is.uid {
        (format!("was replaced by a pod of its name{}", place(is)), Tone::Neutral)
    } else if !was.terminal && is.terminal {
        (format!("ended{}", why()), Tone::Bad)
    } else if !was.is_terminating() && is.is_terminating() {
        let readiness = if was.ready && !is.ready { ", and became not ready" } else { "" };
        (format!("is being deleted{readiness}"), Tone::Bad)
    } else if !was.ready && is.ready {
        ("became ready".to_owned(), Tone::Good)
    } else if was.ready && !is.ready {
        (format!("became not ready{}", why()), Tone::Bad)
    } else if was.addresses != is.addresses {
        (format!("got the address {}", addresses(is)), Tone::Neutral)
    } else if was.node_name != is.node_name {
        (format!("was scheduled{}", place(is)), Tone::Neutral)
    } else if was.labels != is.labels {
        ("got other labels".to_owned(), Tone::Neutral)
    } else {
        return None;
    })
}

fn addresses(pod: &endpointslice::Pod) -> String {
    pod.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn place(pod: &endpointslice::Pod) -> String {
    let node = pod.node_name.as_deref().map_or_else(String::new, |node| format!(" on {node}"));
    let addresses = addresses(pod);
    if addresses.is_empty() { node } else { format!("{node}, {addresses}") }
}

/// The kubelet's reason for a pod that is not ready, in a few words.
pub(super) fn reason(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    let of_container = containers.iter().filter(|container| !container.ready).find_map(of_container);
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let is_gate = |type_: &str| {
        let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
        gates.into_iter().any(|gate| gate.condition_type == type_)
    };
    let gate = || {
        let closed = conditions.iter().find(|it| it.status != "True" && is_gate(&it.type_))?;
        Some(format!("readiness gate {}", closed.type_))
    };
    let ready = || {
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
        ready.message.clone().or_else(|| ready.reason.clone()).filter(|text| !text.is_empty())
    };
    let phase = || status.reason.clone().filter(|reason| !reason.is_empty());
    of_container.or_else(gate).or_else(phase).or_else(ready)
}

fn of_container(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    let name = &container.name;
    if let Some(waiting) = &state.waiting {
        return Some(format!("container {name} waits, {}", waiting.reason.as_deref()?));
    }
    state.terminated.as_ref().map(|state| ended(name, state))
}

pub(super) fn ended(container: &str, state: &ContainerStateTerminated) -> String {
    let reason = state.reason.as_deref().unwrap_or("ended");
    format!("container {container} ended, {reason}, exit code {}", state.exit_code)
}
