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
    /// It ended at a time, in seconds since the epoch: then the first node came back, or was created, without which the share is lost.
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
    /// Nodes that came back then, and were lost before.
    returned: usize,
    /// Those of them that their kubelets call not ready now.
    returned_not_ready: usize,
    /// Ready nodes that were created then.
    created: usize,
}

impl Earlier {
    fn of(kubelet: Kubelet) -> Option<(i64, Self)> {
        let Kubelet::Posting { ready, returned, created } = kubelet else { return None };
        match returned {
            Some(at) => Some((at, Self { returned: 1, returned_not_ready: usize::from(!ready), created: 0 })),
            None if ready => Some((created?, Self { created: 1, ..Self::default() })),
            None => None,
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, kubelet: Kubelet) {
        self.nodes += 1;
        self.ready += usize::from(is_ready(kubelet));
        self.lost += usize::from(is_lost(kubelet));
        if let Some((at, Earlier { returned, returned_not_ready, created })) = Earlier::of(kubelet) {
            let known = self.earlier.entry(at).or_default();
            known.returned += returned;
            known.returned_not_ready += returned_not_ready;
            known.created += created;
        }
    }

    /// Undoes [`Self::add`].
    pub(super) fn remove(&mut self, kubelet: Kubelet) {
        self.nodes = self.nodes.saturating_sub(1);
        self.ready = self.ready.saturating_sub(usize::from(is_ready(kubelet)));
        self.lost = self.lost.saturating_sub(usize::from(is_lost(kubelet)));
        let Some((at, Earlier { returned, returned_not_ready, created })) = Earlier::of(kubelet) else { return };
        if let Some(known) = self.earlier.get_mut(&at) {
            known.returned = known.returned.saturating_sub(returned);
            known.returned_not_ready = known.returned_not_ready.saturating_sub(returned_not_ready);
            known.created = known.created.saturating_sub(created);
            if *known == Earlier::default() {
                self.earlier.remove(&at);
            }
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
    /// Goes back over returns and new nodes: just before its return, a node was lost, and before its creation it did not count.
    /// A node that is lost now counts as lost then,
    /// although it may have been lost since: one that came back for a moment has lost the time of that return, and must not
    /// end the way out of all others. What is too old for anything to be kept because of it is not looked at, and
    /// so `now` changes nothing but the cost.
    ///
    /// Cost: the seconds of the last twenty minutes in which nodes came back or were created.
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
            total = (total + earlier.returned_not_ready).saturating_sub(earlier.created);
            if is_share(lost, total) {
                return Period::Ended { at };
            }
        }
        Period::Calm
    }
}

fn is_ready(kubelet: Kubelet) -> bool {
    matches!(kubelet, Kubelet::Posting { ready: true, .. })
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
