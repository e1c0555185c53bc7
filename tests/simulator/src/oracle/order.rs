//! The order of writes under a low rate, alongside a tenant whose Services all come at once, or while admission refuses some
//! slices: how long endpoints wait whose writes are urgent, of the tenant too. Checked only in histories without other faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use expected_objects::Objects;
use random_operations::neighbour::TENANT;
use random_operations::{NAMES, NAMESPACE};
use tokio::time::{Instant, sleep, timeout};

use crate::action::Action;
use crate::denied_slices;
use crate::fault::Fault;
use crate::plan::Plan;
use crate::replica::requests_per_second;
use crate::world::World;

const LOOK: Duration = Duration::from_millis(500);
/// Writes that follow each other are looked at once: each look reads all Services, pods and slices.
const PACE: Duration = Duration::from_millis(100);
/// The time in which the first process fills its caches, and the sync of a change.
const START: Duration = Duration::from_secs(4);
const SYNC: Duration = Duration::from_secs(2);
/// The writes of a turn, which one that comes later does not interrupt.
const TURN: u32 = 5;
/// Of ten turns, nine have a write at least, and the tenth goes to the oldest key, for five: 14 writes for nine.
const SHARE: f64 = 14.0 / 9.0;
/// The writes that the endpoints of a Service may need, of slices that are packed anew.
const WRITES: u32 = 3;
/// Services that are as urgent for a reason that is not looked at here, such as endpoints that no longer serve.
const OTHERS: usize = 2;

/// An endpoint and its Service.
type Endpoint = (String, String);

/// The writes a second, of a history in which the order is looked at.
pub fn rate(plan: &Plan) -> Option<u32> {
    match plan.faults().as_slice() {
        [] => plan.setup.writes_per_second,
        [Fault::RefusedSlice] => Some(requests_per_second(&plan.setup)),
        _ => None,
    }
}

/// The slices that admission refuses at some time, if it does.
fn chosen(plan: &Plan) -> Option<u8> {
    plan.timeline.iter().find_map(|entry| match entry.action {
        Action::RefuseSlices { choice, .. } => Some(choice),
        _ => None,
    })
}

/// The writes of the Service with many pods and of all others, each of which may be refused once before it goes behind.
fn writes_of_refusals(plan: &Plan) -> u32 {
    let slices = plan.timeline.iter().map(|entry| match entry.action {
        Action::Crowd { from, to } => 2 * (to - from).div_ceil(plan.setup.max),
        _ => 0,
    });
    let writes = slices.sum::<usize>() + NAMES.len();
    u32::try_from(writes).unwrap_or(u32::MAX)
}

/// Endpoints of one urgency that wait.
struct Waiting {
    what: &'static str,
    /// Namespaces between which writes of this urgency are shared.
    namespaces: u32,
    since: BTreeMap<Endpoint, Instant>,
    /// The most Services that waited since one of these endpoints began to.
    services: usize,
}

impl Waiting {
    fn new(what: &'static str, namespaces: u32) -> Self {
        Self { what, namespaces, since: BTreeMap::new(), services: 0 }
    }

    fn look(&mut self, endpoints: BTreeSet<Endpoint>, now: Instant) {
        if self.since.is_empty() {
            self.services = 0;
        }
        self.since.retain(|endpoint, _| endpoints.contains(endpoint));
        let services: BTreeSet<&String> = endpoints.iter().map(|(service, _)| service).collect();
        self.services = self.services.max(services.len());
        for endpoint in endpoints {
            self.since.entry(endpoint).or_insert(now);
        }
    }

    /// The longest time for which one may wait, beyond that of its sync.
    fn bound(&self, services: usize, more: u32, rate: u32) -> Duration {
        let keys = u32::try_from(services + OTHERS).unwrap_or(u32::MAX);
        let writes = f64::from(TURN) + SHARE * f64::from(self.namespaces * (WRITES * keys + more));
        Duration::from_secs_f64(writes / f64::from(rate))
    }
}

/// The objects of a namespace that decide which endpoints should be ready, and the slices that say which are, without those that
/// are refused.
fn endpoints(world: &World, namespace: &str) -> Objects {
    let objects = |api_version, kind| world.objects_in(namespace, api_version, kind);
    let mut slices = objects("discovery.k8s.io/v1", "EndpointSlice");
    if let Some(choice) = chosen(&world.plan) {
        slices.retain(|name, _| !denied_slices::is_denied(name, choice));
    }
    Objects {
        services: objects("v1", "Service"),
        pods: objects("v1", "Pod"),
        nodes: objects("v1", "Node"),
        slices,
        gate: world.with(|state| state.gate),
        ..Objects::default()
    }
}

/// Reports endpoints that wait for longer than the order allows, until the history is over.
pub async fn watch(world: Weak<World>, rate: u32) {
    let mut dead = Waiting::new("a dead endpoint stays in a slice", 1);
    let mut first = Waiting::new("the first ready endpoint of a Service is in no slice", 2);
    let Some((changed, waits, refusals)) = world.upgrade().map(|world| {
        let setup = &world.plan.setup;
        let refusals = chosen(&world.plan).map(|_| writes_of_refusals(&world.plan));
        let waits = Duration::from_millis(setup.batch_milliseconds + 10 * setup.latency_milliseconds);
        (world.with(|state| Arc::clone(&state.watcher.changed)), LOOK + SYNC + waits, refusals)
    }) else {
        return;
    };
    let mut looked_at = None;
    loop {
        let _ = timeout(LOOK, changed.notified()).await;
        // Endpoints wait since the first of these writes.
        let now = Instant::now();
        sleep(PACE).await;
        let Some(world) = world.upgrade() else { return };
        let writes = Some(world.with(|state| state.watcher.all_writes()));
        if looked_at != writes {
            looked_at = writes;
            let now = now.max(world.start + START);
            let [mut of_dead, of_first] = endpoints(&world, NAMESPACE).urgent_endpoints();
            // Before its own Services, too.
            let [of_tenant, _] = endpoints(&world, TENANT).urgent_endpoints();
            of_dead.extend(of_tenant);
            dead.look(of_dead, now);
            // That one may be in a slice that is refused.
            if refusals.is_none() {
                first.look(of_first, now);
            }
        }
        // What is more urgent comes before it.
        for (waiting, services) in [(&dead, dead.services), (&first, dead.services + first.services)] {
            let longest = waits + waiting.bound(services, refusals.unwrap_or_default(), rate);
            let late = waiting.since.iter().find(|(_, since)| since.elapsed() > longest);
            if let Some(((service, endpoint), since)) = late {
                let (elapsed, longest) = (since.elapsed().as_secs_f64(), longest.as_secs_f64());
                world.violation(format!(
                    "{} for {elapsed:.1} s, more than {longest:.1} s: {service} {endpoint}",
                    waiting.what
                ));
                return;
            }
        }
    }
}
