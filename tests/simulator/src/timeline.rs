//! The timeline of a history: changes of the cluster, and faults.

use std::collections::BTreeSet;
use std::ops::Range;

use random_operations::neighbour::{BEDROCK_PODS, Interference};
use random_operations::rng::Rng;
use random_operations::{Generator, NAMES, Operation, Step};

use crate::action::{Action, KINDS};
use crate::fault::Fault;
use crate::setup::Setup;

/// An action and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The place in the full timeline, by which shrinking names it.
    pub number: usize,
    pub milliseconds: u64,
    pub action: Action,
}

impl Entry {
    /// True for changes of the cluster that are neither a fault nor made for one.
    pub(crate) fn is_workload(&self) -> bool {
        self.action.fault().is_none() && self.action != Action::Backup
    }
}

/// Adds entries with their times, and numbers all again.
pub(crate) fn insert(timeline: &mut Vec<Entry>, mut entries: Vec<(u64, Action)>) {
    entries.extend(timeline.drain(..).map(|entry| (entry.milliseconds, entry.action)));
    entries.sort_by_key(|(time, _)| *time);
    *timeline = numbered(entries);
}

/// Actions in order as a timeline.
pub fn numbered(entries: Vec<(u64, Action)>) -> Vec<Entry> {
    let entries = entries.into_iter().enumerate();
    entries.map(|(number, (milliseconds, action))| Entry { number, milliseconds, action }).collect()
}

/// Draws the changes and faults of a seed, in order of their time.
pub(crate) fn timeline(seed: u64, rng: &mut Rng, setup: &Setup, calm: bool) -> Vec<Entry> {
    let mut generator = Generator::new(seed, setup.topology, setup.custom_endpoints, true);
    let mut entries: Vec<(u64, Action)> = Vec::new();
    // A cluster in use, before the controllers start or while they do.
    let before = rng.below(25);
    let operations = before + 8 + rng.below(28);
    let span = *rng.pick(&[5_000, 20_000, 60_000]);
    let mut time = 0;
    for number in 0..operations {
        // Bursts: rollouts, mass deletions.
        let pause = if number < before || rng.percent(50) { 0 } else { rng.below(2 * span / 20) };
        time += u64::try_from(pause).unwrap();
        let Step { operation, touch, synced, .. } = generator.step();
        // Unlike upstream, a node that comes or moves to another zone is noticed.
        let noticed = matches!(operation, Operation::CreateNode { .. } | Operation::LabelNode { .. });
        let touch = if touch && !(noticed && rng.percent(50)) { synced } else { Vec::new() };
        entries.push((time, Action::Operation { operation: Box::new(operation), touch }));
    }
    // Pods of the Service that must stay reachable come and go around those that stay.
    let mut present = BTreeSet::new();
    for _ in 0..rng.below(8) {
        let number = BEDROCK_PODS + rng.below(6);
        let comes = present.insert(number);
        if !comes {
            present.remove(&number);
        }
        time += u64::try_from(rng.below(1_500)).unwrap();
        entries.push((time, Action::Extra { number, present: comes }));
    }
    let window = 0..time.max(5_000) + 10_000;
    if rng.percent(30) {
        rollout(rng, &window, &mut entries);
    }
    if rng.percent(30) {
        flaps(rng, &window, &mut entries);
    }
    if !calm {
        let density = *rng.pick(&[2, 6, 15]);
        let services = created_services(&entries);
        for fault in Fault::OF_TIMELINES {
            // Restores cost time, and end much else.
            let density = match fault {
                Fault::Restore => density.min(3),
                Fault::LabelSwitch if setup.gate => density.max(15),
                Fault::Freeze if setup.replicas > 1 => density.max(20),
                _ => density,
            };
            while rng.percent(density) {
                entries.extend(fault_entries(*fault, rng, setup, &window, &services));
            }
        }
    }
    entries.sort_by_key(|(time, _)| *time);
    age_backups(rng, setup, &mut entries);
    entries.sort_by_key(|(time, _)| *time);
    numbered(entries)
}

/// The minimum age of a backup when it is restored. The program notices the restore of every backup that is older than
/// five minutes and than the time in which the restored store catches up (`endpoint-informers` `CONFIRMED_FOR`).
const BACKUP_AGE: u64 = 650_000;

