//! The rules that hold at each write ([`Watcher`]), all the time ([`outage`]), and in the end ([`end`], and
//! `expected_objects`).

pub mod bound;
pub mod commit;
pub mod end;
pub mod growth;
pub mod lasting;
pub mod leaks;
pub mod order;
pub mod orphans;
pub mod outage;
pub mod published;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use expected_objects::CONTROLLERS;
use http::Method;
use http::request::Parts;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use random_operations::neighbour::{BEDROCK, BEDROCK_PODS};
use random_operations::{MANAGED_BY, SERVICE_NAME};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::growth::Created;
use self::orphans::Orphans;
use self::outage::Lists;
use self::published::{Effect, Published};
use crate::action::Action;
use crate::fault::Fault;
use crate::host::Host;
use crate::plan::Plan;
use crate::replica::renew_deadline;
use crate::world::Started;

/// The time for which requests of a leader whose leadership has ended may still be on their way.
const ON_THE_WAY: u64 = 10;

/// A write under way.
#[derive(Debug, Clone)]
pub struct Write {
    pub replica: usize,
    started: Started,
    /// The cluster's version when it was sent.
    sent: u64,
    method: Method,
    path: String,
    kind: Kind,
    /// The process that sent it is dead, or its Lease was taken since, as from one that froze while it sent: it acted on what
    /// it knew then.
    is_late: bool,
    /// A policy has changed the object, or did before.
    is_admitted: bool,
}

/// The name of the slice that a request wrote, to be acknowledged by its answer.
#[derive(Debug, Clone)]
pub struct Written(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Slice,
    Endpoints,
    Lease,
}

impl Write {
    /// The write that a request is, if it is one of objects that controllers keep.
    ///
    /// `is_late` is true if its sender led when it sent it, and the Lease was taken from it since.
    pub fn of(host: &Host, head: &Parts, sent: u64, is_late: bool) -> Option<Self> {
        let path = head.uri.path();
        let kind = if path.contains("/endpointslices") {
            Kind::Slice
        } else if path.contains("/leases") {
            Kind::Lease
        } else if path.contains("/endpoints") {
            Kind::Endpoints
        } else {
            return None;
        };
        let write = head.method != Method::GET;
        write.then(|| Self {
            replica: host.replica,
            started: host.started,
            sent,
            method: head.method.clone(),
            path: path.to_owned(),
            kind,
            is_late: is_late || host.is_dead(),
            is_admitted: false,
        })
    }

    /// The same after admission.
    #[must_use]
    pub fn admitted(self, is_admitted: bool) -> Self {
        Self { is_admitted, ..self }
    }
}

/// Looks at each write when it is committed.
#[derive(Debug)]
pub struct Watcher {
    /// Rules that were broken.
    pub violations: Vec<String>,
    /// Writes of slices and Endpoints.
    pub writes: u64,
    /// Those of the fresh process that ends a history.
    pub last_replica_writes: u64,
    /// Deletions of Endpoints without a Service.
    pub leftovers: u64,
    pub last_write: Instant,
    /// Names of objects that other clients have changed.
    pub tampered: BTreeSet<String>,
    /// The number of processes that have started.
    pub starts: u64,
    /// The number of restores.
    pub restores: u64,
    /// The number of changes by other clients.
    changes: u64,
    /// Told of each write and change.
    pub changed: Arc<Notify>,
    published: Published,
    created: Created,
    pub orphans: Orphans,
    lists: Lists,
    /// The longest time for which a ready endpoint was missing.
    pub outage: Duration,
    /// Answers to writes may be lost, which are then made again.
    loses_answers: bool,
    news: Duration,
    max: usize,
    /// The replica that holds the Lease, by the last write of it.
    holder: Option<usize>,
    released_by: Option<usize>,
    /// The processes that have held the Lease.
    led: BTreeSet<u64>,
    /// The replica that held the Lease until the holder took it, without a release.
    taken_from: Option<usize>,
    /// Until when the Lease says nothing about who may write.
    disturbed: Instant,
    /// The time for which a leader whose Lease another client changed may go on writing: until its renewals have failed.
    disturbance: Duration,
    /// Ready addresses of the Service that must stay reachable, by slice.
    bedrock: BTreeMap<String, BTreeSet<String>>,
    bedrock_slices: BTreeSet<String>,
    bedrock_endpoints: BTreeSet<String>,
}

