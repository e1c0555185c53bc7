//! The facts read of a cluster, before any judgement.

use endpoint_controller_manager::connection::server_version::ServerVersion;
use jiff::Timestamp;

use super::permissions::Need;
use super::unknown::Fact;
use super::writers::Writers;
use crate::lease::Lease;

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
    pub(super) permissions: Vec<Answer>,
    pub(super) upstream_lease: Fact<Option<Lease>>,
    pub(super) own_lease: Fact<Option<Lease>>,
    /// The pods of kube-controller-manager.
    pub(super) managers: Fact<Vec<ManagerPod>>,
    /// The `ClusterConfiguration` of kubeadm; none on clusters that kubeadm did not make.
    pub(super) kubeadm: Fact<Option<String>>,
    pub(super) writers: Fact<Writers>,
    pub(super) takeover: Fact<Takeover>,
    /// Deployments and static pods of endpoint-controller-manager.
    pub(super) workloads: Fact<Vec<String>>,
}

/// The `FlowSchema` and the priority level of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Priority {
    pub(super) flow_schema: String,
    pub(super) level: String,
}

/// The response to one access review.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) need: Need,
    pub(super) allowed: Fact<bool>,
}

/// A pod of kube-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManagerPod {
    pub(super) name: String,
    pub(super) node: String,
    /// The command with its arguments.
    pub(super) words: Vec<String>,
}

/// The writes and deletions of endpoint-controller-manager after it has filled its cache.
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
