//! kube-proxy and CoreDNS as judges: the time from a change of a pod to the first connection through kube-proxy that follows it, and
//! to the response of CoreDNS; and connections that fail in a rolling update. At rest, and while many Services arrive
//! under client-go's default rate limit.
//!
//! All runs in a network namespace of its own, which `hack/bench` makes: every address of the pods and Services is local there.

mod judges;
mod partitioned;
mod rolling;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::{Map, Value, json};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::observe::Observer;
use tokio::time::sleep;

use crate::density;
use crate::options::Options;
use crate::report::{self, percentile};
use crate::seed::{self, create, ready, set_status};
use crate::tally::Tally;

use self::judges::{Judges, PORT};
use self::partitioned::{Answers, Partitioned};
use self::rolling::{Connections, Rolled};

const NAMESPACE: &str = "judged";
/// Services with one pod each, one after another at rest; as many pods stop being ready in a burst, one each second.
/// In three runs more than a hundred, of which the 99th percentile is not the maximum.
const SERVICES: u8 = 34;
/// kube-proxy waits a second after each run, which at rest no change meets.
const PAUSE: Duration = Duration::from_millis(1_500);

/// The time between two connections and between two questions. In the burst, many wait at once.
const RESOLUTION: Duration = Duration::from_millis(2);
const RESOLUTION_IN_BURST: Duration = Duration::from_millis(100);

/// A change of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Ready,
    NotReady,
    Deleted,
    /// Not ready, while many Services arrive.
    NotReadyInBurst,
}

/// Times to the first connection and to the answer.
type Delays = BTreeMap<Change, [Vec<Duration>; 2]>;

/// The measurements of one program.
struct Outcome {
    delays: Delays,
    /// During a rolling update: at rest, and in a burst.
    rolling: [Connections; 2],
    partitioned: Partitioned,
}

impl Outcome {
    fn json(&self, kind: Kind) -> Value {
        let seconds = |delays: &Vec<Duration>| delays.iter().map(Duration::as_secs_f64).collect::<Vec<_>>();
        let delays = self.delays.iter().map(|(change, judges)| {
            let [connections, answers] = judges.each_ref().map(seconds);
            (format!("{change:?}"), json!({"kube-proxy": connections, "CoreDNS": answers}))
        });
        let delays: Map<_, _> = delays.collect();
        let [at_rest, in_burst] = self.rolling;
        json!({
            "program": kind.name(), "seconds": delays,
            "rolling_at_rest": at_rest, "rolling_in_burst": in_burst, "partitioned": self.partitioned,
        })
    }
}

/// The runs of a program.
type Column = (Kind, Vec<Outcome>);

/// Measures both programs in turn, and returns the table. The JSON is complete up to the last run.
pub(crate) async fn run(options: &Options) -> String {
    let mut columns: Vec<Column> = options.kinds().into_iter().map(|kind| (kind, Vec::new())).collect();
    let mut results = Vec::new();
    for run in 1..=options.runs {
        for (kind, outcomes) in &mut columns {
            eprintln!("run {run} of {}: {}", options.runs, kind.name());
            let (delays, rolling) = Box::pin(changes(*kind, options)).await;
            let partitioned = Box::pin(partitioned::measure(*kind, options.proxy_mode)).await;
            let outcome = Outcome { delays, rolling, partitioned };
            results.push(outcome.json(*kind));
            outcomes.push(outcome);
            if let Some(path) = &options.json {
                report::record(path, options.runs, options.proxy_mode.names().0, &results);
            }
        }
    }
    table(options, &columns)
}

