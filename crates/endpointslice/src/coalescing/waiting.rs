//! The changes of one Service that wait.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use foldhash::quality::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::writes::{EndpointKey, Operation, PlannedWrite};
use crate::plan::{AddressTypePlan, SlicePlan};
use crate::well_known::LAST_CHANGE_TRIGGER_TIME;

/// The changes of one Service that wait to be written.
///
/// The time of a change is kept by endpoint, and not by slice or Service: while an endpoint waits to be added, each plan may
/// choose another slice for it. Times are relative to any moment that stays the same.
///
/// Memory: about 200 bytes for each change that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    since: HashMap<EndpointKey, Since, RandomState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Since {
    first: Duration,
    /// The trigger time that a write would have had at first.
    trigger_time: Option<String>,
}

/// The result of [`Waiting::hold_back`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// The changes that wait once the plan is carried out.
    pub waiting: Waiting,
    /// Writes that were taken out of the plan, with at least one change that has not waited before.
    pub deferred: usize,
    /// Writes in the plan that are made only because a change in them has waited for the longest time.
    pub expired: usize,
}

impl Waiting {
    /// Takes the writes out of a plan that may wait, and dates those that carry changes that have waited. `trigger_time` is
    /// that of the plan, `longest` the time after which a change is written with all others of its slice.
    ///
    /// Cost: linear in the writes of the plan and their soft changes.
    pub fn hold_back(
        &self,
        plan: &mut SlicePlan,
        writes: Vec<PlannedWrite>,
        now: Duration,
        longest: Duration,
        trigger_time: Option<&str>,
    ) -> HeldBack {
        let mut result = HeldBack::default();
        let mut held = vec![];
        for write in writes {
            let waited = || write.soft.iter().filter_map(|key| self.since.get(key));
            let is_due = waited().any(|since| since.first.saturating_add(longest) <= now);
            if write.urgent || is_due {
                let earliest = waited().filter_map(|since| since.trigger_time.as_deref()).min();
                date(plan, &write, earliest);
                result.expired += usize::from(!write.urgent);
                continue;
            }
            result.deferred += usize::from(write.soft.iter().any(|key| !self.since.contains_key(key)));
            for key in &write.soft {
                let new = || Since { first: now, trigger_time: trigger_time.map(ToOwned::to_owned) };
                let since = self.since.get(key).cloned().unwrap_or_else(new);
                result.waiting.since.insert(key.clone(), since);
            }
            held.push(write);
        }
        for plan in &mut plan.types {
            take_out(plan, &held);
        }
        result
    }

    /// The time of the first write that may not wait any longer.
    pub fn deadline(&self, longest: Duration) -> Option<Duration> {
        let first = self.since.values().map(|since| since.first).min()?;
        Some(first.saturating_add(longest))
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// The changes of both, with the times of `earlier` where both have them: for a plan that was not carried out in full,
    /// after which a change that should have been written may be found again.
    #[must_use]
    pub fn or_earlier(mut self, earlier: Self) -> Self {
        self.since.extend(earlier.since);
        self
    }
}

fn list(plan: &mut AddressTypePlan, operation: Operation) -> &mut Vec<EndpointSlice> {
    match operation {
        Operation::Create => &mut plan.create,
        Operation::Update => &mut plan.update,
        Operation::Delete => &mut plan.delete,
    }
}

/// Gives a write the earlier of two trigger times: its own, and that of a change that has waited.
fn date(plan: &mut SlicePlan, write: &PlannedWrite, earliest: Option<&str>) {
    let Some(earliest) = earliest else { return };
    let of_type = plan.types.iter_mut().find(|plan| plan.address_type == write.address_type);
    let slice = of_type.and_then(|plan| list(plan, write.operation).get_mut(write.position));
    let Some(slice) = slice.filter(|_| write.operation != Operation::Delete) else { return };
    let annotations = slice.metadata.annotations.get_or_insert_default();
    let time = annotations.entry(LAST_CHANGE_TRIGGER_TIME.to_owned()).or_insert_with(|| earliest.to_owned());
    // RFC 3339 in UTC and whole seconds is ordered as text.
    if earliest < time.as_str() {
        earliest.clone_into(time);
    }
}

/// Takes these writes out of the plan of their address type, and out of its statistics.
fn take_out(plan: &mut AddressTypePlan, held: &[PlannedWrite]) {
    let held: Vec<&PlannedWrite> =
        held.iter().filter(|write| write.address_type == plan.address_type).collect();
    for write in &held {
        let statistics = &mut plan.statistics;
        statistics.endpoints_added = statistics.endpoints_added.saturating_sub(write.added);
        statistics.endpoints_updated = statistics.endpoints_updated.saturating_sub(write.updated);
        statistics.endpoints_removed = statistics.endpoints_removed.saturating_sub(write.removed);
        if let Some(group) = statistics.groups.get_mut(&write.ports) {
            match write.operation {
                Operation::Create => group.slices = group.slices.saturating_sub(1),
                Operation::Update => {}
                Operation::Delete => group.slices += 1,
            }
        }
    }
    let places: HashSet<(Operation, usize)> =
        held.iter().map(|write| (write.operation, write.position)).collect();
    for operation in [Operation::Create, Operation::Update, Operation::Delete] {
        let mut positions = 0..;
        list(plan, operation)
            .retain(|_| positions.next().is_none_or(|position| !places.contains(&(operation, position))));
    }
}
