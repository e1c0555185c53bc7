//! One program on a cluster of its own.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Api;
use serde_json::json;
use tests::audit::Mark;
use tests::canonical::{Canonical, Detail, Snapshot};
use tests::cluster::Cluster;
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::observe::Observer;
use tests::process::{Process, Usage};

use crate::options::Options;
use crate::scenarios::figures::{self, Figures, WRITES, count};
use crate::seed::{SeededPod, ready, set_status};
use crate::tally::{Awaited, Tally};

/// The time that slices and CPU must be quiet before a step counts as finished.
pub(crate) const QUIET: Duration = Duration::from_secs(1);

/// Requests in flight while pods change.
pub(crate) const CONCURRENCY: usize = 16;

/// A running controller.
pub(crate) struct Bench<'a> {
    pub(crate) manager: Manager,
    pub(crate) observer: Observer<Tally>,
    pub(crate) cluster: Cluster,
    pub(crate) manager_options: ManagerOptions,
    pub(crate) options: &'a Options,
}

/// The start of a phase.
pub(crate) struct Begun {
    pub(crate) at: Instant,
    pub(crate) cpu: Duration,
    pub(crate) mark: Mark,
}

/// Waits until all Services have the endpoints of all their pods.
pub(crate) async fn complete(observer: &Observer<Tally>, options: &Options) {
    let services = options.services as usize;
    let progress = |tally: &Tally| format!("{} of {services} Services are complete", tally.complete());
    let reached = |tally: &Tally| tally.complete() == services;
    observer.until("endpoints of all Services", options.limit(), reached, progress).await;
}

/// Waits until slices show all that is awaited.
pub(crate) async fn all_seen(observer: &Observer<Tally>, limit: Duration) {
    let progress = |tally: &Tally| format!("{} endpoints are not published", tally.awaited());
    let reached = |tally: &Tally| tally.awaited() == 0;
    observer.until("all endpoints", limit, reached, progress).await;
}

/// Makes a pod unready, which is awaited.
pub(crate) async fn stop_being_ready(cluster: &Cluster, observer: &Observer<Tally>, pod: &SeededPod) {
    observer.with(|tally| tally.expect(pod.clone(), Awaited::Withdrawal));
    let pods = Api::namespaced(cluster.client(), &pod.namespace);
    set_status(&pods, &pod.name, json!({"conditions": ready("False")})).await;
}

/// Waits until processes are nearly idle, all together. Returns their usage.
///
/// # Panics
/// If one ends, or they are not idle within `limit`.
pub(crate) async fn quiet(processes: &mut [&mut Process], pause: Duration, limit: Duration) -> Usage {
    let usage = |processes: &[&mut Process]| processes.iter().map(|process| process.usage()).sum::<Usage>();
    let (start, mut before) = (Instant::now(), usage(processes));
    loop {
        tokio::time::sleep(pause).await;
        for process in &mut *processes {
            process.alive().unwrap_or_else(|error| panic!("{error}"));
        }
        let now = usage(processes);
        if now.cpu.saturating_sub(before.cpu) < pause / 20 {
            return now;
        }
        assert!(start.elapsed() < limit, "no rest within {} s", limit.as_secs());
        before = now;
    }
}

impl<'a> Bench<'a> {
    /// Starts a manager, and follows the slices that it writes.
    pub(crate) fn start(
        kind: Kind,
        cluster: Cluster,
        manager_options: ManagerOptions,
        options: &'a Options,
    ) -> (Self, Begun) {
        let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
        Self::launch(kind, cluster, observer, manager_options, options)
    }

    fn launch(
        kind: Kind,
        cluster: Cluster,
        observer: Observer<Tally>,
        manager_options: ManagerOptions,
        options: &'a Options,
    ) -> (Self, Begun) {
        let begun = Begun { at: Instant::now(), cpu: Duration::ZERO, mark: cluster.audit().mark() };
        let manager = Manager::launch(kind, &cluster, &manager_options);
        (Self { manager, observer, cluster, manager_options, options }, begun)
    }

    pub(crate) fn begin(&self) -> Begun {
        Begun { at: Instant::now(), cpu: self.manager.usage().cpu, mark: self.cluster.audit().mark() }
    }