/// Percentiles of the delays of all runs, and the connections and answers of each.
fn table(options: &Options, columns: &[Column]) -> String {
    let mut text = format!(
        "kube-proxy with {}; {SERVICES} Services with a pod each, alongside {} with {} pods; each pod changes once in each way; \
         {} runs\n\n|",
        options.proxy_mode.names().0,
        options.services,
        options.all_pods(),
        options.runs
    );
    let heads = columns.iter().map(|(kind, _)| format!(" | {}", kind.name()));
    writeln!(text, "{} |\n|---{}|", heads.collect::<String>(), "|---".repeat(columns.len())).unwrap();
    for change in [Change::Ready, Change::NotReady, Change::Deleted, Change::NotReadyInBurst] {
        for (judge, name) in ["kube-proxy", "CoreDNS"].into_iter().enumerate() {
            row(&mut text, &format!("{change:?}, {name}: p50 / p99 / maximum (ms)"), columns, |outcomes| {
                let all = outcomes.iter().flat_map(|outcome| outcome.delays[&change][judge].iter().copied());
                let mut delays: Vec<Duration> = all.collect();
                delays.sort();
                let [p50, p99, most] = [50, 99, 100].map(|share| percentile(&delays, share));
                format!("{p50:.0} / {p99:.0} / {most:.0}")
            });
        }
    }
    let connections = |it: Connections| format!("{} / {}, of {}", it.refused, it.lost, it.all);
    for (place, name) in ["at rest", "in a burst"].into_iter().enumerate() {
        let name = format!("rolling update of 100 pods {name}: connections refused / lost, of all");
        row(&mut text, &name, columns, |outcomes| each(outcomes, |it| connections(it.rolling[place])));
    }
    let name = "all kubelets lose the API server (ours: with the gate): connections refused / lost, of all";
    row(&mut text, name, columns, |outcomes| each(outcomes, |it| connections(it.partitioned.connections)));
    let name = "the same: DNS answers without any / without some of the addresses, of all";
    row(&mut text, name, columns, |outcomes| {
        each(outcomes, |it| {
            let Answers { all, empty, partial } = it.partitioned.answers;
            format!("{empty} / {partial}, of {all}")
        })
    });
    text
}

fn row(text: &mut String, name: &str, columns: &[Column], cell: impl Fn(&[Outcome]) -> String) {
    write!(text, "| {name}").unwrap();
    for (_, outcomes) in columns {
        write!(text, " | {}", cell(outcomes)).unwrap();
    }
    text.push_str(" |\n");
}

/// A text for each run.
fn each(outcomes: &[Outcome], text: impl Fn(&Outcome) -> String) -> String {
    outcomes.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// Changes pods, and updates some: at rest, and in a burst.
async fn changes(kind: Kind, options: &Options) -> (Delays, [Connections; 2]) {
    let cluster = seed::cluster(options).await;
    let judges = Judges::start(&cluster, options.proxy_mode).await;
    // Without a limit: at rest nothing waits for it.
    let unlimited = ManagerOptions::of(Controller::ALL);
    let mut manager = Manager::launch(kind, &cluster, &unlimited);
    eprintln!("{}: waiting for kube-proxy and CoreDNS", kind.name());
    let client = cluster.client();
    create(&Api::<Namespace>::all(client.clone()), json!({"metadata": {"name": NAMESPACE}})).await;
    let mut judged = Vec::new();
    for number in 0..=SERVICES {
        judged.push(Judged::create(&client, number).await);
    }
    for it in &judged {
        it.make(&judges, Change::Ready).await;
    }
    let (one, others) = judged.split_last().expect("a Service more");
    let mut delays = Delays::new();
    for change in [Change::NotReady, Change::Ready, Change::Deleted] {
        eprintln!("{}: {change:?}", kind.name());
        for it in others {
            sleep(PAUSE).await;
            it.note(&judges, change, &mut delays).await;
            if change == Change::Deleted {
                it.create_pod().await;
                it.make(&judges, Change::Ready).await;
            }
        }
    }
    eprintln!("{}: a rolling update", kind.name());
    let mut rolled = Rolled::create(&client, &judges).await;
    let at_rest = rolled.update().await;
    manager.stop().await;
    manager = Manager::launch(kind, &cluster, &limited());
    // The limited process has started.
    one.make(&judges, Change::NotReady).await;
    eprintln!("{}: the burst", kind.name());
    let observer = Arc::new(Observer::start(Api::all(client.clone()), Tally::new(options.pods)));
    // One pod of each Service stops being ready, one each second, while others arrive.
    let withdrawals = (0..).zip(others).map(async |(second, it)| {
        sleep(Duration::from_secs(second)).await;
        it.make(&judges, Change::NotReadyInBurst).await
    });
    let (_, withdrawals, in_burst) = tokio::join!(
        density::arrivals(&client, &observer, density::SERVICES),
        futures::future::join_all(withdrawals),
        rolled.update()
    );
    for delay in withdrawals {
        push(&mut delays, Change::NotReadyInBurst, delay);
    }
    manager.stop().await;
    (delays, [at_rest, in_burst])
}

fn push(delays: &mut Delays, change: Change, [connection, answer]: [Duration; 2]) {
    let [connections, answers] = delays.entry(change).or_default();
    connections.push(connection);
    answers.push(answer);
}

/// client-go's defaults.
fn limited() -> ManagerOptions {
    ManagerOptions {
        qps: density::QPS,
        flags: vec![format!("--kube-api-burst={}", density::BURST)],
        ..ManagerOptions::of(Controller::ALL)
    }
}

/// Creates a Service that selects the pods of the app of its name. Returns its address.
async fn create_service(services: &Api<Service>, name: &str, port: u16) -> SocketAddr {
    let spec = json!({"selector": {"app": name}, "ports": [{"port": 80, "targetPort": port}]});
    create(services, json!({"metadata": {"name": name}, "spec": spec})).await;
    address(&services.get(name).await.expect("a Service"))
}

/// The address of a Service for its clients.
fn address(service: &Service) -> SocketAddr {
    let cluster_ip = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()).expect("a cluster IP");
    SocketAddr::new(cluster_ip.parse().expect("an IP address"), 80)
}

