//! Kubelets that lose the API server: how many endpoints stay published under upstream's controllers, and under ours with the
//! gate `EndpointsKeepReadyOnDisruption`. And whether ours would write as upstream does for as long as only some nodes are lost.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tests::audit::Mark;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::kubelets::{Kubelets, Size};
use tests::manager::{Controller, Kind, LeaderElection, Manager, ManagerOptions};
use tests::shadow::Shadow;
use tokio::time::{interval, sleep};

use crate::options::Options;

const SIZE: Size = Size { nodes: 20, services: 500, pods: 4 };
const GATE: &str = "--feature-gates=EndpointsKeepReadyOnDisruption=true";
/// Nodes are lost one after the other: node lifecycle looks at them every five seconds.
const CONFIRMATION: &str = "--disruption-confirmation-period=30s";
const SAMPLE: Duration = Duration::from_secs(5);
/// The time in which node lifecycle notices a loss (50 s), and upstream has written what follows.
const NOTICED: Duration = Duration::from_secs(90);

/// Numbers of pods, endpoints and writes at a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sample {
    ready_pods: usize,
    published: usize,
    writes: usize,
}

/// A cluster whose endpoints are written by a program.
pub(crate) struct Partition {
    kind: Kind,
    pub(crate) kubelets: Kubelets,
    pub(crate) cluster: Cluster,
    replicas: Vec<Manager>,
}

/// Measures, and returns the tables.
pub(crate) async fn run(options: &Options) -> String {
    let minutes = Duration::from_mins(options.minutes.into());
    let kinds = options.kinds();
    let each = kinds.iter().map(|kind| Box::pin(partition(*kind, minutes, options.qps)));
    let alongside = async {
        if kinds.contains(&Kind::Ours) {
            Some(Box::pin(deaths(minutes / 10, options.qps)).await)
        } else {
            None
        }
    };
    let (mut tables, deaths) = tokio::join!(futures::future::join_all(each), alongside);
    tables.extend(deaths);
    tables.join("\n")
}

/// All kubelets lose the API server for this long, and come back.
async fn partition(kind: Kind, length: Duration, qps: u32) -> String {
    let mut world = Box::pin(Partition::start(kind, SIZE, qps)).await;
    let mut text = format!(
        "{} {}: {} nodes, {} Services, {} endpoints; no kubelet reaches the API server for {} s\n\n\
         | s | pods that say ready | ready endpoints | writes | |\n|---|---|---|---|---|\n",
        kind.name(),
        if kind == Kind::Ours { "with the gate" } else { "" },
        SIZE.nodes,
        SIZE.services,
        SIZE.all_pods(),
        length.as_secs()
    );
    let (mark, start) = (world.cluster.audit().mark(), Instant::now());
    world.kubelets.disconnect(0..SIZE.nodes);
    let mut least = SIZE.all_pods();
    let mut events: Vec<&str> = if kind == Kind::Ours { EVENTS.to_vec() } else { Vec::new() };
    let pause = length / 4;
    let mut next = pause;
    let (mut last, mut second) = (None, interval(SAMPLE));
    while start.elapsed() < length {
        second.tick().await;
        let mut event = "";
        if start.elapsed() >= next && !events.is_empty() {
            event = events.remove(0);
            next += pause;
            world.replace(event).await;
        }
        let sample = world.sample(mark).await;
        least = least.min(sample.published);
        if last != Some(sample) || !event.is_empty() {
            row(&mut text, start, sample, event);
            last = Some(sample);
        }
    }
    let lost = world.sample(mark).await;
    row(&mut text, start, lost, "the kubelets come back");
    let mut least_after = lost.published;
    let back = async {
        for node in 0..SIZE.nodes {
            world.kubelets.reconnect(node).await;
        }
        world.kubelets.wait_for_pods(SIZE.all_pods()).await;
        world.kubelets.wait_for_published(SIZE.all_pods()).await;
        sleep(4 * SAMPLE).await;
    };
    let samples = async {
        loop {
            least_after = least_after.min(world.sample(mark).await.published);
            sleep(SAMPLE).await;
        }
    };
    tokio::select! { () = back => {}, () = samples => {} }
    let end = world.sample(mark).await;
    row(&mut text, start, end, "all are back");
    writeln!(
        text,
        "\nready endpoints at least: {least} while lost, {least_after} after it; writes: {} while lost, {} after it",
        lost.writes,
        end.writes - lost.writes
    )
    .unwrap();
    text
}

/// Changes of our replicas, one at the end of each quarter.
const EVENTS: [&str; 3] = [
    "the leader ends, the other replica leads",
    "all replicas end, a fresh one starts",
    "the leader is killed, the other replica leads",
];