impl Watcher {
    /// Before anything was written.
    pub fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        Self {
            violations: Vec::new(),
            writes: 0,
            last_replica_writes: 0,
            leftovers: 0,
            last_write: now,
            tampered: BTreeSet::new(),
            starts: 0,
            restores: 0,
            changes: 0,
            changed: Arc::default(),
            published: Published::default(),
            created: Created::default(),
            orphans: Orphans::default(),
            lists: Lists::default(),
            outage: Duration::ZERO,
            loses_answers: plan.faults().into_iter().any(loses_answers),
            news: news(plan),
            max: plan.setup.max,
            holder: None,
            released_by: None,
            led: BTreeSet::new(),
            taken_from: None,
            disturbed: now,
            // The slowest clock shows four seconds of five.
            disturbance: Duration::from_secs(renew_deadline(&plan.setup) * 5 / 4 + ON_THE_WAY),
            bedrock: BTreeMap::new(),
            bedrock_slices: BTreeSet::new(),
            bedrock_endpoints: BTreeSet::new(),
        }
    }

    /// Another client has changed the holder of the Lease.
    pub fn lease_disturbed(&mut self) {
        self.holder = None;
        self.released_by = None;
        self.taken_from = None;
        self.disturbed = Instant::now() + self.disturbance;
    }

    /// Another client has changed the object of this path.
    pub fn changed_by_others(&mut self, path: &str) {
        // No controller watches Namespaces.
        if path.strip_prefix("/api/v1/namespaces/").is_some_and(|name| !name.contains('/')) {
            return;
        }
        self.count_change();
        if path.contains("/endpoint") {
            self.published.forget(path.rsplit('/').next().unwrap_or_default());
        }
    }

    fn count_change(&mut self) {
        self.changes += 1;
        self.changed.notify_one();
    }

    /// The number of writes and changes so far.
    pub fn all_writes(&self) -> u64 {
        self.changes + self.writes + self.leftovers
    }

    /// The answer to the create of this slice has arrived.
    pub fn acknowledged(&mut self, name: &str) {
        self.published.acknowledged(name);
    }

    /// All objects are those of a backup.
    pub fn restored(&mut self, version: u64) {
        self.lease_disturbed();
        self.restores += 1;
        self.published = Published::default();
        self.orphans.restored(version);
        self.bedrock.clear();
        self.bedrock_slices.clear();
        self.bedrock_endpoints.clear();
    }

    /// True if this replica may write, as far as the Lease says: no other one holds it, and the replica has not released it.
    pub fn may_write(&self, replica: usize) -> bool {
        let released = self.holder.is_none() && self.released_by == Some(replica);
        Instant::now() < self.disturbed || !released && self.holder.is_none_or(|holder| holder == replica)
    }

    /// True if answers to writes may be lost, which are then made again.
    pub fn loses_answers(&self) -> bool {
        self.loses_answers
    }

    /// True if this replica has the Lease.
    pub fn is_holder(&self, replica: usize) -> bool {
        self.holder == Some(replica)
    }

    /// True if this process has held the Lease.
    pub fn has_led(&self, process: u64) -> bool {
        self.led.contains(&process)
    }

    /// True if another replica has taken the Lease from this one.
    pub fn has_lost_lease(&self, replica: usize) -> bool {
        self.taken_from == Some(replica)
    }

    /// Checks that a replica may write.
    fn check_writer(&mut self, write: &Write) {
        let Write { replica, method, path, .. } = write;
        if !write.is_late && !self.may_write(*replica) {
            let holder = self.holder.map_or("none".to_owned(), |holder| format!("r{holder}"));
            self.violations.push(format!("r{replica} sends {method} {path}; holder of the Lease: {holder}"));
        }
    }

    /// Looks at what a write has done.
    fn written(
        &mut self,
        write: &Write,
        name: &str,
        slice: Option<EndpointSlice>,
        endpoints: Option<Endpoints>,
    ) -> Effect {
        // Each process may write again what one before it has written, at most.
        let changes = self.changes + self.starts;
        let is_shared = write.is_late || Instant::now() < self.disturbed;
        let mut effect = match (write.kind, slice, endpoints) {
            (Kind::Slice, Some(slice), _) => {
                self.slice(&slice);
                self.published.slice(slice, changes, write.method == Method::POST, is_shared)
            }
            (Kind::Slice, None, _) if write.method == Method::DELETE => {
                self.slice_deleted(name);
                self.published.slice_deleted(name)
            }
            (Kind::Endpoints, _, Some(endpoints)) => {
                self.endpoints(&endpoints);
                self.published.endpoints(endpoints, changes, is_shared)
            }
            (Kind::Endpoints, _, None) if write.method == Method::DELETE => {
                if name == BEDROCK {
                    let known = &mut self.bedrock_endpoints;
                    reachable(&mut self.violations, known, BTreeSet::new(), "its Endpoints");
                }
                self.published.endpoints_deleted(name)
            }
            _ => Effect::default(),
        };
        // Two leaders, or what a killed one has sent: only then an endpoint has a copy.
        if self.starts > 1 {
            effect.lost.retain(|lost| !self.published.was_taken(lost, self.news));
        }
        if self.loses_answers || write.is_admitted {
            effect.violations.retain(|rule| !rule.ends_with("changes nothing"));
        }
        effect
    }

    fn slice(&mut self, slice: &EndpointSlice) {
        let labels = slice.metadata.labels.clone().unwrap_or_default();
        let name = slice.metadata.name.clone().unwrap_or_default();
        let endpoints = slice.endpoints.as_deref().unwrap_or_default();
        let managed_by = labels.get(MANAGED_BY).map(String::as_str);
        if managed_by == Some(CONTROLLERS[0]) && endpoints.len() > self.max {
            self.violations.push(format!("slice {name} has {} endpoints", endpoints.len()));
        }
        if labels.get(SERVICE_NAME).map(String::as_str) != Some(BEDROCK) {
            return;
        }
        let ready = endpoints.iter().filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        });
        let addresses = ready.flat_map(|endpoint| endpoint.addresses.iter().cloned()).collect();
        self.bedrock.insert(name, addresses);
        self.check_reachable();
    }

    fn slice_deleted(&mut self, name: &str) {
        if self.bedrock.remove(name).is_some() {
            self.check_reachable();
        }
    }

    fn check_reachable(&mut self) {
        let now: BTreeSet<String> = self.bedrock.values().flatten().cloned().collect();
        reachable(&mut self.violations, &mut self.bedrock_slices, now, "its slices");
    }

    fn endpoints(&mut self, endpoints: &Endpoints) {
        if endpoints.metadata.name.as_deref() != Some(BEDROCK) {
            return;
        }
        let subsets = endpoints.subsets.iter().flatten();
        let addresses = subsets.flat_map(|subset| subset.addresses.iter().flatten());
        let now = addresses.map(|address| address.ip.clone()).collect();
        reachable(&mut self.violations, &mut self.bedrock_endpoints, now, "its Endpoints");
    }
}

/// The time within which every process that can write knows a change of a slice.
fn news(plan: &Plan) -> Duration {
    let late = plan.timeline.iter().filter_map(|entry| match entry.action {
        Action::Lag { milliseconds, .. } => Some(milliseconds),
        _ => None,
    });
    Duration::from_secs(1) + Duration::from_millis(late.max().unwrap_or_default())
}

fn loses_answers(fault: Fault) -> bool {
    use Fault::{BrokenAfter, LostAnswer, Partition, TimeoutAfter};
    matches!(fault, LostAnswer | BrokenAfter | TimeoutAfter | Partition)
}

/// Checks that no address of a pod that is always there goes.
fn reachable(violations: &mut Vec<String>, known: &mut BTreeSet<String>, now: BTreeSet<String>, of: &str) {
    for number in 0..BEDROCK_PODS {
        let address = format!("10.2.0.{}", number + 1);
        if known.contains(&address) && !now.contains(&address) {
            violations
                .push(format!("{address} of {BEDROCK} went from {of} though its pod is ready all along"));
        }
    }
    *known = now;
}