/// Inserts a pause somewhere between each backup and its restore. Sometimes a replica is then cut off until the restored
/// store has caught up.
fn age_backups(rng: &mut Rng, setup: &Setup, entries: &mut Vec<(u64, Action)>) {
    let (mut since, mut cut_off) = (None, Vec::new());
    for index in 0..entries.len() {
        match (&entries[index].1, since) {
            (Action::Backup, _) => since = Some(index),
            (Action::Restore { .. }, Some(last)) => {
                let later = last + 1 + rng.below(index - last);
                entries[later..].iter_mut().for_each(|(time, _)| *time += BACKUP_AGE);
                since = Some(index);
                if rng.percent(30) {
                    let (time, milliseconds) = (entries[index].0, BACKUP_AGE + 60_000);
                    let replica = rng.below(setup.replicas);
                    cut_off.push((time - 500, Action::Partition { replica, milliseconds }));
                    cut_off.push((time + milliseconds, Action::Touch(NAMES.map(ToOwned::to_owned).to_vec())));
                }
            }
            _ => {}
        }
    }
    entries.extend(cut_off);
}

/// A ready pod of the Service that must stay reachable comes and goes, faster than some watches show what was written for
/// it: the cache then shows the objects as they should be again, and not as they are.
fn flaps(rng: &mut Rng, window: &Range<u64>, entries: &mut Vec<(u64, Action)>) {
    let number = BEDROCK_PODS + 6;
    let (mut time, pause) = (at(rng, window), *rng.pick(&[5, 30, 120, 600]));
    for change in 0..2 * (1 + rng.below(3)) {
        entries.push((time, Action::Extra { number, present: change % 2 == 0 }));
        time += pause;
    }
}

/// All nodes change their zone at once, or go and come back.
fn rollout(rng: &mut Rng, window: &Range<u64>, entries: &mut Vec<(u64, Action)>) {
    use random_operations::Operation::{CreateNode, DeleteNode, LabelNode};
    let time = at(rng, window);
    let zone = *rng.pick(&["a", "b", "z"]);
    for name in ["a", "b", "c"].map(ToOwned::to_owned) {
        let labels = serde_json::json!({"topology.kubernetes.io/zone": zone});
        if rng.percent(50) {
            entries.push((time, of_node(LabelNode { name, labels })));
        } else {
            let back = time + 100 + u64::try_from(rng.below(8_000)).unwrap();
            let node = CreateNode { name: name.clone(), zone: Some(zone.to_owned()), cpu: 2, ready: true };
            entries.push((time, of_node(DeleteNode { name })));
            entries.push((back, of_node(node)));
        }
    }
}

/// An operation on a node. That a node is gone is noticed for Services that are looked at.
fn of_node(operation: Operation) -> Action {
    let is_gone = matches!(operation, Operation::DeleteNode { .. });
    let touch = if is_gone { NAMES.map(ToOwned::to_owned).to_vec() } else { Vec::new() };
    Action::Operation { operation: Box::new(operation), touch }
}

fn at(rng: &mut Rng, window: &Range<u64>) -> u64 {
    let length = usize::try_from(window.end - window.start).unwrap();
    window.start + u64::try_from(rng.below(length)).unwrap()
}

/// The names of the Services that the history creates, once for each time; all names if it creates none.
fn created_services(entries: &[(u64, Action)]) -> Vec<String> {
    let created = entries.iter().filter_map(|(_, action)| match action {
        Action::Operation { operation, .. } => match operation.as_ref() {
            Operation::CreateService { name, .. } => Some(name.clone()),
            _ => None,
        },
        _ => None,
    });
    let created: Vec<String> = created.collect();
    if created.is_empty() { NAMES.map(ToOwned::to_owned).to_vec() } else { created }
}

