//! The conditions of Pods and Nodes, reduced to what tells the node lifecycle controller's writes from a kubelet's.

use k8s_openapi::api::core::v1 as core;

use super::api_fields::text;

/// A condition of a Pod or a Node, borrowed from a decoder or an API object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConditionFields<'a> {
    /// `type`.
    pub kind: &'a str,
    /// `status`: `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// `reason`; empty if there is none.
    pub reason: &'a str,
    /// `lastTransitionTime`, in seconds since the epoch.
    pub last_transition: Option<i64>,
}

impl<'a> From<&'a core::PodCondition> for ConditionFields<'a> {
    fn from(condition: &'a core::PodCondition) -> Self {
        Self {
            kind: &condition.type_,
            status: &condition.status,
            reason: text(condition.reason.as_ref()),
            last_transition: condition.last_transition_time.as_ref().map(|time| time.0.as_second()),
        }
    }
}

impl<'a> From<&'a core::NodeCondition> for ConditionFields<'a> {
    fn from(condition: &'a core::NodeCondition) -> Self {
        Self {
            kind: &condition.type_,
            status: &condition.status,
            reason: text(condition.reason.as_ref()),
            last_transition: condition.last_transition_time.as_ref().map(|time| time.0.as_second()),
        }
    }
}

const READY: &str = "Ready";

/// True if nothing but the node lifecycle controller says that a pod with these conditions and readiness gates is not ready.
///
/// That controller sets the status of Ready to `False` and leaves the rest of the condition as the kubelet wrote it for
/// `True`: without a reason (`util/node/controller_utils.go` `MarkPodsNotReady`). A kubelet that says `False` gives a reason
/// in every case (`kubelet/status/generate.go` `GeneratePodReadyCondition`). Containers that are not ready, and a readiness
/// gate that is not `True` now, count in any case.
#[must_use]
pub fn only_marked_not_ready(conditions: &[ConditionFields<'_>], readiness_gates: &[&str]) -> bool {
    let first = |kind: &str| conditions.iter().find(|condition| condition.kind == kind);
    let is_true = |kind: &str| first(kind).is_some_and(|condition| condition.status == "True");
    let is_marked = first(READY).is_some_and(|ready| ready.status == "False" && ready.reason.is_empty());
    is_marked && is_true("ContainersReady") && readiness_gates.iter().all(|gate| is_true(gate))
}

/// The state of a kubelet, by the conditions of its Node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kubelet {
    /// Nothing: no kubelet has ever posted, or the conditions were not read
    /// ([`Interner::reading_conditions`](super::Interner::reading_conditions)).
    #[default]
    Unread,
    /// It posts the conditions.
    Posting {
        /// The time since which the node is ready, in seconds since the epoch; zero if that is not known. `None` if it is not ready.
        ready_since: Option<i64>,
        /// The time at which it came back after it had been [lost](Self::Lost), in seconds since the epoch.
        returned: Option<i64>,
        /// The time at which its Node was created, in seconds since the epoch.
        created: Option<i64>,
    },
    /// It has stopped posting, as the node lifecycle controller found at this time, in seconds since the epoch.
    Lost {
        /// `lastTransitionTime` of the condition Ready.
        since: i64,
    },
}

/// The conditions that the node lifecycle controller makes `Unknown` together (`tryUpdateNodeHealth`), and that a kubelet
/// which is back therefore sets together.
const POSTED: [&str; 4] = [READY, "MemoryPressure", "DiskPressure", "PIDPressure"];

/// A kubelet sets all conditions within this many seconds after it has registered its node; that is not a return.
const REGISTRATION: i64 = 60;

impl Kubelet {
    /// Reads the conditions of a Node that was created at a time, in seconds since the epoch.
    ///
    /// A return is told from a change of Ready alone, such as a restart of the kubelet causes, by the other conditions: no
    /// condition is older than the last return, and nothing but a return makes all of them new.
    #[must_use]
    pub fn of(conditions: &[ConditionFields<'_>], created: Option<i64>) -> Self {
        let first = |kind: &&str| conditions.iter().find(|condition| condition.kind == *kind);
        let Some(ready) = first(&READY) else { return Self::Unread };
        match (ready.status, ready.reason, ready.last_transition) {
            // `MarkPodsNotReady` needs a node that was ready: this one never was.
            ("Unknown", "NodeStatusNeverUpdated", _) | ("Unknown", _, None) => Self::Unread,
            ("Unknown", _, Some(since)) => Self::Lost { since },
            (status, ..) => {
                let posted = POSTED.iter().filter_map(first).filter(|found| found.status != "Unknown");
                let oldest = posted.filter_map(|found| found.last_transition).min();
                let registered = created.map(|created| created.saturating_add(REGISTRATION));
                let is_return = |time: &i64| registered.is_some_and(|registered| *time > registered);
                let ready_since = (status == "True").then(|| ready.last_transition.unwrap_or_default());
                Self::Posting { ready_since, returned: oldest.filter(is_return), created }
            }
        }
    }
}

#[cfg(test)]
mod tests;
