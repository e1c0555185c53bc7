//! Runs the workload under a manager and records the result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Endpoints;
use kube::Api;
use kube::api::ListParams;

use crate::audit::{AuditLog, Mark, Request};
use crate::barrier;
use crate::canonical::{Canonical, Detail, Snapshot};
use crate::cluster::{Cluster, ClusterOptions};
use crate::manager::{Controller, Kind, Manager, ManagerOptions};
use crate::release::Release;
use crate::scenario::{NAMESPACE, World};
use crate::workload::{PHASES, PODS_END, Phase};

/// A manager on a cluster, with the workload run so far.
pub struct Run {
    /// The cluster.
    pub cluster: Cluster,
    /// Its workload.
    pub world: World,
    /// The manager under test.
    pub manager: Manager,
    options: ManagerOptions,
    /// The time of the manager's start.
    started: Timestamp,
}

/// The result of a phase.
#[derive(Debug, Clone)]
pub struct Record {
    /// The phase.
    pub phase: Phase,
    /// Slices and Endpoints at its end.
    snapshot: Snapshot,
    /// The requests that the manager wrote in it.
    requests: Vec<Request>,
    /// The program of the manager.
    by: Kind,
}

impl Record {
    /// Without the times of the last change of `PODS_END`, which only a program that sees pods end can know.
    #[must_use]
    pub fn without_ends_of_pods(mut self) -> Self {
        self.snapshot = self.snapshot.without_times_of(PODS_END);
        self
    }

    /// The part of the result that these controllers made.
    fn of(&self, controllers: &[Controller]) -> Share {
        let by_them = |request: &&Request| {
            controllers.iter().any(|controller| request.user_agent.ends_with(controller.client()))
        };
        Share {
            objects: self.snapshot.of(controllers).canonical(self.phase.detail),
            requests: self.requests.iter().filter(by_them).cloned().collect(),
            release: self.snapshot.release(),
        }
    }
}

/// The part of a phase's result that some of the controllers made.
struct Share {
    objects: Canonical,
    requests: Vec<Request>,
    release: Release,
}

impl Share {
    fn writes(&self) -> Writes {
        Writes::count(&self.requests)
    }

    /// The requests that upstream makes the same number of times in every run.
    fn determined(&self, phase: Phase) -> Vec<Request> {
        let mut requests = self.requests.clone();
        requests.retain(|request| {
            let is_chance = phase.is_chance(&request.resource, service_of(request), self.release);
            !is_chance && !self.release.is_rewrite_without_ports(request)
        });
        requests
    }
}

/// The target of a write: `endpoints` or `endpointslices`, and the name of the Service.
pub type Written = (String, String);

/// Writes of Endpoints and slices, by verb. Failed ones are included, because the API server processed them, except those
/// that it left [unserved](Request::is_unserved).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Writes {
    /// POST.
    pub create: usize,
    /// PUT and PATCH.
    pub update: usize,
    /// DELETE.
    pub delete: usize,
    /// The number of failed ones among all of them.
    pub failed: usize,
}

impl Writes {
    /// All of them.
    pub fn total(self) -> usize {
        self.create + self.update + self.delete
    }

    pub(crate) fn by_service(requests: &[Request]) -> BTreeMap<Written, Self> {
        let mut writes: BTreeMap<Written, Self> = BTreeMap::new();
        for request in requests.iter().filter(|request| request.is_of_endpoints()) {
            let sum = writes.entry((request.resource.clone(), service_of(request).to_owned())).or_default();
            *sum = *sum + Self::count([request]);
        }
        writes
    }

    pub(crate) fn count<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Self {
        let mut writes = Self::default();
        let counted = |request: &&Request| request.is_of_endpoints() && !request.is_unserved();
        for request in requests.into_iter().filter(counted) {
            match request.verb.as_str() {
                "create" => writes.create += 1,
                "update" | "patch" => writes.update += 1,
                _ => writes.delete += 1,
            }
            writes.failed += usize::from(request.code >= 300);
        }
        writes
    }
}

/// Targets of the requests, each the resource and its Service; events are left out.
pub fn written(requests: &[Request]) -> BTreeSet<String> {
    let written = requests.iter().filter(|request| request.is_of_endpoints());
    written.map(|request| format!("{} {}", request.resource, service_of(request))).collect()
}

/// The Service's name: the name of its Endpoints, or the base of a slice's generated name.
pub(crate) fn service_of(request: &Request) -> &str {
    let name = request.name.as_str();
    if request.resource == "endpoints" { name } else { name.rsplit_once('-').map_or(name, |(name, _)| name) }
}

impl std::ops::Add for Writes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            create: self.create + other.create,
            update: self.update + other.update,
            delete: self.delete + other.delete,
            failed: self.failed + other.failed,
        }
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { create, update, delete, failed } = self;
        write!(f, "{create:4} + {update:4} + {delete:4} = {:4}", self.total())?;
        if *failed > 0 { write!(f, " ({failed} failed)") } else { Ok(()) }
    }
}

impl Run {
    /// Starts a cluster and a manager with all controllers on it, and waits until it works.
    pub async fn start(kind: Kind) -> Self {
        Self::start_as(kind, ManagerOptions::of(Controller::ALL)).await
    }

