//! All nodes, as far as disruptions depend on them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::period::{Counts, MIN_LOST, Period};
use super::rule::{Hold, hold};
use super::{Policy, Scope};
use crate::model::{Kubelet, Node};

/// The kubelets that are lost or post, counted by scope. Cost of a change: that of [`Period`]; no other node is looked at.
#[derive(Debug)]
pub struct Nodes {
    policy: Policy,
    members: HashMap<Arc<str>, Member>,
    scopes: BTreeMap<Option<Arc<str>>, Counted>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    kubelet: Kubelet,
    /// False for a node that is excluded by its label: its pods follow what the others decide, as with node lifecycle
    /// (`isNodeExcludedFromDisruptionChecks`).
    is_counted: bool,
    control_plane: bool,
    /// The zone, if nodes are counted by zone.
    scope: Option<Arc<str>>,
}

/// The nodes of one scope.
#[derive(Debug, Default)]
struct Counted {
    members: usize,
    all: Counts,
    /// Those that are not nodes of the control plane. Kubelets there reach the API server next to them when no other does, and
    /// so they say nothing about the others.
    workers: Counts,
    period: Period,
}

/// The nodes whose pods a change of one node affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Affected {
    /// None.
    Nothing,
    /// That node.
    Node,
    /// Any node: a disruption has begun or ended.
    All,
}

/// The state of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeState {
    /// The zone; `None` for the cluster, and for nodes without a zone.
    pub zone: Option<Arc<str>>,
    /// The last period of disruption.
    pub period: Period,
    /// The counted nodes that are lost.
    pub lost: usize,
    /// The counted nodes: those that are lost or ready.
    pub total: usize,
}

impl Counted {
    /// The nodes that count: with fewer than three others, whatever their state, those of the control plane too.
    fn counts(&self) -> &Counts {
        if self.workers.nodes() >= MIN_LOST { &self.workers } else { &self.all }
    }

    fn change(&mut self, member: &Member, change: impl Fn(&mut Counts, Kubelet)) {
        if !member.is_counted {
            return;
        }
        change(&mut self.all, member.kubelet);
        if !member.control_plane {
            change(&mut self.workers, member.kubelet);
        }
    }
}

impl Nodes {
    /// No nodes.
    pub fn new(policy: Policy) -> Self {
        Self { policy, members: HashMap::new(), scopes: BTreeMap::new() }
    }

    /// Records a node that is new or has changed, at a time in seconds since the epoch.
    pub fn observe(&mut self, node: &Node, now: i64) -> Affected {
        let scope = node.zone.clone().filter(|_| self.policy.scope == Scope::Zone);
        let member = Member {
            kubelet: node.kubelet,
            is_counted: !node.excluded_from_disruption,
            control_plane: node.control_plane,
            scope,
        };
        self.replace(&node.name, Some(member), now)
    }

    /// Records that a node was deleted.
    pub fn forget(&mut self, node: &str, now: i64) -> Affected {
        self.replace(&Arc::from(node), None, now)
    }

    fn replace(&mut self, name: &Arc<str>, member: Option<Member>, now: i64) -> Affected {
        if self.members.get(name) == member.as_ref() {
            return Affected::Nothing;
        }
        let mut touched = Vec::new();
        if let Some(before) = self.members.remove(name) {
            if let Some(counted) = self.scopes.get_mut(&before.scope) {
                counted.members = counted.members.saturating_sub(1);
                counted.change(&before, Counts::remove);
            }
            touched.push(before.scope);
        }
        if let Some(member) = member {
            let counted = self.scopes.entry(member.scope.clone()).or_default();
            counted.members += 1;
            counted.change(&member, Counts::add);
            touched.push(member.scope.clone());
            self.members.insert(Arc::clone(name), member);
        }
        let mut is_other_period = false;
        for scope in touched {
            is_other_period |= self.update_period(scope, now);
        }
        if is_other_period { Affected::All } else { Affected::Node }
    }

    /// Returns true if the period of a scope has changed.
    fn update_period(&mut self, scope: Option<Arc<str>>, now: i64) -> bool {
        let Entry::Occupied(mut entry) = self.scopes.entry(scope) else { return false };
        if entry.get().members == 0 {
            entry.remove();
            return true;
        }
        let counted = entry.get_mut();
        let period = counted.counts().period(self.policy, now);
        std::mem::replace(&mut counted.period, period) != period
    }

    /// The rule for what the node lifecycle controller marked at a time: a pod of this node, or the node itself.
    pub fn hold(&self, node: &str, marked: i64) -> Hold {
        let Some(member) = self.members.get(node) else { return Hold::No };
        let period = self.scopes.get(&member.scope).map_or(Period::Calm, |counted| counted.period);
        hold(marked, member.kubelet, period, self.policy)
    }

    /// The names of all nodes, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.keys()
    }

    /// The states of all scopes, by zone.
    pub fn scopes(&self) -> impl Iterator<Item = ScopeState> {
        self.scopes.iter().map(|(zone, counted)| {
            let counts = counted.counts();
            ScopeState {
                zone: zone.clone(),
                period: counted.period,
                lost: counts.lost(),
                total: counts.total(),
            }
        })
    }
}