fn fault_entries(
    fault: Fault,
    rng: &mut Rng,
    setup: &Setup,
    window: &Range<u64>,
    services: &[String],
) -> Vec<(u64, Action)> {
    let time = at(rng, window);
    let replica = rng.below(setup.replicas);
    let front = rng.below(setup.fronts);
    let pick = rng.below(1 << 20);
    let milliseconds = u64::try_from(*rng.pick(&[300, 3_000, 9_000, 12_000, 20_000, 40_000])).unwrap();
    let one = |action| vec![(time, action)];
    let foreign = |what| vec![(time, Action::Foreign { what, pick, of: None })];
    match fault {
        Fault::Lag => {
            let kind = rng.below(KINDS.len());
            let later = *rng.pick(&[50, 500, 3_000, 15_000]);
            let end = time + milliseconds;
            vec![
                (time, Action::Lag { front, kind, milliseconds: later }),
                (end, Action::Lag { front, kind, milliseconds: 0 }),
            ]
        }
        Fault::Compaction => one(Action::Compact),
        Fault::Restart => one(Action::Restart { front, milliseconds }),
        Fault::RollingRestart => one(Action::RollingRestart { milliseconds: milliseconds.min(5_000) }),
        Fault::Restore => {
            let later = time + 500 + u64::try_from(rng.below(20_000)).unwrap();
            let bump = *rng.pick(&[0, 0, 3, 20, 1_000_000]);
            // A pod that the restored store has never had, and caches remember.
            let lost = Action::Extra { number: BEDROCK_PODS + 8, present: true };
            vec![(time, Action::Backup), (time.midpoint(later), lost), (later, Action::Restore { bump })]
        }
        Fault::Partition => one(Action::Partition { replica, milliseconds }),
        Fault::ForbiddenWindow => one(Action::Forbid { milliseconds }),
        Fault::Quota => one(Action::Quota { milliseconds }),
        Fault::Unauthorized => one(Action::Unauthorized { milliseconds }),
        Fault::IdleTimeout => {
            let silent = rng.percent(50);
            // A client's pings, every 15 s, keep a connection that a balancer forgets without a word.
            let seconds = *rng.pick(if silent { &[3, 8, 14] } else { &[3, 8, 30] });
            one(Action::IdleTimeout { seconds, silent })
        }
        Fault::Crash => one(Action::Crash { replica }),
        Fault::CrashAtPoll => {
            let polls = 1 + u64::try_from(rng.below(400)).unwrap();
            one(Action::CrashAtPoll { replica, polls })
        }
        Fault::Terminate => one(Action::Terminate { replica }),
        Fault::Freeze => {
            let polls = 1 + u64::try_from(rng.below(400)).unwrap();
            // Longer than the Lease, or as long as for other faults.
            let milliseconds = *rng.pick(&[milliseconds, setup.retry_seconds * 10_000]);
            let freeze = if rng.percent(50) {
                Action::FreezeAtPoll { replica, polls, milliseconds }
            } else {
                Action::Freeze { replica, milliseconds }
            };
            // Just before, a pod comes or goes, so that there may be work under way, or waiting, when the process goes on.
            // Faults end after the last action, and with them the freeze: the Lease is to be lost before.
            let (number, before) = (BEDROCK_PODS + 7, u64::try_from(pick % 600).unwrap());
            let extra = Action::Extra { number, present: pick.is_multiple_of(2) };
            let end = (time + milliseconds + 2_000, Action::Extra { number, present: false });
            vec![(time.saturating_sub(before), extra), (time, freeze), end]
        }
        Fault::ClockJump => {
            let seconds = *rng.pick(&[-86_400, -20, -3, 3, 20, 86_400]);
            one(Action::ClockJump { replica, seconds })
        }
        // Most often the extremes, and often from the beginning.
        Fault::ClockRate => {
            let percent = *rng.pick(&[80, 80, 90, 110, 120, 120]);
            vec![(if rng.percent(50) { 0 } else { time }, Action::ClockRate { replica, percent })]
        }
        Fault::LeaseStolen => one(Action::StealLease),
        Fault::LeaseDeleted => one(Action::DeleteLease),
        Fault::LeaseEdited => one(Action::EditLease),
        Fault::ForeignEdit => foreign(Interference::Edit),
        Fault::ForeignDelete => foreign(Interference::Delete),
        Fault::ForeignRelabel => foreign(Interference::Relabel),
        Fault::ForeignOwner => foreign(Interference::Owner),
        Fault::ForeignRecreate => foreign(Interference::Recreate),
        Fault::LabelSwitch => {
            let service = rng.pick(services).clone();
            let value = *rng.pick(&[Some("example.com/other"), Some(""), Some("x")]);
            let mut entries = vec![(time, Action::Delegate { service: service.clone(), value })];
            if rng.percent(60) {
                entries.push((time + milliseconds, Action::Delegate { service, value: None }));
            }
            entries
        }
        Fault::GateSwitch => one(Action::SwitchGate),
        _ => Vec::new(),
    }
}
