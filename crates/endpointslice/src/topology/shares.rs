//! The share of the CPU that each zone has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocation::{Allocation, Allocations};
use super::outcome::{NoHints, NoHintsReason};
use super::overload::{as_f64, minimum};
use crate::model::Node;

/// The share of the cluster's CPU that each zone has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneShares(Shares);

#[derive(Clone, Debug, Default, PartialEq)]
enum Shares {
    /// No nodes are known yet.
    #[default]
    Unknown,
    /// The shares can't be computed from the nodes.
    Insufficient,
    /// The share of each of two or more zones; above 0, and 1 together.
    Known(BTreeMap<Arc<str>, f64>),
}

impl ZoneShares {
    /// Zones and their shares, by name; none if they can't be computed.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, f64)> {
        let shares = match &self.0 {
            Shares::Known(shares) => Some(shares.iter()),
            Shares::Unknown | Shares::Insufficient => None,
        };
        shares.into_iter().flatten().map(|(zone, share)| (zone, *share))
    }

    /// The part of `endpoints` that each zone should have, or the reason for no hints (`topologycache.go`
    /// `getAllocations`).
    pub fn allocate(&self, endpoints: usize) -> Result<Allocations, NoHints> {
        let no_hints = |reason| Err(NoHints { endpoints, reason });
        let shares = match &self.0 {
            Shares::Unknown => return no_hints(NoHintsReason::UnknownNodes),
            Shares::Insufficient => return no_hints(NoHintsReason::InsufficientNodes),
            Shares::Known(shares) => shares,
        };
        let zones = shares.len();
        if zones > endpoints {
            return no_hints(NoHintsReason::TooFewEndpoints { zones });
        }
        let minima: usize = shares.values().map(|share| minimum(*share, endpoints)).sum();
        let Some(slack) = endpoints.checked_sub(minima) else {
            return no_hints(NoHintsReason::Overload { zones });
        };
        let allocation = |(zone, share): (&Arc<str>, &f64)| {
            let minimum = minimum(*share, endpoints);
            let desired = (share * as_f64(endpoints)).max(as_f64(minimum));
            (Arc::clone(zone), Allocation { minimum, maximum: minimum + slack, desired })
        };
        Ok(Allocations::new(shares.iter().map(allocation).collect()))
    }

    /// True if a zone has fewer of these endpoints than its minimum, so that they are overloaded (`utils.go`
    /// `serviceOverloaded`). Without shares, every zone counts as overloaded.
    pub(super) fn overload(&self, counts: &BTreeMap<Arc<str>, usize>) -> bool {
        let Shares::Known(shares) = &self.0 else { return true };
        let total = counts.values().sum();
        shares.iter().any(|(zone, share)| counts.get(zone).copied().unwrap_or(0) < minimum(*share, total))
    }
}

/// Totals of zones, updated node by node, so that a change doesn't iterate over the other nodes.
#[derive(Debug, Default)]
pub(super) struct NodeTotals {
    zones: BTreeMap<Arc<str>, ZoneTotal>,
    /// Nodes that count and lack a zone or CPU.
    incomplete: usize,
}

#[derive(Debug, Default)]
struct ZoneTotal {
    nodes: usize,
    /// Wide enough not to saturate, so that nodes can be subtracted again.
    milli_cpu: u128,
}

impl NodeTotals {
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut totals = Self::default();
        nodes.into_iter().for_each(|node| totals.add(node));
        totals
    }

    /// Cost: a look-up of the zone.
    pub(super) fn add(&mut self, node: &Node) {
        match counted(node) {
            Counted::Not => {}
            Counted::Incomplete => self.incomplete += 1,
            Counted::In(zone) => {
                let total = self.zones.entry(Arc::clone(zone)).or_default();
                total.nodes += 1;
                total.milli_cpu += u128::from(node.allocatable_milli_cpu);
            }
        }
    }

    /// Subtracts a node that was added. Cost: a look-up of the zone.
    pub(super) fn remove(&mut self, node: &Node) {
        match counted(node) {
            Counted::Not => {}
            Counted::Incomplete => self.incomplete = self.incomplete.saturating_sub(1),
            Counted::In(zone) => {
                let Some(total) = self.zones.get_mut(zone) else { return };
                total.nodes = total.nodes.saturating_sub(1);
                total.milli_cpu = total.milli_cpu.saturating_sub(node.allocatable_milli_cpu.into());
                if total.nodes == 0 {
                    self.zones.remove(zone);
                }
            }
        }
    }

    /// Computes the shares (`topologycache.go` `SetNodes`).
    ///
    /// Control-plane nodes and nodes that are not ready don't count. With one remaining node without zone or CPU, or with
    /// fewer than two zones, there are no shares.
    ///
    /// Cost: linear in zones.
    pub(super) fn shares(&self) -> ZoneShares {
        if self.incomplete > 0 || self.zones.len() < 2 {
            return ZoneShares(Shares::Insufficient);
        }
        let cpu = |total: &ZoneTotal| u64::try_from(total.milli_cpu).unwrap_or(u64::MAX);
        let sum = self.zones.values().fold(0, |sum: u64, total| sum.saturating_add(cpu(total)));
        let share = |(zone, total): (&Arc<str>, &ZoneTotal)| {
            (Arc::clone(zone), milli_cpu_as_f64(cpu(total)) / milli_cpu_as_f64(sum))
        };
        ZoneShares(Shares::Known(self.zones.iter().map(share).collect()))
    }
}

/// The contribution of a node to the totals.
enum Counted<'a> {
    Not,
    /// A node without zone or CPU.
    Incomplete,
    In(&'a Arc<str>),
}

fn counted(node: &Node) -> Counted<'_> {
    match &node.zone {
        _ if !node.ready || node.control_plane => Counted::Not,
        Some(zone) if node.allocatable_milli_cpu > 0 => Counted::In(zone),
        _ => Counted::Incomplete,
    }
}

#[allow(clippy::cast_precision_loss)] // beyond 2^52 the ratio of two sums is still good to 16 digits
fn milli_cpu_as_f64(milli_cpu: u64) -> f64 {
    milli_cpu as f64
}
