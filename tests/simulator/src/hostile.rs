//! Clients and policies that change and delete the controllers' objects again and again, in a part of the seeds.
//!
//! They are drawn last and apart from everything else, so that they change no history of the other seeds. In some histories
//! they are the only faults: what these delay is not hidden by the bounds of others.

use random_operations::NAMES;
use random_operations::neighbour::{CROWD, Interference};
use random_operations::rng::Rng;

use crate::action::Action;
use crate::fault::Fault;
use crate::policy::{Change, Policy};
use crate::setup::Setup;
use crate::timeline::{Entry, insert};

/// The share of seeds with hostile clients or policies.
const SHARE: usize = 25;
/// The share of these without any other fault.
const ALONE: usize = 60;
/// The pods of a Service that grows: with two in a slice, more slices than one sync writes.
const GROWN: usize = 130;

type Entries = Vec<(u64, Action)>;

/// Adds hostile clients and policies to the history of a seed, if it is one that has them.
pub(crate) fn add(seed: u64, setup: &mut Setup, rates: &mut Vec<(Fault, u32)>, timeline: &mut Vec<Entry>) {
    let mut rng = Rng::new(seed ^ 0x0405_711e_0000_0000);
    if !rng.percent(SHARE) {
        return;
    }
    if rng.percent(ALONE) {
        rates.clear();
        timeline.retain(Entry::is_workload);
    }
    let end = timeline.last().map_or(0, |entry| entry.milliseconds);
    let mut entries: Entries = Vec::new();
    let first = rng.below(4);
    for kind in 0..4 {
        if kind != first && !rng.percent(20) {
            continue;
        }
        let start = number(&mut rng, 20_000.min(end + 5_000));
        match kind {
            0 => crowd(&mut rng, setup, start, &mut entries),
            1 => policy(&mut rng, start, &mut entries),
            2 => repeated(&mut rng, start, &mut entries),
            _ => others(&mut rng, start, &mut entries),
        }
    }
    insert(timeline, entries);
}

fn number(rng: &mut Rng, below: u64) -> u64 {
    u64::try_from(rng.below(usize::try_from(below).unwrap())).unwrap()
}

/// The Service with many pods, whose slices are deleted several times, or which grows when its repairs are used up.
fn crowd(rng: &mut Rng, setup: &mut Setup, start: u64, entries: &mut Entries) {
    let grows = rng.percent(10);
    let pods = if grows { 12 } else { *rng.pick(&[6, 12, 24]) };
    if grows {
        setup.max = 2;
    }
    entries.push((start, Action::Crowd { from: 0, to: pods }));
    let mut time = start + 5_000;
    let pause = *rng.pick(&[1_500, 2_500, 8_000]);
    // More deletions than the limiter has tokens, and sooner than it gets more.
    let pause = if grows { pause.min(2_500) } else { pause };
    let pause_milliseconds = *rng.pick(&[0, 0, 100, 700]);
    let times = if grows { 14 } else { 1 + rng.below(6) };
    for _ in 0..times {
        entries.push((time, Action::DeleteSlices { service: CROWD, pause_milliseconds }));
        time += pause;
    }
    if grows {
        entries.push((time, Action::Crowd { from: pods, to: GROWN }));
        for _ in 0..3 {
            let (what, pick) = (*rng.pick(&[Interference::Edit, Interference::Delete]), rng.below(1 << 20));
            entries.push((time + number(rng, 3_000), Action::Foreign { what, pick, of: Some(CROWD) }));
        }
        time += 5_000;
    }
    // Faults end later, and with them the time in which endpoints may be missing.
    entries.push((time + 4_000, Action::Touch(Vec::new())));
}

/// A policy, for some time or to the end; Services change meanwhile, and the process may be restarted.
fn policy(rng: &mut Rng, start: u64, entries: &mut Entries) {
    let changes = [
        Change::Label,
        Change::Label,
        Change::Annotate,
        Change::Manager(Some("someone")),
        Change::Manager(None),
        Change::Service,
    ];
    let change = *rng.pick(&changes);
    let policy = Policy {
        change,
        percent: *rng.pick(&[100, 100, 50]),
        only_slices: rng.percent(70),
        milliseconds: None,
    };
    let lasts = policy.fault() == Fault::PolicyMark && policy.percent == 100 && rng.percent(50);
    let milliseconds = *rng.pick(&[3_000, 30_000, 150_000]);
    let start = if rng.percent(50) { 0 } else { start };
    entries
        .push((start, Action::Policy(Policy { milliseconds: (!lasts).then_some(milliseconds), ..policy })));
    let all = || Action::Touch(NAMES.map(ToOwned::to_owned).to_vec());
    for _ in 0..=rng.below(4) {
        let action = if rng.percent(60) { Action::TouchEndpoints } else { all() };
        entries.push((start + number(rng, milliseconds), action));
    }
    if rng.percent(40) {
        entries.push((start + number(rng, milliseconds), Action::Terminate { replica: 0 }));
    }
    entries.push((start + milliseconds + 500, Action::TouchEndpoints));
    entries.push((start + milliseconds + 500, all()));
}

/// The same act of another client, many times.
fn repeated(rng: &mut Rng, start: u64, entries: &mut Entries) {
    use Interference::{Delete, Edit, Nothing, Owner, Recreate, Relabel};
    let what = *rng.pick(&[Edit, Delete, Relabel, Owner, Recreate, Nothing]);
    let service = *rng.pick(&NAMES);
    let of = rng.percent(70).then_some(service);
    let deletes_all = rng.percent(30);
    let (pause, pick) = (*rng.pick(&[300, 1_200, 4_000]), rng.below(1 << 20));
    let times = 2 + u64::try_from(rng.below(14)).unwrap();
    for count in 0..times {
        let action = if deletes_all {
            Action::DeleteSlices { service, pause_milliseconds: 0 }
        } else {
            Action::Foreign { what, pick, of }
        };
        entries.push((start + count * pause, action));
    }
    entries.push((start + times * pause + 4_000, Action::Touch(Vec::new())));
}

/// A client that takes new slices, or another program that mirrors the same Endpoints.
fn others(rng: &mut Rng, start: u64, entries: &mut Entries) {
    let milliseconds = *rng.pick(&[5_000, 20_000, 60_000]);
    if rng.percent(40) {
        entries.push((start, Action::TakeSlices { milliseconds }));
        entries.push((start + milliseconds + 500, Action::Touch(Vec::new())));
    } else {
        entries.push((start, Action::SecondWriter { milliseconds }));
        for _ in 0..rng.below(4) {
            entries.push((start + number(rng, milliseconds), Action::TouchEndpoints));
        }
    }
}
