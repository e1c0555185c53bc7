//! The time for which a ready endpoint is in no slice of its Service, and the lists that nothing calls for.
//!
//! Both are looked at only in histories whose faults all have a bound here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::end::expected;
use crate::action::{Action, KINDS};
use crate::fault::Fault;
use crate::plan::{Plan, Setup};
use crate::replica::renew_deadline;
use crate::world::{Started, World};

/// The longest time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// The time in which the first process fills its caches and writes what is missing.
const START: Duration = Duration::from_secs(4);
/// A lost slice is created again after a second, as by upstream, and a second is for the sync.
const SYNC: Duration = Duration::from_secs(2);
/// A process that was asked to stop is started again within five seconds, and may then wait for the Lease.
const RESTART: u64 = 10;
/// A process that was killed is started again within this time.
const KILLED: u64 = 5;
/// A slice that another client moves to another Service is replaced within the limit on repairs. Upstream waits for ever.
const REPAIRS: u64 = 120;

/// The seconds for which a fault may keep a ready endpoint out of all slices of its Service, beyond those of a sync; `None` if
/// only [`bound`](super::bound::bound) holds.
fn outage(fault: Fault) -> Option<u64> {
    match fault {
        // Upstream repairs all of these a second after the event.
        Fault::ForeignEdit
        | Fault::ForeignDelete
        | Fault::ForeignDeleteAll
        | Fault::ForeignOwner
        | Fault::ForeignRecreate => Some(0),
        // These take no endpoint from a slice.
        Fault::ForeignNothing | Fault::SecondWriter | Fault::PolicyMark => Some(0),
        Fault::LeaseEdited => Some(0),
        // Readiness is that which counts.
        Fault::KubeletLost => Some(0),
        Fault::ForeignRelabel => Some(REPAIRS),
        Fault::Terminate => Some(RESTART),
        // By the entries of the timeline: each adds to the outage of the one before.
        Fault::Crash | Fault::CrashAtPoll => Some(0),
        // Of a Service whose slices are taken, new endpoints wait for the next try. Upstream waits until it restarts.
        Fault::ForeignTake | Fault::PolicyReassign => None,
        _ => None,
    }
}

/// The seconds that a killed process adds: it may hold the Lease until that expires, which others notice within a retry period;
/// or it is started again, and fills its caches.
fn crash(setup: &Setup) -> u64 {
    let lease = if setup.election { renew_deadline(setup) * 3 / 2 + setup.retry_seconds } else { 0 };
    KILLED + START.as_secs() + lease
}

/// The number of times that a Lease without a holder may have to expire: once for each crash, and once for each end of a process
/// that waits for it, because its successor counts from when it has first seen the Lease.
fn waits_for_the_lease(plan: &Plan) -> u64 {
    let count =
        |is: fn(&Action) -> bool| plan.timeline.iter().filter(|entry| is(&entry.action)).count() as u64;
    let pinned = plan.pin.is_some_and(|pin| pin.accident.fault() == Fault::Crash);
    let crashes = count(|action| matches!(action, Action::Crash { .. } | Action::CrashAtPoll { .. }));
    match crashes + u64::from(pinned) {
        0 => 0,
        crashes => crashes + count(|action| matches!(action, Action::Terminate { .. })),
    }
}

/// The longest time for which a ready endpoint may be missing in this history, if its faults have a bound.
pub fn longest_outage(plan: &Plan) -> Option<Duration> {
    if plan.setup.writes_per_second.is_some() {
        return None;
    }
    let faults: Option<Vec<u64>> = plan.faults().into_iter().map(outage).collect();
    let setup = &plan.setup;
    // A change may wait for a batch period, and each of a few requests takes its time both ways.
    let waits = Duration::from_millis(setup.batch_milliseconds + 10 * setup.latency_milliseconds);
    let writes = plan.timeline.iter().filter_map(|entry| match entry.action {
        Action::Crowd { from, to } => Some((to - from).div_ceil(setup.max)),
        _ => None,
    });
    // Of a Service one after the other, at the lower of the rates of requests or with the mean latency of both ways.
    let write = Duration::from_millis(setup.latency_milliseconds.max(50));
    let writes = write * u32::try_from(writes.sum::<usize>()).unwrap_or_default();
    let crashes = Duration::from_secs(crash(setup) * waits_for_the_lease(plan));
    faults.map(|seconds| {
        LOOK + SYNC + waits + writes + crashes + Duration::from_secs(seconds.into_iter().sum())
    })
}

/// Reports ready endpoints that are missing for longer than this, until the history is over.
pub async fn watch(world: Weak<World>, longest: Duration) {
    let (mut since, mut looked_at) = (BTreeMap::new(), None);
    let Some(changed) = world.upgrade().map(|world| world.with(|state| Arc::clone(&state.watcher.changed)))
    else {
        return;
    };
    loop {
        // After each write, so that an endpoint that was back between two looks is seen.
        let _ = timeout(LOOK, changed.notified()).await;
        let Some(world) = world.upgrade() else { return };
        let writes = world.with(|state| state.watcher.all_writes());
        if looked_at == Some(writes) && since.is_empty() {
            continue;
        }
        if looked_at != Some(writes) {
            looked_at = Some(writes);
            let missing = wrong_endpoints(&world);
            since.retain(|endpoint, _| missing.contains(endpoint));
            let now = Instant::now().max(world.start + START);
            for endpoint in missing {
                since.entry(endpoint).or_insert(now);
            }
        }
        if report(&world, &since, longest) {
            return;
        }
    }
}

/// Ready endpoints that are missing; in histories with lost kubelets also those that are published and are not ready.
fn wrong_endpoints(world: &World) -> BTreeSet<String> {
    let objects = expected(world, Duration::ZERO);
    let mut wrong = objects.missing_endpoints();
    if world.plan.faults().contains(&Fault::KubeletLost) {
        wrong.extend(
            objects.surplus_endpoints().into_iter().map(|endpoint| format!("(the opposite) {endpoint}")),
        );
    }
    wrong
}

fn report(world: &World, since: &BTreeMap<String, Instant>, longest: Duration) -> bool {
    let Some((endpoint, since)) = since.iter().min_by_key(|(_, since)| **since) else { return false };
    let elapsed = since.elapsed();
    world.with(|state| state.watcher.outage = state.watcher.outage.max(elapsed));
    let is_late = elapsed > longest;
    if is_late {
        let seconds = longest.as_secs_f64();
        world.violation(format!("a ready endpoint is in no slice for more than {seconds:.1} s: {endpoint}"));
    }
    is_late
}

/// The number of times that each process listed each kind.
#[derive(Debug, Default)]
pub struct Lists(BTreeMap<(u64, usize), usize>);

impl World {
    /// A process lists a kind: when it starts, and when it has the Lease if it had to wait for it. Another list means that it
    /// takes something for a failed watch or a restored backup.
    pub fn listed(&self, replica: usize, started: Started, kind: usize) {
        if !self.has_bounds {
            return;
        }
        let most = 1 + usize::from(self.plan.setup.election);
        let count = self.with(|state| {
            let count = state.watcher.lists.0.entry((started.number, kind)).or_default();
            *count += 1;
            *count
        });
        if count > most {
            self.violation(format!("r{replica} lists {} {count} times though no watch failed", KINDS[kind]));
        }
    }
}
