//! The time within which the objects are right after the last fault.

use std::time::Duration;

use crate::action::Action;
use crate::fault::Fault;
use crate::plan::Plan;
use crate::replica::renew_deadline;

/// A list-watch may notice a dead peer after 150 s, and retry its list after 60 s.
const WATCHES: u64 = 150 + 60;
/// A standby may wait for a connection that leads nowhere.
const CONNECTION: u64 = 25;
/// A contested repair waits for two minutes at most.
const REPAIRS: u64 = 120;
/// A conflict is retried after a minute at most.
const CONFLICTS: u64 = 60;
/// A refused key is retried after up to 1000 s.
const REFUSALS: u64 = 1_000;
/// A change waits for others of its slice.
const DEFERRAL: u64 = 5;
/// A batch period passes.
const BATCH: u64 = 1;

/// The sum of the bounds in `docs/operate/reliability.md` for the faults that this history has.
pub fn bound(plan: &Plan) -> Duration {
    let election = if plan.setup.election { renew_deadline(&plan.setup) * 3 / 2 + CONNECTION } else { 0 };
    let refused = plan.faults().into_iter().any(refuses);
    let refusals = if refused { REFUSALS } else { 0 };
    let deferral = if plan.setup.coalescing { DEFERRAL } else { 0 };
    let waits = REPAIRS + CONFLICTS + BATCH + refusals + deferral + turns(plan);
    let bound = Duration::from_secs(WATCHES + election + waits);
    // Timers of a replica whose clock is slow take up to a quarter longer.
    if plan.faults().contains(&Fault::ClockRate) { bound * 5 / 4 } else { bound }
}

/// The bound of `controller_kit::write_order`, in seconds: ten turns of five writes for each key that was there before. Objects of
/// the workload have few keys; another tenant's are counted.
fn turns(plan: &Plan) -> u64 {
    let Some(rate) = plan.setup.writes_per_second else { return 0 };
    let keys = plan.timeline.iter().map(|entry| match entry.action {
        Action::Tenant { services } => services,
        Action::Crowd { from, to } => to - from,
        _ => 1,
    });
    5 + 10 * 5 * keys.sum::<usize>() as u64 / u64::from(rate)
}

/// The time within which controllers forget Services that need nothing: what they have seen of their pods is dropped by a
/// look each minute that finds it a minute old, by a clock that may be slow.
pub fn forgotten(plan: &Plan) -> Duration {
    let sync_caches =
        plan.setup.sync_cache_min_pods.map_or(Duration::ZERO, |_| Duration::from_secs(2 * 60) * 5 / 4);
    bound(plan) + sync_caches
}

/// True for faults that refuse writes or leave them without an answer: only these make a back-off grow.
fn refuses(fault: Fault) -> bool {
    let harmless = Fault::OF_WATCHES.contains(&fault)
        || matches!(
            fault,
            Fault::Conflict
                | Fault::Lag
                | Fault::Compaction
                | Fault::Crash
                | Fault::CrashAtPoll
                | Fault::Terminate
                | Fault::ClockJump
                | Fault::ClockRate
                | Fault::ForeignEdit
                | Fault::ForeignDelete
                | Fault::ForeignRelabel
                | Fault::ForeignOwner
                | Fault::ForeignRecreate
                | Fault::LabelSwitch
                | Fault::GateSwitch
                | Fault::ForeignNothing
                | Fault::ForeignDeleteAll
                | Fault::SecondWriter
                | Fault::PolicyMark
                | Fault::KubeletLost
        );
    !harmless
}