    pub(crate) async fn end(&mut self, begun: Begun, took: Duration) -> Figures {
        let Usage { cpu, peak_rss, .. } = self.quiet().await;
        let writes = self.cluster.audit().writes_since(begun.mark, self.manager_options.user);
        figures::of(took, cpu.saturating_sub(begun.cpu), peak_rss, writes.iter())
    }

    /// Waits until the slices stop changing and the controller is nearly idle.
    async fn quiet(&mut self) -> Usage {
        let (start, limit) = (Instant::now(), self.options.limit());
        loop {
            let usage = quiet(&mut [self.manager.process()], QUIET, limit).await;
            if self.observer.with(|tally| tally.last_event().elapsed()) >= QUIET {
                return usage;
            }
            assert!(start.elapsed() < limit, "slices change without end; {}", self.manager.process().tail());
        }
    }

    pub(crate) async fn all_slices(&mut self, begun: Begun) -> Figures {
        complete(&self.observer, self.options).await;
        let took = begun.at.elapsed();
        self.end(begun, took).await
    }

    pub(crate) async fn churn(&mut self, pods: &[SeededPod]) -> Figures {
        let begun = self.begin();
        self.change(pods).await;
        self.all_seen().await;
        let took = begun.at.elapsed();
        self.end(begun, took).await
    }

    /// Makes these pods unready.
    pub(crate) async fn change(&self, pods: &[SeededPod]) {
        let changes = pods.iter().map(|pod| self.stop_being_ready(pod));
        futures::stream::iter(changes).buffer_unordered(CONCURRENCY).collect::<()>().await;
    }

    /// Makes these pods unready at a steady rate, however long the slices take. Returns the delays, shortest first.
    pub(crate) async fn steady(&mut self, pods: &[SeededPod], per_second: u32) -> (Figures, Vec<Duration>) {
        let begun = self.begin();
        let start = tokio::time::Instant::now();
        self.observer.with(|tally| tally.take_delays(Awaited::Withdrawal));
        let this = &*self;
        let due = (0_u32..).map(|number| start + Duration::from_secs(1) * number / per_second);
        let changes = futures::stream::iter(pods.iter().zip(due))
            .then(async |(pod, due)| {
                tokio::time::sleep_until(due).await;
                pod
            })
            .map(|pod| this.stop_being_ready(pod));
        changes.buffer_unordered(CONCURRENCY * 4).collect::<()>().await;
        self.all_seen().await;
        let took = begun.at.elapsed();
        let delays = self.observer.with(|tally| tally.take_delays(Awaited::Withdrawal));
        (self.end(begun, took).await, delays)
    }

    async fn all_seen(&self) {
        all_seen(&self.observer, self.options.limit()).await;
    }

    async fn stop_being_ready(&self, pod: &SeededPod) {
        stop_being_ready(&self.cluster, &self.observer, pod).await;
    }

    /// Starts a new process, which finds one change that it has to write. The writes for it are not counted.
    pub(crate) async fn restart(self, kind: Kind, pod: &SeededPod) -> (Self, Figures) {
        let Self { manager, observer, cluster, manager_options, options } = self;
        manager.stop().await;
        let (mut bench, begun) = Self::launch(kind, cluster, observer, manager_options, options);
        bench.stop_being_ready(pod).await;
        bench.all_seen().await;
        let took = begun.at.elapsed();
        let mut figures = bench.end(begun, took).await;
        // The slice, and the Endpoints if their controller runs and they have room for all pods: this one is not among the
        // first thousand, and ours then has nothing to write.
        let kept = bench.manager_options.controllers.contains(&Controller::Endpoints);
        let awaited = 1 + usize::from(kept && bench.options.pods <= 1_000);
        let writes = figures.get_mut(WRITES).expect("their number");
        *writes -= count(awaited);
        assert!(*writes >= 0.0, "the writes that were waited for");
        (bench, figures)
    }

    /// The endpoints that the controllers published, in comparable form.
    pub(crate) async fn endpoints(&self) -> Vec<Canonical> {
        let mut all = Vec::new();
        for namespace in 0..self.options.namespaces() {
            let snapshot = Snapshot::take(&self.cluster.client(), &format!("ns-{namespace}")).await;
            let violations = snapshot.violations(100);
            assert!(violations.is_empty(), "{violations:#?}");
            all.push(snapshot.canonical(Detail::Content));
        }
        all
    }
}
