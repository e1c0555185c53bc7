//! The decision about disruptions that a cache applies: which pods count as ready that the node lifecycle controller marked.
//!
//! The cache holds pods and nodes with the readiness that *counts*, so that all controllers follow one decision, and a change
//! of the decision is a change of pods like any other: handlers queue the Services that it affects, and no others. A pod that is
//! marked and counts as ready all the same is not a change of an endpoint: its Services are synced, and nothing is written.
//!
//! A decision about one pod depends on its node, on the disruption and on time. The nodes whose pods have to be looked at again
//! are collected here, and [`Cache::follow_disruptions`](crate::cache::Cache::follow_disruptions) does so, in batches.

use std::collections::BTreeSet;
use std::sync::Arc;

use endpointslice::disruption::{Affected, Nodes, Period, Policy, ScopeState};
use endpointslice::model::Kubelet;
use endpointslice::{Node, Pod};

/// The scopes of disruptions and the pods that are kept ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionReport {
    /// The states of all scopes, by zone. Empty without a policy.
    pub scopes: Vec<ScopeState>,
    /// The pods that count as ready although they are marked as not ready.
    pub kept_pods: usize,
}

impl DisruptionReport {
    /// The scopes in which a disruption has begun or ended since `before`. It ends with the last node of its scope, too.
    pub fn changed_since(&self, before: &[ScopeState]) -> Vec<ScopeState> {
        let state = |scopes: &[ScopeState], zone: &Option<Arc<str>>| {
            scopes.iter().find(|scope| scope.zone == *zone).is_some_and(|scope| scope.period.is_ongoing())
        };
        let gone = before.iter().filter(|last| !self.scopes.iter().any(|scope| scope.zone == last.zone));
        let gone = gone.map(|last| ScopeState { period: Period::Calm, lost: 0, total: 0, ..last.clone() });
        let now = self.scopes.iter().cloned().chain(gone);
        now.filter(|scope| state(before, &scope.zone) != scope.period.is_ongoing()).collect()
    }
}

/// The decision, and what has to be looked at again.
#[derive(Debug)]
pub(crate) struct Disruption {
    nodes: Nodes,
    /// Nodes whose pods may count differently now.
    pending: BTreeSet<Arc<str>>,
    /// The pods of all nodes may. In a list, a disruption may end earlier or later with each node.
    is_all_pending: bool,
    /// Nodes whose pods may count differently from a time on.
    due: BTreeSet<(i64, Arc<str>)>,
    /// A node was added to `pending` or `due` since [`Self::take_news`] was called last.
    is_news: bool,
}

impl Disruption {
    pub(crate) fn new(policy: Policy) -> Self {
        let (pending, due) = (BTreeSet::new(), BTreeSet::new());
        Self { nodes: Nodes::new(policy), pending, is_all_pending: false, due, is_news: false }
    }

    /// Returns true if a pod counts as ready at a time, in seconds since the epoch.
    pub(crate) fn counts_pod_as_ready(&mut self, pod: &Pod, now: i64) -> bool {
        if !pod.marked_not_ready {
            return pod.ready;
        }
        let (Some(node), Some(marked)) = (&pod.node_name, pod.ready_changed_at()) else { return false };
        self.is_held(node, marked, now)
    }

    /// Returns true if a node counts as ready.
    pub(crate) fn counts_node_as_ready(&mut self, node: &Node, now: i64) -> bool {
        match node.kubelet {
            Kubelet::Lost { since } => self.is_held(&node.name, since, now),
            Kubelet::Posting { .. } | Kubelet::Unread => node.ready,
        }
    }

    fn is_held(&mut self, node: &Arc<str>, marked: i64, now: i64) -> bool {
        let hold = self.nodes.hold(node, marked);
        if let Some(end) = hold.end().filter(|end| now < *end) {
            self.is_news |= self.due.first().is_none_or(|(first, _)| end < *first);
            self.due.insert((end, Arc::clone(node)));
        }
        hold.at(now)
    }

    /// Records a node that is new or has changed.
    pub(crate) fn observe(&mut self, node: &Node, now: i64) {
        let affected = self.nodes.observe(node, now);
        self.affect(&node.name, affected);
    }

    /// Records that a node was deleted.
    pub(crate) fn forget(&mut self, node: &Node, now: i64) {
        let affected = self.nodes.forget(&node.name, now);
        self.affect(&node.name, affected);
    }

    fn affect(&mut self, node: &Arc<str>, affected: Affected) {
        match affected {
            Affected::Nothing => return,
            Affected::Node => {}
            Affected::All => self.is_all_pending = true,
        }
        self.pending.insert(Arc::clone(node));
        self.is_news = true;
    }

    /// True if there was news since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    /// A node whose pods have to be looked at now; `None` if there is none.
    pub(crate) fn next(&mut self, now: i64) -> Option<Arc<str>> {
        if std::mem::take(&mut self.is_all_pending) {
            self.pending.extend(self.nodes.names().cloned());
        }
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            self.pending.extend(self.due.pop_first().map(|(_, node)| node));
        }
        self.pending.pop_first()
    }

    /// True if there are nodes whose pods have to be looked at.
    pub(crate) fn has_next(&self) -> bool {
        self.is_all_pending || !self.pending.is_empty()
    }

    /// The time at which pods may count differently if nothing happens before, in seconds since the epoch.
    pub(crate) fn due_at(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The states of all scopes.
    pub(crate) fn scopes(&self) -> Vec<ScopeState> {
        self.nodes.scopes().collect()
    }
}
