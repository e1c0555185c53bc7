//! The counts of one set of nodes, and the period of disruption that follows from them.

use std::collections::BTreeMap;

use super::{Policy, WAY_OUT};
use crate::model::Kubelet;

/// The fewest lost nodes that are a disruption (`ComputeZoneState` of node lifecycle has the same bound for a partial one).
pub const MIN_LOST: usize = 3;

/// A disruption, as far as it matters now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// There is none.
    #[default]
    Calm,
    /// It lasts.
    Ongoing,
    /// It ended at a time, in seconds since the epoch: then the first node came back without which the share is not lost.
    Ended {
        /// The time of that return.
        at: i64,
    },
}

/// Nodes that are counted together: those that are ready, and those that are lost.
///
/// Nodes that their kubelets call not ready are not counted, as little as those that were never ready.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    ready: usize,
    lost: usize,
    /// The ready nodes that came back, by the time of their return.
    returned: BTreeMap<i64, usize>,
}

impl Counts {
    pub(super) fn add(&mut self, kubelet: Kubelet) {
        match kubelet {
            Kubelet::Lost { .. } => self.lost += 1,
            Kubelet::Posting { ready: true, returned } => {
                self.ready += 1;
                if let Some(at) = returned {
                    *self.returned.entry(at).or_default() += 1;
                }
            }
            Kubelet::Posting { ready: false, .. } | Kubelet::Unread => {}
        }
    }

    /// Undoes [`Self::add`].
    pub(super) fn remove(&mut self, kubelet: Kubelet) {
        match kubelet {
            Kubelet::Lost { .. } => self.lost = self.lost.saturating_sub(1),
            Kubelet::Posting { ready: true, returned } => {
                self.ready = self.ready.saturating_sub(1);
                if let Some(at) = returned {
                    decrement(&mut self.returned, at);
                }
            }
            Kubelet::Posting { ready: false, .. } | Kubelet::Unread => {}
        }
    }

    /// The nodes that are lost.
    pub(super) fn lost(&self) -> usize {
        self.lost
    }

    /// The nodes that are lost or ready.
    pub(super) fn total(&self) -> usize {
        self.ready + self.lost
    }

    /// The last period, looking back from `now`, in seconds since the epoch.
    ///
    /// Goes back from return to return: just before each, its node was lost too. A node that is lost now counts as lost then,
    /// although it may have been lost since: one that came back for a moment has lost the time of that return, and must not
    /// end the way out of all others. Returns that are too old for anything to be kept because of them are not looked at, and
    /// so `now` changes nothing but the cost.
    ///
    /// Cost: the seconds of the last twenty minutes in which nodes came back.
    pub(super) fn period(&self, policy: Policy, now: i64) -> Period {
        let is_share = |lost: usize| {
            lost >= MIN_LOST
                && lost.saturating_mul(100) >= self.total().saturating_mul(policy.percent as usize)
        };
        if is_share(self.lost) {
            return Period::Ongoing;
        }
        let mut lost = self.lost;
        for (&at, nodes) in self.returned.range(now.saturating_sub(2 * WAY_OUT)..).rev() {
            lost += nodes;
            if is_share(lost) {
                return Period::Ended { at };
            }
        }
        Period::Calm
    }
}

impl Period {
    /// True while it lasts.
    #[must_use]
    pub fn is_ongoing(self) -> bool {
        self == Self::Ongoing
    }
}

fn decrement(counts: &mut BTreeMap<i64, usize>, key: i64) {
    if let Some(count) = counts.get_mut(&key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&key);
        }
    }
}
