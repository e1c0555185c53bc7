//! The time without a writer, by the times in Leases. Pure.

use std::time::Duration;

use go_text::duration::format_go_duration;
use jiff::Timestamp;

use super::facts::{Facts, Goal};

/// The time from the last renewal of the program that wrote, to the acquisition by the one that writes.
pub(super) fn gap(goal: Goal, facts: &Facts) -> Option<(Timestamp, Timestamp)> {
    let known = facts.record.last_renewal;
    let (lease, from) = match goal {
        Goal::Handover => (facts.lease.as_ref(), known),
        Goal::Rollback => {
            (facts.built_in.as_ref(), known.or_else(|| facts.lease.as_ref().and_then(|lease| lease.renewed)))
        }
    };
    let (from, to) = (from?, lease?.acquired?);
    // Behind a takeover gate a leader does not write yet.
    let passed = facts.gate.as_ref().and_then(|gate| gate.passed).filter(|_| goal == Goal::Handover);
    // A leader from before the end of the other: none was missing.
    Some((from, to.max(from).max(passed.unwrap_or(from))))
}

/// The last line of a migration.
pub(super) fn line(goal: Goal, facts: &Facts) -> String {
    let Some((from, to)) = gap(goal, facts) else {
        return "Longest time without a writer: not known, because no Lease shows the end of the last one"
            .to_owned();
    };
    let milliseconds = u64::try_from(to.duration_since(from).as_millis()).unwrap_or_default();
    let time = format_go_duration(Duration::from_millis(milliseconds));
    let (last, first) = match goal {
        Goal::Handover => ("kube-controller-manager", "endpoint-controller-manager"),
        Goal::Rollback => ("endpoint-controller-manager", "kube-controller-manager"),
    };
    format!(
        "Longest time without a writer: {time}, from the last renewal by {last} ({from}) until {first} could write ({to})"
    )
}