fn row(text: &mut String, start: Instant, sample: Sample, event: &str) {
    let Sample { ready_pods, published, writes } = sample;
    let seconds = start.elapsed().as_secs();
    writeln!(text, "| {seconds} | {ready_pods} | {published} | {writes} | {event} |").unwrap();
    eprintln!("{seconds} s: {ready_pods} pods say ready, {published} endpoints are, {writes} writes {event}");
}

impl Partition {
    /// With client-go's 20 writes a second, the node lifecycle controller itself takes 100 s to mark 2,000 pods.
    pub(crate) async fn start(kind: Kind, size: Size, qps: u32) -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        cluster.allow_election().await;
        eprintln!("{}: creating {} pods", kind.name(), size.all_pods());
        let limit = ["qps", "burst"].map(|flag| format!("--kube-api-{flag}={qps}"));
        let kubelets = Kubelets::start(&cluster, size, &limit.each_ref().map(String::as_str)).await;
        let mut world = Self { kind, kubelets, cluster, replicas: Vec::new() };
        world.add().await;
        if kind == Kind::Ours {
            world.add().await;
        }
        world.kubelets.wait_for_published(size.all_pods()).await;
        // A node that is younger than a minute is not told from one that registers.
        sleep(Duration::from_secs(65)).await;
        world
    }

    async fn add(&mut self) {
        let flags: &[&str] = if self.kind == Kind::Ours { &[GATE, CONFIRMATION] } else { &[] };
        let options = ManagerOptions {
            leader_election: Some(LeaderElection::DEFAULT),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..ManagerOptions::of(Controller::ALL)
        };
        self.replicas.push(Manager::start(self.kind, &self.cluster, &options).await);
    }

    /// Replaces replicas in the way of an event.
    async fn replace(&mut self, event: &str) {
        let leader = self.replicas.remove(0);
        match event {
            _ if event == EVENTS[0] => _ = leader.stop().await,
            _ if event == EVENTS[1] => {
                leader.stop().await;
                for replica in self.replicas.drain(..) {
                    replica.stop().await;
                }
                self.add().await;
            }
            _ => _ = leader.stop_with("KILL").await,
        }
        self.add().await;
    }

    async fn sample(&self, mark: Mark) -> Sample {
        let writes = self.cluster.audit().writes_since(mark, User::EndpointControllers);
        let endpoints = writes.iter().filter(|write| write.is_of_endpoints());
        Sample {
            writes: endpoints.count(),
            ready_pods: self.kubelets.ready_pods().await,
            published: self.kubelets.published().await.len(),
        }
    }
}

/// One node dies, three die, and then one each `pause` until one more would be the share of the gate; `shadow` with the gate
/// compares each object with what ours would write.
async fn deaths(pause: Duration, qps: u32) -> String {
    let world = Box::pin(Partition::start(Kind::Upstream, SIZE, qps)).await;
    // Without a confirmation period a dead node is a dead node at once.
    let shadow = Shadow::start(&world.cluster, &[GATE.to_owned(), "--grace=20s".to_owned()]).await;
    let mut text = format!(
        "upstream with `shadow` alongside it, gate on: {} nodes, {} endpoints; nodes die\n\n\
         | nodes lost | ready endpoints | differences that outlast 20 s |\n|---|---|---|\n",
        SIZE.nodes,
        SIZE.all_pods()
    );
    // Of 20 nodes, 18 are the share.
    let most = SIZE.nodes * 9 / 10 - 1;
    for lost in [1, 3] {
        world.kubelets.disconnect(0..lost);
        sleep(NOTICED).await;
        world.note(&shadow, lost, &mut text).await;
        for node in 0..lost {
            world.kubelets.reconnect(node).await;
        }
        world.kubelets.wait_for_published(SIZE.all_pods()).await;
    }
    for node in 0..most {
        world.kubelets.disconnect([node]);
        sleep(pause).await;
    }
    sleep(NOTICED).await;
    world.note(&shadow, most, &mut text).await;
    let end = shadow.end(&world.cluster).await;
    writeln!(
        text,
        "\n`shadow` ended with {}: {:.0} comparisons; the longest difference took {:.1} s",
        end.code,
        end.sum("comparisons"),
        end.longest()
    )
    .unwrap();
    text
}

impl Partition {
    async fn note(&self, shadow: &Shadow, lost: usize, text: &mut String) {
        let (published, lasting) =
            (self.kubelets.published().await.len(), shadow.sum_of("shadow_differences").await);
        writeln!(text, "| {lost} | {published} | {lasting} |").unwrap();
        eprintln!("{lost} nodes are lost: {published} endpoints are ready, {lasting} differences last");
    }
}
