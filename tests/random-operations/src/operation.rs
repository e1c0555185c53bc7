//! The operations of a trace as data; only times and uids are added when they run.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

/// One change that an operator, a scheduler or a kubelet makes.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// `object` has `metadata` and `spec`.
    CreateService {
        name: String,
        object: Value,
    },
    /// A merge patch.
    ChangeService {
        name: String,
        what: &'static str,
        patch: Value,
    },
    DeleteService {
        name: String,
    },
    /// `object` has `metadata` and `spec`; the status follows in a second request.
    CreatePod {
        name: String,
        object: Value,
        status: PodStatus,
    },
    /// Sets the node, as a scheduler does.
    BindPod {
        name: String,
        node: String,
    },
    ChangePodStatus {
        name: String,
        what: &'static str,
        status: PodStatus,
    },
    /// A merge patch of its metadata.
    ChangePod {
        name: String,
        what: &'static str,
        metadata: Value,
    },
    /// Begins a deletion; the pod stays until it is removed.
    TerminatePod {
        name: String,
        grace_seconds: u32,
    },
    /// The end of a pod that no slice may publish as serving any more.
    RemovePod {
        name: String,
        finalizer: bool,
    },
    CreateNode {
        name: String,
        zone: Option<String>,
        cpu: u32,
        ready: bool,
    },
    /// A merge patch of its labels.
    LabelNode {
        name: String,
        labels: Value,
    },
    ChangeNodeReadiness {
        name: String,
        cpu: u32,
        ready: bool,
    },
    DeleteNode {
        name: String,
    },
    /// Creates or replaces custom Endpoints.
    SetEndpoints {
        name: String,
        object: Value,
    },
    /// Deletes custom Endpoints, if they exist.
    DeleteEndpoints {
        name: String,
    },
}

/// A change of a pod's status; a field that is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodStatus {
    pub phase: Option<&'static str>,
    pub ips: Option<Vec<String>>,
    pub ready: Option<Readiness>,
}

/// The condition `Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    True,
    False,
    /// Without the condition.
    Absent,
}

/// Names of Services for which upstream leaves something to chance or history: see the table of the parity runs, `tests::random`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chance {
    /// The hints: those that are spread over zones, or were when the slices were last kept up to date.
    pub hints: BTreeSet<&'static str>,
    /// The trigger times: those whose hints were ever spread over zones.
    pub trigger_times: BTreeSet<&'static str>,
    /// The trigger times of their Endpoints, and the number of writes of these and of slices mirrored from them: those
    /// that have, or had, a label that controllers reserve.
    pub reserved: BTreeSet<&'static str>,
    /// All trigger times: a pod has ended, and ours does not see how pods end.
    pub ended: bool,
    /// The label for headless Services: those that came back from `ExternalName`.
    pub headless: BTreeSet<&'static str>,
}

/// An operation and the actions that must follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// Touches all Services afterwards, because upstream does not notice this operation by itself.
    pub touch: bool,
    /// The Services on which a touch has an effect after this operation.
    pub synced: Vec<String>,
    /// The parts of the state that upstream leaves to chance after this operation.
    pub chance: Chance,
}

impl Operation {
    /// True for operations on nodes, which controllers watch separately.
    pub fn is_of_node(&self) -> bool {
        matches!(
            self,
            Self::CreateNode { .. }
                | Self::LabelNode { .. }
                | Self::ChangeNodeReadiness { .. }
                | Self::DeleteNode { .. }
        )
    }

    /// The kind, for statistics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CreateService { .. } => "create Service",
            Self::ChangeService { what, .. }
            | Self::ChangePodStatus { what, .. }
            | Self::ChangePod { what, .. } => what,
            Self::DeleteService { .. } => "delete Service",
            Self::CreatePod { .. } => "create pod",
            Self::BindPod { .. } => "bind pod",
            Self::TerminatePod { .. } => "terminate pod",
            Self::RemovePod { .. } => "remove pod",
            Self::CreateNode { .. } => "create node",
            Self::LabelNode { .. } => "label node",
            Self::ChangeNodeReadiness { .. } => "node readiness",
            Self::DeleteNode { .. } => "delete node",
            Self::SetEndpoints { .. } => "set Endpoints",
            Self::DeleteEndpoints { .. } => "delete Endpoints",
        }
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.detail().0
    }

    /// The object's name and the operation's arguments.
    fn detail(&self) -> (&str, Value) {
        match self {
            Self::CreateService { name, object } | Self::SetEndpoints { name, object } => {
                (name, object.clone())
            }
            Self::ChangeService { name, patch, .. } => (name, patch.clone()),
            Self::DeleteService { name } | Self::DeleteNode { name } | Self::DeleteEndpoints { name } => {
                (name, Value::Null)
            }
            Self::CreatePod { name, object, status } => {
                let mut object = object.clone();
                object["status"] = status.to_json();
                (name, object)
            }
            Self::BindPod { name, node } => (name, json!({"node": node})),
            Self::ChangePodStatus { name, status, .. } => (name, status.to_json()),
            Self::ChangePod { name, metadata, .. } => (name, metadata.clone()),
            Self::TerminatePod { name, grace_seconds } => (name, json!({"graceSeconds": grace_seconds})),
            Self::RemovePod { name, finalizer } => (name, json!({"finalizer": finalizer})),
            Self::CreateNode { name, zone, cpu, ready } => {
                (name, json!({"zone": zone, "cpu": cpu, "ready": ready}))
            }
            Self::LabelNode { name, labels } => (name, labels.clone()),
            Self::ChangeNodeReadiness { name, cpu, ready } => (name, json!({"cpu": cpu, "ready": ready})),
        }
    }
}

impl PodStatus {
    fn to_json(&self) -> Value {
        let ready = self.ready.map(|ready| match ready {
            Readiness::True => "True",
            Readiness::False => "False",
            Readiness::Absent => "absent",
        });
        let mut fields = json!({});
        for (key, value) in [("phase", json!(self.phase)), ("ips", json!(self.ips)), ("ready", json!(ready))]
        {
            if !value.is_null() {
                fields[key] = value;
            }
        }
        fields
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, detail) = self.detail();
        write!(f, "{}: {name}", self.kind())?;
        if detail.is_null() { Ok(()) } else { write!(f, " {detail}") }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if self.touch { write!(f, "; then touch all Services") } else { Ok(()) }
    }
}
