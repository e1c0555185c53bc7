//! One history from start to end.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

use crate::action::Action;
use crate::apply::{apply, others_write};
use crate::audit;
use crate::fault::{Counts, Fault};
use crate::oracle::bound::{bound, forgotten};
use crate::oracle::end::{broken_rules, differences, read};
use crate::oracle::growth::may_withhold_creates;
use crate::oracle::leaks::{is_failing, leaked};
use crate::oracle::{order, outage};
use crate::plan::Plan;
use crate::replica::Replica;
use crate::steps::Steps;
use crate::world::World;

/// The time between two rounds of the garbage collector.
const COLLECTIONS: Duration = Duration::from_secs(4);
/// The time that a fresh process gets to write what it thinks is missing.
const FRESH: Duration = Duration::from_secs(4);
/// The time between two looks at the objects.
const STEP: Duration = Duration::from_secs(2);

/// The period of other clients' writes by which a restored store reaches the versions of before, about as long after the restore as
/// the backup was old.
const BEFORE_RESTORE: Duration = Duration::from_millis(500);
/// That of others in long histories: of a server on which nothing changes no bookmark comes, and clients take silence for a fault.
const WHILE_LOST: Duration = Duration::from_secs(30);

/// The end of a history.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Rules that were broken; empty if all is right.
    pub failures: Vec<String>,
    pub counts: Counts,
    /// Writes of slices and Endpoints.
    pub writes: u64,
    /// Virtual time.
    pub seconds: f64,
    /// From the last fault until the objects were right for good.
    pub recovery: f64,
    /// The longest time for which a ready endpoint was in no slice, where that has a bound.
    pub outage: f64,
    pub digest: u64,
    /// The writes of each step, if they were measured.
    pub steps: Steps,
    /// The number of requests before faults ended, without those of the recorder of events.
    pub requests: u64,
    pub trace: Vec<String>,
}

/// Runs a history.
pub fn run(plan: &Plan, traced: bool) -> Outcome {
    fastrand::seed(plan.seed);
    let mut runtime = Builder::new_current_thread();
    runtime.enable_time().start_paused(true);
    // Which of several tasks that wait for one value is woken first.
    #[cfg(tokio_unstable)]
    runtime.rng_seed(tokio::runtime::RngSeed::from_bytes(&plan.seed.to_le_bytes()));
    let runtime = runtime.build().expect("a runtime");
    let outcome = runtime.block_on(history(plan.clone(), traced));
    runtime.shutdown_background();
    outcome
}

async fn history(plan: Plan, traced: bool) -> Outcome {
    let world = World::new(plan, traced);
    let mut replicas: Vec<Replica> =
        (0..world.plan.setup.replicas).map(|number| Replica::start(&world, number)).collect();
    if world.plan.timeline.iter().any(|entry| entry.action == Action::Backup) {
        others_write(&world, BEFORE_RESTORE);
    } else if world.plan.faults().contains(&Fault::KubeletLost) {
        others_write(&world, WHILE_LOST);
    }
    if let Some(rate) = order::rate(&world.plan) {
        tokio::spawn(order::watch(Arc::downgrade(&world), rate));
    }
    if let Some(longest) = outage::longest_outage(&world.plan) {
        tokio::spawn(outage::watch(Arc::downgrade(&world), longest));
    }
    if !world.plan.setup.collects_at_once {
        tokio::spawn(collect(Arc::clone(&world)));
    }
    for entry in &world.plan.timeline {
        sleep_until(world.start + Duration::from_millis(entry.milliseconds)).await;
        if entry.action.fault().is_none() {
            world.with(|state| state.steps.begin(entry.number));
        }
        apply(&world, &replicas, &entry.action);
    }
    // Faults of requests and watches go on for a while after the last change.
    sleep(Duration::from_secs(1)).await;
    world.heal();
    let (healed, requests) = (Instant::now(), world.with(|state| state.requests));
    let mut failures = settle(&world, &replicas, healed).await;
    let recovery = world.with(|state| state.watcher.last_write).saturating_duration_since(healed);
    if failures.is_empty() {
        failures = busy_queues(&replicas);
        if !failures.is_empty() {
            // Keys that keep failing, as of pods on missing nodes, are queued now and then.
            sleep(Duration::from_millis(300)).await;
            failures = busy_queues(&replicas);
        }
    }
    if failures.is_empty() {
        failures = forget(&world, &replicas, healed).await;
    }
    if failures.is_empty() && world.plan.audited {
        failures = audited(&world).await;
    }
    for replica in replicas.drain(..) {
        replica.stop().await;
    }
    if failures.is_empty() && world.with(|state| state.watcher.violations.is_empty()) {
        failures = fresh_start(&world).await;
    }
    let outage = world.with(|state| state.watcher.outage);
    let (violations, counts, writes, digest, steps) = world.with(|state| {
        let violations = std::mem::take(&mut state.watcher.violations);
        let steps = std::mem::take(&mut state.steps);
        (violations, state.counts.clone(), state.watcher.writes, state.digest, steps)
    });
    Outcome {
        failures: violations.into_iter().chain(failures).collect(),
        counts,
        writes,
        seconds: world.start.elapsed().as_secs_f64(),
        recovery: recovery.as_secs_f64(),
        outage: outage.as_secs_f64(),
        digest,
        steps,
        requests,
        trace: world.take_trace(),
    }
}

