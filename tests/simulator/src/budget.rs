//! Low rates of writes, in a part of the seeds, mostly alongside a tenant whose many Services come at once.
//!
//! They are drawn last and apart from everything else, as hostile clients are.

use random_operations::rng::Rng;

use crate::action::Action;
use crate::fault::Fault;
use crate::setup::Setup;
use crate::timeline::{Entry, insert};

/// The share of seeds with a low rate.
const SHARE: usize = 15;
/// The share of these with all their faults, and without the tenant: only the bounds at the end hold.
const WITH_FAULTS: usize = 40;
/// The tenant's Services for each write a second: first come, first served, others would wait for a minute.
const SERVICES: usize = 60;
/// The tenant's pods that stop being ready while its other Services wait.
const UNREADY: usize = 4;

/// Gives a low rate to the history of a seed, if it is one that has it, or if all have.
pub(crate) fn add(
    seed: u64,
    all: bool,
    setup: &mut Setup,
    rates: &mut Vec<(Fault, u32)>,
    timeline: &mut Vec<Entry>,
) {
    let mut rng = Rng::new(seed ^ 0x0b0d_6e70_0000_0000);
    if !rng.percent(SHARE) && !all {
        return;
    }
    if rng.percent(WITH_FAULTS) {
        setup.writes_per_second = Some(*rng.pick(&[1, 2, 5]));
        return;
    }
    let rate = *rng.pick(&[1, 2]);
    setup.writes_per_second = u32::try_from(rate).ok();
    rates.clear();
    timeline.retain(Entry::is_workload);
    let end = timeline.last().map_or(0, |entry| entry.milliseconds);
    let at = u64::try_from(rng.below(usize::try_from(end / 2 + 1_000).unwrap())).unwrap();
    let mut entries = vec![(at, Action::Tenant { services: rate * SERVICES })];
    for _ in 0..UNREADY {
        let seconds = 4 + rng.below(SERVICES / 2);
        // One that is written by then.
        let number = rng.below(seconds * rate / 2);
        entries.push((at + 1_000 * u64::try_from(seconds).unwrap(), Action::TenantUnready { number }));
    }
    insert(timeline, entries);
}
