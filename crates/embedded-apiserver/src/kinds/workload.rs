//! Deployments and ReplicaSets as plain storage: `pkg/registry/apps`.

use super::strategy::Strategy;

/// The rules of Deployments and ReplicaSets.
pub(super) struct Workload {
    is_deployment: bool,
}

pub(super) const DEPLOYMENT: Workload = Workload { is_deployment: true };
pub(super) const REPLICA_SET: Workload = Workload { is_deployment: false };

impl Strategy for Workload {}
