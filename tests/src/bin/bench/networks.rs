//! The cost of pod networks: each pod has a ResourceClaim with an address in each of two networks, and each Service a twin for
//! the second network.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::binaries;
use tests::cluster::{Cluster, User};
use tests::observe::Observer;
use tests::process::{Process, Usage};
use tests::wait::LIMIT;

use crate::measure::{CONCURRENCY, QUIET, all_seen, quiet};
use crate::options::Options;
use crate::report::{megabytes, percentile};
use crate::seed::{self, SeededPod};
use crate::tally::{Awaited, Tally};

const CONTROLLER: &str = "pod-network-controller";
const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
const NETWORK: &str = "multinetwork.networking.k8s.io/spec.podnetwork.name";
const NETWORKS: [&str; 2] = ["storage", "backup"];
/// The namespace of claims that concern no pod of the cluster.
const ELSEWHERE: &str = "elsewhere";
/// Changes a second, and their number.
const RATE: u32 = 20;
const CHANGES: usize = 1_000;
const SECOND: Duration = Duration::from_secs(1);

/// A pod with the uid that its claim names, and its number among all.
struct Claimant {
    pod: SeededPod,
    uid: String,
    number: u32,
}

/// A cluster with pods that have claims, and the controller.
struct Networks<'a> {
    cluster: &'a Cluster,
    options: &'a Options,
    observer: Observer<Tally>,
}

/// Measures the start, changes of claims at a steady rate, and the memory that claims take. Returns the table.
pub(crate) async fn run(options: &Options) -> String {
    eprintln!("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    let claimants = claimants(&cluster, options).await;
    eprintln!("creating a claim for each pod, and a twin of each Service");
    all(claimants.iter().map(|claimant| claim(&cluster, claimant))).await;
    for namespace in 0..options.namespaces() {
        services(&cluster, &format!("ns-{namespace}")).await;
    }
    let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
    let networks = Networks { cluster: &cluster, options, observer };

    eprintln!("publishing both networks");
    let (mut controller, begun) = (networks.start(), Instant::now());
    networks.published().await;
    let (took, first) = (begun.elapsed(), networks.quiet(&mut controller).await);
    eprintln!("changing claims, {RATE} a second");
    let (one, others) = claimants.split_first().expect("there is a pod");
    let changed = &others[..others.len().min(CHANGES)];
    let delays = networks.change(changed).await;
    let churn = networks.quiet(&mut controller).await.cpu.saturating_sub(first.cpu);
    networks.stop(controller).await;

    let before = networks.restart(one).await;
    let more = options.all_pods();
    eprintln!("restarting with {more} more claims");
    elsewhere(&cluster, more).await;
    let after = networks.restart(one).await;
    let a_claim = after.rss.saturating_sub(before.rss) / u64::from(more.max(1));

    let mut text = String::new();
    let mut row = |what: &str, value: String| writeln!(text, "{what:66}{value:>12}").unwrap();
    row("start: seconds until all is published", format!("{:.1}", took.as_secs_f64()));
    row("start: CPU seconds", format!("{:.2}", first.cpu.as_secs_f64()));
    row("start: peak RSS, MB", format!("{:.1}", megabytes(first.peak_rss)));
    for (name, share) in [("p50", 50), ("p99", 99), ("max", 100)] {
        let what = format!("{} claims change, {RATE} a second: {name} to the slice, ms", delays.len());
        row(&what, format!("{:.1}", percentile(&delays, share)));
    }
    row(&format!("{} claims change: CPU seconds", delays.len()), format!("{:.2}", churn.as_secs_f64()));
    row("restart: RSS, MB", format!("{:.1}", megabytes(before.rss)));
    row(&format!("restart with {more} more claims: RSS, MB"), format!("{:.1}", megabytes(after.rss)));
    row("memory of a claim, bytes", a_claim.to_string());
    text
}

/// Runs the futures, some at a time.
async fn all<F: Future<Output = ()>>(work: impl Iterator<Item = F>) {
    futures::stream::iter(work).buffer_unordered(CONCURRENCY).collect::<()>().await;
}

async fn claimants(cluster: &Cluster, options: &Options) -> Vec<Claimant> {
    let mut claimants = Vec::new();
    for namespace in 0..options.namespaces() {
        let namespace = format!("ns-{namespace}");
        let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
        let running = ListParams::default().fields("status.phase=Running");
        for pod in pods.list_metadata(&running).await.expect("listing pods").items {
            let number = u32::try_from(claimants.len()).expect("fewer pods");
            let uid = pod.uid().expect("a uid");
            let pod = SeededPod { namespace: namespace.clone(), name: pod.name_any() };
            claimants.push(Claimant { pod, uid, number });
        }
    }
    claimants
}

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("an object of this kind")
}

async fn claim(cluster: &Cluster, claimant: &Claimant) {
    let Claimant { pod, uid, .. } = claimant;
    let claims: Api<ResourceClaim> = Api::namespaced(cluster.client(), &pod.namespace);
    let request = json!({"name": "net", "exactly": {"deviceClassName": "macvlan", "count": 2}});
    let claim = json!({"metadata": {"name": pod.name}, "spec": {"devices": {"requests": [request]}}});
    claims.create(&PostParams::default(), &object(claim)).await.expect("creating a claim");
    let result = |network: &str| json!({"request": "net", "driver": "net.example.com", "pool": "pool", "device": network});
    let status = json!({"status": {
        "allocation": {"devices": {"results": NETWORKS.map(result)}},
        "reservedFor": [{"resource": "pods", "name": pod.name, "uid": uid}],
        "devices": devices(claimant.number, "True"),
    }});
    patch(&claims, &pod.name, status).await;
}

