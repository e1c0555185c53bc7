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
    /// It ended at a time, in seconds since the epoch: then the first node came back, or began to count, without which the share is lost.
    Ended {
        /// That time.
        at: i64,
    },
}

/// Nodes that are counted together: those that are ready, and those that are lost.
///
/// Nodes that their kubelets call not ready are not counted, as little as those that were never ready.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// All of them.
    nodes: usize,
    ready: usize,
    lost: usize,
    earlier: BTreeMap<i64, Earlier>,
}

/// The nodes that counted otherwise before a time.
#[derive(Debug, Default, PartialEq, Eq)]
struct Earlier {
    /// Nodes that came back then: they were lost before.
    returned: usize,
    /// Nodes that became ready then, soon after they had come back or been created: they did not count before.
    began: usize,
}

impl Earlier {
    /// The times of a node's return and of its beginning to count, if they matter.
    fn of(kubelet: Kubelet) -> [Option<i64>; 2] {
        let Kubelet::Posting { ready_since, returned, created } = kubelet else { return [None; 2] };
        let began = ready_since.and_then(|since| {
            let exists = returned.or(created)?;
            // A later change is that of a kubelet that was restarted: the node counted before it, too.
            let is_first = since.saturating_sub(exists) < 2 * WAY_OUT;
            // One that came back counts again at once, or when it becomes ready.
            if is_first { Some(since.max(exists)) } else { returned }
        });
        [returned, began]
    }
}

impl Counts {
    pub(super) fn add(&mut self, kubelet: Kubelet) {
        self.nodes += 1;
        self.ready += usize::from(is_ready(kubelet));
        self.lost += usize::from(is_lost(kubelet));
        let [returned, began] = Earlier::of(kubelet);
        if let Some(at) = returned {
            self.earlier.entry(at).or_default().returned += 1;
        }
        if let Some(at) = began {
            self.earlier.entry(at).or_default().began += 1;
        }
    }

    /// Undoes [`Self::add`].
    pub(super) fn remove(&mut self, kubelet: Kubelet) {
        self.nodes = self.nodes.saturating_sub(1);
        self.ready = self.ready.saturating_sub(usize::from(is_ready(kubelet)));
        self.lost = self.lost.saturating_sub(usize::from(is_lost(kubelet)));
        let [returned, began] = Earlier::of(kubelet);
        self.forget(returned, |earlier| &mut earlier.returned);
        self.forget(began, |earlier| &mut earlier.began);
    }

    fn forget(&mut self, at: Option<i64>, count: impl Fn(&mut Earlier) -> &mut usize) {
        let Some((at, earlier)) = at.and_then(|at| Some((at, self.earlier.get_mut(&at)?))) else { return };
        let count = count(earlier);
        *count = count.saturating_sub(1);
        if *earlier == Earlier::default() {
            self.earlier.remove(&at);
        }
    }

    /// All nodes, also those that are neither lost nor ready.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
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
    /// Goes back over the times at which nodes came back, which were lost before, or began to count. A node that is lost now
    /// counts as lost then, although it may have been lost since: one that came back for a moment has lost the time of that
    /// return, and must not end the way out of all others. What is too old for anything to be kept because of it is not looked
    /// at, and so `now` changes nothing but the cost.
    ///
    /// Cost: the seconds of the last twenty minutes in which nodes came back or began to count.
    pub(super) fn period(&self, policy: Policy, now: i64) -> Period {
        let is_share = |lost: usize, total: usize| {
            lost >= MIN_LOST && lost.saturating_mul(100) >= total.saturating_mul(policy.percent as usize)
        };
        let (mut lost, mut total) = (self.lost, self.total());
        if is_share(lost, total) {
            return Period::Ongoing;
        }
        for (&at, earlier) in self.earlier.range(now.saturating_sub(2 * WAY_OUT)..).rev() {
            lost += earlier.returned;
            total = (total + earlier.returned).saturating_sub(earlier.began);
            if is_share(lost, total) {
                return Period::Ended { at };
            }
        }
        Period::Calm
    }
}

fn is_ready(kubelet: Kubelet) -> bool {
    matches!(kubelet, Kubelet::Posting { ready_since: Some(_), .. })
}

fn is_lost(kubelet: Kubelet) -> bool {
    matches!(kubelet, Kubelet::Lost { .. })
}

impl Period {
    /// True while it lasts.
    #[must_use]
    pub fn is_ongoing(self) -> bool {
        self == Self::Ongoing
    }
}
