//! The rule for one pod.

use super::{Period, Policy, WAY_OUT};
use crate::model::Kubelet;

/// Seconds by which the clocks of two kube-controller-managers, one of which marks the node and the other its pods, may differ.
/// Times have a granularity of one second, which changes no order.
const CLOCKS: i64 = 1;

/// Seconds after the return of a node, or after the end of a disruption, in which the node lifecycle controller may still be
/// marking pods that it listed before. It does so one after the other, at a limited rate.
const MARKING: i64 = 60;

/// The time until which something counts as ready that the node lifecycle controller has marked, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// It does not.
    #[default]
    No,
    /// Until a time, in seconds since the epoch.
    Until(i64),
    /// As long as nothing changes.
    Open,
}

impl Hold {
    /// True if it counts as ready at a time, in seconds since the epoch.
    #[must_use]
    pub fn at(self, now: i64) -> bool {
        match self {
            Self::No => false,
            Self::Until(end) => now < end,
            Self::Open => true,
        }
    }

    /// The time at which it ceases to count as ready, if it does by time alone.
    #[must_use]
    pub fn end(self) -> Option<i64> {
        if let Self::Until(end) = self { Some(end) } else { None }
    }

    fn at_most_until(self, end: Option<i64>) -> Self {
        end.map_or(self, |end| self.min(Self::Until(end)))
    }

    /// `seconds` after a time, unless there are none.
    fn for_seconds(time: i64, seconds: i64) -> Self {
        if seconds > 0 { Self::Until(time.saturating_add(seconds)) } else { Self::No }
    }
}

/// The rule for a pod that nothing but the node lifecycle controller calls not ready, since the time `marked`. `kubelet` is that
/// of its node, and `period` that of the node's scope.
///
/// * The kubelet is lost: the pod counts as ready while the disruption lasts, and for a while after it if it was marked, or the
///   kubelet was lost, in it. A mark from before the loss is that of an earlier one: the kubelet was back for a moment, too short
///   to report.
/// * The kubelet is back: for a while, because it reports on each pod in its own time.
/// * The kubelet posts, and there was no return since the mark: the news of the node is late, if the node was ready. If the
///   kubelet calls the node not ready, the mark is the kubelet's word.
#[must_use]
pub fn hold(marked: i64, kubelet: Kubelet, period: Period, policy: Policy) -> Hold {
    match kubelet {
        Kubelet::Unread => Hold::No,
        Kubelet::Lost { since } => {
            let in_disruption = match period {
                Period::Ongoing => Hold::Open,
                Period::Ended { at } if since.min(marked) < at => Hold::Until(at.saturating_add(WAY_OUT)),
                Period::Ended { .. } | Period::Calm => Hold::No,
            };
            let is_of_this_loss = marked.saturating_add(CLOCKS) >= since;
            let confirmation = if is_of_this_loss { policy.confirmation } else { 0 };
            let held = in_disruption.max(Hold::for_seconds(since, confirmation));
            held.at_most_until(policy.end.map(|end| since.min(marked).saturating_add(end)))
        }
        Kubelet::Posting { ready_since, returned, .. } => {
            let ready = ready_since.is_some();
            let is_late = |since: i64| ready && marked < since.saturating_add(MARKING);
            let of_return = returned.filter(|at| is_return_of(period, *at, marked));
            let of_return = of_return.filter(|at| marked < *at || is_late(*at));
            // Its pods were withdrawn at the end of what lost nodes keep.
            let of_return =
                of_return.filter(|at| policy.end.is_none_or(|end| *at < marked.saturating_add(end)));
            let of_return = of_return.map(|at| Hold::Until(at.max(marked).saturating_add(WAY_OUT)));
            let ahead_of_node = match period {
                _ if !ready => Hold::No,
                Period::Ongoing => Hold::for_seconds(marked, WAY_OUT),
                Period::Ended { .. } | Period::Calm => Hold::for_seconds(marked, policy.confirmation),
            };
            of_return.unwrap_or_default().max(ahead_of_node)
        }
    }
}

/// True if a node that came back at a time had been lost in a disruption, and its pods, one of which was marked, were kept until
/// it came back.
fn is_return_of(period: Period, returned: i64, marked: i64) -> bool {
    match period {
        Period::Calm => false,
        Period::Ongoing => true,
        Period::Ended { at } => marked < at.saturating_add(MARKING) && returned < at.saturating_add(WAY_OUT),
    }
}