async fn create_pod(pods: &Api<Pod>, name: &str, app: &str) {
    let spec = json!({"nodeName": "node-0", "containers": [{"name": "main", "image": "none"}]});
    create(pods, json!({"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})).await;
}

/// Sets the status of a pod as a kubelet does, with this condition `Ready`.
async fn run_pod(pods: &Api<Pod>, name: &str, ip: Ipv4Addr, is_ready: &str) {
    let ips = json!([{"ip": ip}]);
    let status = json!({"phase": "Running", "podIP": ip, "podIPs": ips, "conditions": ready(is_ready)});
    set_status(pods, name, status).await;
}

/// A Service with a cluster IP and a headless one, with the same pod.
struct Judged {
    name: String,
    pods: Api<Pod>,
    /// Of the pod.
    address: Ipv4Addr,
    service: SocketAddr,
}

impl Judged {
    async fn create(client: &Client, number: u8) -> Self {
        let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
        let name = format!("app-{number}");
        let spec = json!({"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80, "targetPort": PORT}]});
        create(&services, json!({"metadata": {"name": headless(&name)}, "spec": spec})).await;
        let judged = Self {
            pods: Api::namespaced(client.clone(), NAMESPACE),
            address: Ipv4Addr::new(10, 250, 0, number + 1),
            service: create_service(&services, &name, PORT).await,
            name,
        };
        judged.create_pod().await;
        judged
    }

    /// A pod that is not ready.
    async fn create_pod(&self) {
        create_pod(&self.pods, &self.name, &self.name).await;
        run_pod(&self.pods, &self.name, self.address, "False").await;
    }

    /// Changes the pod, and waits for both judges. Returns the time that each took.
    async fn make(&self, judges: &Judges, change: Change) -> [Duration; 2] {
        let (is_ready, status) = if change == Change::Ready { (true, "True") } else { (false, "False") };
        let every = if change == Change::NotReadyInBurst { RESOLUTION_IN_BURST } else { RESOLUTION };
        let start = Instant::now();
        if change == Change::Deleted {
            let at_once = DeleteParams::default().grace_period(0);
            self.pods.delete(&self.name, &at_once).await.expect("deleting a pod");
        } else {
            set_status(&self.pods, &self.name, json!({"conditions": ready(status)})).await;
        }
        let addresses = is_ready.then_some(IpAddr::V4(self.address)).into_iter().collect();
        let name = format!("{}.{NAMESPACE}.svc.cluster.local", headless(&self.name));
        let (connection, answer) = tokio::join!(
            judges.connects(self.service, is_ready, every),
            judges.resolves(&name, &addresses, every)
        );
        [connection, answer].map(|end| end.duration_since(start))
    }

    /// The same, as a measurement.
    async fn note(&self, judges: &Judges, change: Change, delays: &mut Delays) {
        push(delays, change, self.make(judges, change).await);
    }
}

fn headless(name: &str) -> String {
    format!("{name}-headless")
}