/// Audits the objects, until nothing is found or a minute has passed: a replica that crashed may have to wait for its own
/// Lease before it leads again.
async fn audited(world: &World) -> Vec<String> {
    let start = Instant::now();
    loop {
        let alarms = audit::false_alarms(world);
        if alarms.is_empty() || start.elapsed() > Duration::from_secs(60) {
            return alarms;
        }
        sleep(STEP).await;
    }
}

/// Waits until no retry is left, and nothing is remembered of what is gone. Returns what is after the bound.
async fn forget(world: &World, replicas: &[Replica], healed: Instant) -> Vec<String> {
    loop {
        let leaked = leaked(world, replicas);
        let is_done = leaked.is_empty() && !is_failing(replicas);
        if is_done || healed.elapsed() > forgotten(&world.plan) {
            return leaked;
        }
        sleep(5 * STEP).await;
    }
}

/// The garbage collector until faults end; then [`settle`] does its work.
async fn collect(world: Arc<World>) {
    let mut healed = world.healed.subscribe();
    while tokio::time::timeout(COLLECTIONS, healed.wait_for(|healed| *healed)).await.is_err() {
        world.collect_slices(&read(&world));
    }
}

/// Waits until the objects are right and nothing is written any more. Returns what is wrong after the bound.
async fn settle(world: &Arc<World>, replicas: &[Replica], healed: Instant) -> Vec<String> {
    let quiet = Duration::from_secs(world.plan.setup.quiet_seconds);
    let mut looked_at = None;
    let (mut wrong, mut settled_since) = (Vec::new(), healed);
    loop {
        sleep(STEP).await;
        if !world.with(|state| state.watcher.violations.is_empty()) {
            return Vec::new();
        }
        let last = world.with(|state| state.watcher.last_write.max(state.late_until));
        let last_fault = world.with(|state| healed.max(state.late_until));
        let version = world.server.version();
        // Renewals of the Lease raise the version as well, but nothing that matters.
        let writes = world.with(|state| state.watcher.writes + state.watcher.leftovers);
        if looked_at != Some(writes) {
            looked_at = Some(writes);
            let objects = world.collect_garbage(read(world));
            wrong = differences(world, &objects);
            if wrong.is_empty() {
                wrong = broken_rules(world, &objects);
            }
            world.log(|| format!("at version {version}: {wrong:?}"));
        }
        // Processes that see everything and wait for nothing, and no write of an earlier one that may still arrive.
        let watches = 5 + usize::from(world.with(|state| state.gate));
        let mut hosts = replicas.iter().filter_map(Replica::host);
        let settled = hosts.all(|host| !host.is_waiting() && host.watches() == watches);
        if !settled || world.with(|state| state.on_their_way > 0) {
            settled_since = Instant::now();
        }
        let quiet_since = last.max(settled_since);
        if wrong.is_empty() && quiet_since.elapsed() >= quiet {
            return wrong;
        }
        if last_fault.elapsed() > bound(&world.plan) + quiet {
            if wrong.is_empty() {
                wrong.push("writes go on without changes".to_owned());
            }
            return wrong;
        }
    }
}

/// A fresh process has nothing to write.
async fn fresh_start(world: &Arc<World>) -> Vec<String> {
    world.log(|| "a fresh process starts".to_owned());
    let replica = Replica::start(world, world.plan.setup.replicas);
    let deadline = Instant::now() + Duration::from_secs(60);
    while replica.metrics().is_none() && Instant::now() < deadline {
        sleep(Duration::from_millis(500)).await;
    }
    // It may contend for a Lease that was not released.
    sleep(FRESH).await;
    let mut failures = Vec::new();
    if replica.metrics().is_none() {
        failures.push("a fresh process does not fill its caches within 60 s".to_owned());
    }
    replica.stop().await;
    // Not those of earlier processes, whose last requests may arrive now.
    let writes = world.with(|state| state.watcher.last_replica_writes);
    // The one before may have stopped creating slices that are taken, which is not seen if it never completes them.
    let may_be_incomplete = may_withhold_creates(&world.plan) && read(world).has_unjudged_mirrors();
    if writes > 0 && !may_be_incomplete {
        failures.push(format!("a fresh process writes {writes} times"));
    }
    failures
}

/// Queues whose keys are left over.
fn busy_queues(replicas: &[Replica]) -> Vec<String> {
    let mut busy = Vec::new();
    for registry in replicas.iter().filter_map(Replica::metrics) {
        busy.extend(depths(&registry).into_iter().map(|line| format!("not quiet: {line}")));
    }
    busy
}

fn depths(registry: &Registry) -> Vec<String> {
    let mut text = String::new();
    encode(&mut text, registry).expect("metrics");
    let lines = text.lines().filter(|line| line.starts_with("workqueue_depth{"));
    lines.filter(|line| !line.ends_with(" 0")).map(ToOwned::to_owned).collect()
}
