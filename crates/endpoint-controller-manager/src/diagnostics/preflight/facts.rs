//! What was read of a cluster, before any judgement.

use jiff::Timestamp;

use super::rights::Need;
use super::writers::Writers;

/// The reason for not knowing a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) remedy: String,
}

impl Unknown {
    /// The caller has not the right to do this, such as `list pods`.
    pub(super) fn forbidden(action: &str) -> Self {
        let remedy = format!("Run this as a user who may {action}, or check it by hand");
        Self { message: format!("This needs the right to {action}"), remedy }
    }

    /// The API server did not do this for another reason.
    pub(super) fn failed(action: &str, reason: &str) -> Self {
        Self { message: format!("Cannot {action}: {reason}"), remedy: "Run this again".to_owned() }
    }
}

/// A fact, or the reason for not knowing it.
pub(super) type Fact<T> = Result<T, Unknown>;

/// Everything that the checks judge.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The time of the API server.
    pub(super) now: Timestamp,
    pub(super) version: Fact<ServerVersion>,
    /// True if the API server accepts a watch that begins with the present objects.
    pub(super) streaming: Fact<bool>,
    /// The priority of a read of Services.
    pub(super) priority: Fact<Option<Priority>>,
    /// The priority of a read of the Lease.
    pub(super) priority_of_lease: Fact<Option<Priority>>,
    pub(super) rights: Vec<Answer>,
    pub(super) upstream_lease: Fact<Option<Lease>>,
    pub(super) own_lease: Fact<Option<Lease>>,
    /// The pods of kube-controller-manager.
    pub(super) managers: Fact<Vec<ManagerPod>>,
    /// The `ClusterConfiguration` of kubeadm; none on clusters that kubeadm did not make.
    pub(super) kubeadm: Fact<Option<String>>,
    pub(super) writers: Fact<Writers>,
    pub(super) takeover: Fact<Takeover>,
    /// Deployments and static pods of this program.
    pub(super) workloads: Fact<Vec<String>>,
}

/// The version of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerVersion {
    /// As in `v1.36.3`.
    pub(super) text: String,
    /// The number after `1.`; none if the text is none of Kubernetes' versions.
    pub(super) minor: Option<u16>,
}

/// The FlowSchema and the priority level of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Priority {
    pub(super) flow_schema: String,
    pub(super) level: String,
}

/// The answer to one access review.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) need: Need,
    pub(super) allowed: Fact<bool>,
}

/// A Lease of a leader election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lease {
    /// Empty if it was released.
    pub(super) holder: String,
    pub(super) renewed: Option<Timestamp>,
    pub(super) seconds: i32,
}

/// A pod of kube-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManagerPod {
    pub(super) name: String,
    /// The command with its arguments.
    pub(super) words: Vec<String>,
}

/// What this program would do after it has filled its cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Takeover {
    /// Endpoints without a Service that its start deletes, with the reason.
    pub(super) deletions: Vec<String>,
    /// Other writes.
    pub(super) changes: Vec<String>,
    /// Services whose sync fails, and objects that could not be read, with the reason.
    pub(super) problems: Vec<String>,
    /// The number of Services.
    pub(super) services: usize,
}
