//! Transfers of endpoints between zones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocation::{Allocation, Allocations};
use super::outcome::ZoneCounts;
use super::overload::as_f64;

/// A ready endpoint whose hint is not fixed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// The zone of its node.
    pub(super) home: Arc<str>,
    /// The zone it serves.
    pub(super) hint: Arc<str>,
}

impl Open {
    /// An endpoint that serves its own zone.
    pub(super) fn at_home(zone: Arc<str>) -> Self {
        Self { home: Arc::clone(&zone), hint: zone }
    }

    fn is_lent(&self) -> bool {
        self.home != self.hint
    }
}

/// The number of endpoints that each zone gives and receives; the sums are equal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Transfers {
    pub(super) giving: ZoneCounts,
    pub(super) receiving: ZoneCounts,
}

impl Transfers {
    /// The transfers that bring `counts` close to what is desired (`utils.go` `getGivingAndReceivingZones`).
    ///
    /// In each step, the zone with the largest surplus gives one endpoint to the zone with the largest deficit, as long as
    /// one of them has a whole endpoint too many or too few and the other at least half: keeping traffic in its zone is
    /// preferred to a slightly better balance.
    pub(super) fn plan(allocations: &Allocations, counts: &ZoneCounts) -> Self {
        let excess = |(zone, allocation): (&Arc<str>, &Allocation)| {
            (Arc::clone(zone), as_f64(count_of(counts, zone)) - allocation.desired)
        };
        let mut spare: Vec<(Arc<str>, f64)> = allocations.iter().map(excess).collect();
        let mut lack: Vec<(Arc<str>, f64)> =
            spare.iter().map(|(zone, excess)| (Arc::clone(zone), -excess)).collect();
        let mut transfers = Self::default();
        while let (Some((giver, spare)), Some((receiver, lack))) = (most(&mut spare), most(&mut lack)) {
            if *spare < 0.5 || *lack < 0.5 || *spare < 1.0 && *lack < 1.0 {
                break;
            }
            *transfers.giving.entry(Arc::clone(giver)).or_default() += 1;
            *transfers.receiving.entry(Arc::clone(receiver)).or_default() += 1;
            *spare -= 1.0;
            *lack -= 1.0;
        }
        transfers
    }

    /// Carries out the transfers, as far as there are endpoints whose hint is not fixed (`utils.go`
    /// `redistributeHints`). Endpoints are taken in order. Each goes to the zone that still receives most, so that zones
    /// share a shortage.
    pub(super) fn carry_out(mut self, endpoints: &mut [Open], counts: &mut ZoneCounts) {
        for endpoint in endpoints {
            let Some(left) = self.giving.get_mut(&endpoint.hint).filter(|left| **left > 0) else { continue };
            let receiving = self.receiving.iter_mut().filter(|(_, left)| **left > 0);
            let Some((receiver, receives)) = receiving.rev().max_by_key(|(_, left)| **left) else { return };
            *left -= 1;
            *receives -= 1;
            move_to(endpoint, Arc::clone(receiver), counts);
        }
    }
}

/// Moves endpoints out of zones that exceed their maximum, to the zone with the largest deficit; first those that don't
/// serve their own zone anyway.
///
/// Upstream has no such step, and writes the same hints again in every sync. Afterwards no zone exceeds its maximum:
/// fixed hints were kept only up to the maximum, and the maxima together allow for every endpoint.
pub(super) fn keep_to_maximum(endpoints: &mut [Open], counts: &mut ZoneCounts, allocations: &Allocations) {
    for lent in [true, false] {
        for endpoint in endpoints.iter_mut().filter(|endpoint| endpoint.is_lent() == lent) {
            if count_of(counts, &endpoint.hint) > allocations.maximum(&endpoint.hint) {
                let Some(zone) = neediest(allocations, counts) else { return };
                move_to(endpoint, zone, counts);
            }
        }
    }
}

fn neediest(allocations: &Allocations, counts: &ZoneCounts) -> Option<Arc<str>> {
    let roomy = allocations.iter().filter(|(zone, allocation)| count_of(counts, zone) < allocation.maximum);
    let mut lack: Vec<(Arc<str>, f64)> = roomy
        .map(|(zone, allocation)| (Arc::clone(zone), allocation.desired - as_f64(count_of(counts, zone))))
        .collect();
    most(&mut lack).map(|(zone, _)| Arc::clone(zone))
}

/// The entry with the highest number, the first of several.
fn most(zones: &mut [(Arc<str>, f64)]) -> Option<&mut (Arc<str>, f64)> {
    zones.iter_mut().rev().max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn move_to(endpoint: &mut Open, zone: Arc<str>, counts: &mut ZoneCounts) {
    if let Some(count) = counts.get_mut(&endpoint.hint) {
        *count = count.saturating_sub(1);
    }
    *counts.entry(Arc::clone(&zone)).or_default() += 1;
    endpoint.hint = zone;
}

fn count_of(counts: &BTreeMap<Arc<str>, usize>, zone: &str) -> usize {
    counts.get(zone).copied().unwrap_or(0)
}