    /// The same with all options of the manager.
    pub async fn start_as(kind: Kind, options: ManagerOptions) -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        let mut world = Box::pin(World::prepare(cluster.client(), options.controllers)).await;
        let started = Timestamp::now();
        let manager = Manager::observed(kind, &cluster, &options).await;
        world.watch_workers(manager.pages());
        let run = Self { cluster, world, manager, options, started };
        run.world.sync().await;
        run
    }

    /// Runs phases, and records each.
    ///
    /// # Panics
    /// If a state breaks an invariant.
    pub async fn record(&self, phases: &[Phase]) -> Vec<Record> {
        let mut records = Vec::new();
        for phase in phases {
            let mark = self.audit().mark();
            phase.run(&self.world).await;
            let requests = self.writes_since(mark);
            let snapshot = Snapshot::take(self.world.client(), NAMESPACE).await;
            let violations = snapshot.violations(100);
            assert!(violations.is_empty(), "{}: {violations:#?}", phase.name);
            records.push(Record { phase: *phase, snapshot, requests, by: self.manager.kind() });
        }
        records
    }

    /// Stops the manager, starts one of `kind` in its place and waits until it has synced everything. Returns the
    /// requests that it wrote, of any resource.
    pub async fn hand_over(self, kind: Kind) -> Vec<Request> {
        let Self { cluster, mut world, manager, options, .. } = self;
        manager.stop().await;
        let options = ManagerOptions { flags: Vec::new(), ..options };
        let before = endpoints(&cluster).await;
        let mark = cluster.audit().mark();
        let started = Timestamp::now();
        let manager = Manager::observed(kind, &cluster, &options).await;
        world.watch_workers(manager.pages());
        world.settle().await;
        let successor = Self { cluster, world, manager, options, started };
        let mut writes = successor.writes_since(mark);
        if kind == Kind::Upstream {
            Release::of(&successor.cluster.client()).await.retain_unexpected(&before, &mut writes);
        }
        writes
    }

    /// The audit log of this run's API server.
    pub fn audit(&self) -> AuditLog {
        self.cluster.audit()
    }

    /// The manager's writes, barrier objects aside. The last Event of its predecessor may be answered after that has ended.
    ///
    /// # Panics
    /// If another program made them.
    pub fn writes_since(&self, mark: Mark) -> Vec<Request> {
        let mut writes = self.audit().writes_since(mark, self.options.user);
        writes.retain(|request| request.namespace != barrier::NAMESPACE && request.received >= self.started);
        for write in &writes {
            assert!(write.user_agent.starts_with(self.manager.name()), "{} wrote: {write}", write.user_agent);
        }
        writes
    }
}

async fn endpoints(cluster: &Cluster) -> Vec<Endpoints> {
    let api: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    api.list(&ListParams::default()).await.expect("listing Endpoints").items
}

/// Runs the whole workload under a manager.
pub async fn run(kind: Kind, options: ManagerOptions) -> Vec<Record> {
    let run = Run::start_as(kind, options).await;
    run.record(PHASES).await
}

/// Compares the results of these controllers in two runs, phase by phase.
///
/// Writes that upstream makes a different number of times in every run (`Phase::is_chance`) are left out. If the
/// candidate is ours, they are then counted with all others, because ours is deterministic.
///
/// # Panics
/// If slices or Endpoints differ at the end of a phase, or the candidate wrote more in a phase that determines the
/// number of writes. Reports every difference, not only the first.
pub fn compare(reference: &[Record], candidate: &[Record], controllers: &[Controller]) {
    assert_eq!(reference.len(), candidate.len(), "phases");
    let mut failures = String::new();
    let mut known = None;
    for (reference, candidate) in reference.iter().zip(candidate) {
        let phase @ Phase { name, detail, .. } = reference.phase;
        let (left, right) = (reference.of(controllers), candidate.of(controllers));
        assert!(!left.objects.is_empty(), "after \"{name}\" there is nothing to compare");
        let difference = left.objects.difference(&right.objects);
        // A difference that persists is reported once.
        if let Some(difference) = difference.as_ref().filter(|_| difference != known) {
            writeln!(failures, "\nafter \"{name}\" (- reference, + candidate):\n{difference}").unwrap();
        }
        known = difference;
        if detail == Detail::Exact {
            let mut more = excess(&left.determined(phase), &right.determined(phase));
            if candidate.by == Kind::Ours {
                more = more.or_else(|| excess(&left.requests, &right.requests));
            }
            if let Some(more) = more {
                writeln!(failures, "\nin \"{name}\" {more}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}\n{}", table(reference, candidate, controllers));
}

/// Targets that the candidate wrote more often, if it wrote more in total.
fn excess(reference: &[Request], candidate: &[Request]) -> Option<String> {
    let (few, many) = (Writes::count(reference), Writes::count(candidate));
    if many.total() <= few.total() {
        return None;
    }
    let mut text = format!("more writes: {many} > {few}");
    let reference = Writes::by_service(reference);
    for (written, writes) in Writes::by_service(candidate) {
        let reference = reference.get(&written).copied().unwrap_or_default();
        if writes.total() > reference.total() {
            write!(text, "\n  {} of {}: {writes} > {reference}", written.0, written.1).unwrap();
        }
    }
    Some(text)
}

/// The writes of these controllers in two runs side by side.
pub fn table(reference: &[Record], candidate: &[Record], controllers: &[Controller]) -> String {
    let mut text = format!("{:56} {:>25}   {:>25}\n", "create + update + delete", "reference", "candidate");
    let mut sums = (Writes::default(), Writes::default());
    for (left, right) in reference.iter().zip(candidate) {
        let Phase { name, detail, .. } = left.phase;
        let (left, right) = (left.of(controllers).writes(), right.of(controllers).writes());
        let name = format!("{name}{}", if detail == Detail::Exact { "" } else { " *" });
        writeln!(text, "{name:56} {left}   {right}").unwrap();
        if detail == Detail::Exact {
            sums = (sums.0 + left, sums.1 + right);
        }
    }
    writeln!(text, "{:56} {}   {}", "sum without *", sums.0, sums.1).unwrap();
    text.push_str("* changes overlap: timing decides the number of writes, which is not compared\n");
    text
}
