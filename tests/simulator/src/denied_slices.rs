//! Admission that denies updates and deletions of some slices, in a part of the seeds: endpoints in the other slices of the same
//! Service are withdrawn all the same.
//!
//! Drawn last and apart from everything else, so that the other seeds are the histories that they were.

use random_operations::rng::Rng;

use crate::action::Action;
use crate::fault::Fault;
use crate::setup::Setup;
use crate::timeline::{Entry, insert};

/// The share of seeds.
const SHARE: usize = 3;
/// The number of choices: admission denies one slice in three.
const ONE_OF: u8 = 3;

/// True if admission denies writes of this slice.
pub(crate) fn is_denied(name: &str, choice: u8) -> bool {
    name.bytes().fold(0, u8::wrapping_add) % ONE_OF == choice % ONE_OF
}

/// Replaces the faults of a seed by this one, if it is one that has it.
pub(crate) fn replace_faults(
    seed: u64,
    setup: &mut Setup,
    rates: &mut Vec<(Fault, u32)>,
    timeline: &mut Vec<Entry>,
) {
    let mut rng = Rng::new(seed ^ 0x0ef5_5ed0_0000_0000);
    if !rng.percent(SHARE) {
        return;
    }
    rates.clear();
    timeline.retain(Entry::is_workload);
    setup.max = *rng.pick(&[1, 2, 3]);
    let pods = *rng.pick(&[6, 12, 24]);
    let mut number = |below: u64| u64::try_from(rng.below(usize::try_from(below).unwrap())).unwrap();
    let end = timeline.last().map_or(0, |entry| entry.milliseconds);
    let start = number(20_000.min(end + 5_000));
    let mut entries = vec![(start, Action::Crowd { from: 0, to: pods })];
    // Until all slices exist, also with few writes a second.
    let (from, milliseconds) = (start + 40_000, 20_000 + number(60_000));
    entries.push((from, Action::RefuseSlices { choice: u8::try_from(number(3)).unwrap(), milliseconds }));
    for _ in 0..4 + number(12) {
        let at = from + number(milliseconds);
        // Several at once, as of a node.
        for _ in 0..=number(4) {
            let number = usize::try_from(number(pods as u64)).unwrap();
            entries.push((at, Action::CrowdReady { number, ready: at % 4 == 0 }));
        }
    }
    // What is denied is retried at last.
    entries.push((from + milliseconds + 4_000, Action::Touch(Vec::new())));
    insert(timeline, entries);
}