async fn patch(claims: &Api<ResourceClaim>, name: &str, change: Value) {
    let patched = claims.patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await;
    patched.unwrap_or_else(|error| panic!("changing claim {name}: {error}"));
}

/// The status of both devices, with this condition of the one in the first network.
fn devices(number: u32, ready: &str) -> Value {
    let device = |(index, network): (u32, &str)| {
        let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 128, 0, 1)) + (index << 20) + number);
        let condition = json!({"type": "Ready", "status": if index == 0 { ready } else { "True" }, "reason": "Attached",
            "message": "", "lastTransitionTime": "2026-11-27T00:00:00Z"});
        json!({"driver": "net.example.com", "pool": "pool", "device": network, "conditions": [condition],
            "data": {"podNetwork": {"kind": "PodNetwork", "name": network}},
            "networkData": {"interfaceName": "net1", "hardwareAddress": "0a:58:0a:80:00:01", "ips": [format!("{address}/12")]}})
    };
    Value::Array((0..).zip(NETWORKS).map(device).collect())
}

/// Gives the Services of the namespace to the controller, for the first network, and adds twins for the second.
async fn services(cluster: &Cluster, namespace: &str) {
    let services: Api<Service> = Api::namespaced(cluster.client(), namespace);
    let list = services.list(&ListParams::default()).await.expect("listing Services");
    let labels = |network: &str| json!({LABEL: CONTROLLER, NETWORK: network});
    all(list.items.iter().map(async |service| {
        let spec = service.spec.as_ref().expect("a spec");
        let spec = json!({"selector": spec.selector, "ports": spec.ports});
        let name = service.name_any();
        let twin = json!({"metadata": {"name": format!("{name}-twin"), "labels": labels(NETWORKS[1])}, "spec": spec});
        services.create(&PostParams::default(), &object(twin)).await.expect("creating a Service");
        let change = Patch::Merge(json!({"metadata": {"labels": labels(NETWORKS[0])}}));
        services.patch(&name, &PatchParams::default(), &change).await.expect("labelling a Service");
    }))
    .await;
}

/// Claims like the others, for pods that do not exist.
async fn elsewhere(cluster: &Cluster, count: u32) {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = object(json!({"metadata": {"name": ELSEWHERE}}));
    namespaces.create(&PostParams::default(), &namespace).await.expect("creating a namespace");
    let claimants: Vec<Claimant> = (0..count)
        .map(|number| {
            let pod =
                SeededPod { namespace: ELSEWHERE.to_owned(), name: format!("svc-{number}-fkq2x7b9mn-4xh2c") };
            Claimant { pod, uid: format!("5e0d1c23-1a2b-4c3d-8e4f-{number:012}"), number }
        })
        .collect();
    all(claimants.iter().map(|claimant| claim(cluster, claimant))).await;
}

impl Networks<'_> {
    fn start(&self) -> Process {
        let args = [
            format!("--kubeconfig={}", self.cluster.kubeconfig(User::Admin).display()),
            format!("--kube-api-qps={}", self.options.qps),
            format!("--kube-api-burst={}", self.options.qps),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        Process::start(CONTROLLER, &binaries::pod_network_controller(), self.cluster.folder(), args)
    }

    async fn stop(&self, mut controller: Process) {
        controller.signal("TERM");
        let ended = controller.ended(LIMIT).await;
        assert!(ended.success(), "{ended}: {}", controller.tail());
    }

    async fn quiet(&self, controller: &mut Process) -> Usage {
        quiet(&mut [controller], QUIET, self.options.limit()).await
    }

    async fn published(&self) {
        let services = self.options.services as usize * NETWORKS.len();
        let progress = |tally: &Tally| format!("{} of {services} Services are complete", tally.complete());
        let reached = |tally: &Tally| tally.complete() == services;
        self.observer.until("addresses in both networks", self.options.limit(), reached, progress).await;
    }

    /// Makes the first device of these pods unready, at a steady rate. Returns the times until slices show it, shortest first.
    async fn change(&self, claimants: &[Claimant]) -> Vec<Duration> {
        let start = tokio::time::Instant::now();
        let due = (0_u32..).map(|number| start + SECOND * number / RATE);
        all(claimants.iter().zip(due).map(async |(claimant, due)| {
            tokio::time::sleep_until(due).await;
            self.set(claimant, "False").await;
        }))
        .await;
        self.seen().await;
        self.observer.with(|tally| tally.take_delays(Awaited::Withdrawal))
    }

    async fn set(&self, Claimant { pod, number, .. }: &Claimant, ready: &str) {
        let claims: Api<ResourceClaim> = Api::namespaced(self.cluster.client(), &pod.namespace);
        if ready == "False" {
            self.observer.with(|tally| tally.expect(pod.clone(), Awaited::Withdrawal));
        }
        patch(&claims, &pod.name, json!({"status": {"devices": devices(*number, ready)}})).await;
    }

    async fn seen(&self) {
        all_seen(&self.observer, self.options.limit()).await;
    }

    /// The usage of a new process on the settled cluster, once it has written a change.
    async fn restart(&self, claimant: &Claimant) -> Usage {
        let mut controller = self.start();
        self.quiet(&mut controller).await;
        self.set(claimant, "False").await;
        self.seen().await;
        let usage = self.quiet(&mut controller).await;
        // For the next one.
        self.set(claimant, "True").await;
        self.quiet(&mut controller).await;
        self.stop(controller).await;
        usage
    }
}
