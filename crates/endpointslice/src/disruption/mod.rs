//! Readiness while the control plane has lost the kubelets, not the pods.
//!
//! When kubelets can't reach the API server (a load balancer, a certificate, a firewall rule), the node lifecycle controller
//! makes the Ready condition of their nodes `Unknown`, and marks all pods of these nodes as not ready. No kubelet has
//! reported on the pods. If one node is affected, it has most likely failed. If nearly all are, the pods most likely work, and to withdraw all
//! of their endpoints turns an outage of the control plane into one of everything else. Node lifecycle makes this difference:
//! in a *full disruption* it evicts nothing. It marks pods all the same.
//!
//! ```text
//! conditions of Nodes ─> Kubelet ─> Nodes (counts) ─> Period ─┐
//!                                                             ├─> Hold: until when a marked pod counts as ready
//! conditions of Pods ─> marked_not_ready, its time ───────────┘
//! ```
//!
//! * [`Nodes`] counts the kubelets that are lost, of the cluster or of each zone. While at least three and at least a share of
//!   them are lost, there is a [`Period`] of disruption.
//! * [`hold`] is the rule for one pod. It only ever overrules the node lifecycle controller
//!   ([`only_marked_not_ready`](crate::model::only_marked_not_ready)); what a kubelet, a deletion or a readiness gate says
//!   counts as always.
//!
//! Everything follows from conditions and their times, so that each replica decides the same at any time, also one that has
//! just started. A disruption ends when the share is no longer lost. Nothing remembers that: the nodes that have come back say
//! it, by the time since which they post again, and so pods of those that have not come back yet are kept for
//! [`WAY_OUT`] seconds.
//!
//! # Deliberately absent
//!
//! A judgement about pods. If the nodes have really failed, their pods are published as they were.

mod nodes;
mod period;
mod rule;

pub use nodes::{Affected, Nodes, ScopeState};
pub use period::{MIN_LOST, Period};
pub use rule::{Hold, hold};

/// Seconds for which a pod's readiness is kept after the disruption, or after its own node came back in it, if the kubelet
/// reports nothing. A kubelet that is back reports in seconds.
pub const WAY_OUT: i64 = 600;

/// The nodes that a disruption is decided for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All nodes of the cluster together.
    #[default]
    Cluster,
    /// The nodes of each zone by themselves.
    Zone,
}

/// The bounds of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The nodes that are counted together.
    pub scope: Scope,
    /// The share of nodes that must be lost, in percent.
    pub percent: u32,
    /// Seconds for which the pods of any lost node keep their readiness, because others may be about to be lost too. Zero: the
    /// pods of the first nodes are withdrawn, and published again when the share is lost.
    pub confirmation: i64,
    /// Seconds after which the pods of a lost node are withdrawn in a disruption too, if any.
    pub end: Option<i64>,
}

impl Default for Policy {
    /// All nodes but few (of up to nine, all), at once and without end.
    fn default() -> Self {
        Self { scope: Scope::Cluster, percent: 90, confirmation: 0, end: None }
    }
}

#[cfg(test)]
mod tests;
