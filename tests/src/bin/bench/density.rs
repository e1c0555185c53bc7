//! The order of writes under client-go's default rate limit, and under one that follows the API server: many Services arrive, and
//! in other namespaces pods stop being ready meanwhile. Another client of the same priority level asks for its own name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::observe::Observer;
use tokio::time::{interval, sleep};

use crate::measure::{all_seen, stop_being_ready};
use crate::options::Options;
use crate::report::percentile;
use crate::scenarios::figures::{count, median};
use crate::seed::{self, SeededPod, create, ready, set_status};
use crate::tally::{Awaited, Tally};

/// One namespace arrives each second.
const NAMESPACES: u32 = 20;
/// The Services of each, with one pod each; every twentieth is headless.
pub(crate) const SERVICES: u32 = 60;
/// The pods of quiet Services that stop being ready, one each second.
const WITHDRAWN: usize = 30;
/// client-go's defaults.
pub(crate) const QPS: u32 = 20;
pub(crate) const BURST: u32 = 30;
/// The time after the last arrival in which the shares of the namespaces are counted.
const SHARED: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(300);
/// The time between two requests of the other client.
const FOREIGN: Duration = Duration::from_millis(25);

/// The result for one program.
struct Outcome {
    /// Shortest first.
    delays: [(Awaited, Vec<Duration>); 3],
    writes: usize,
    seconds: f64,
    /// The smallest share of a namespace, of an equal one.
    worst_share: f64,
    cpu: Duration,
    /// Of the other client's requests during the burst.
    foreign: Vec<Duration>,
}

impl Outcome {
    /// The rows of the table.
    fn figures(mut self) -> Vec<(String, f64)> {
        let mut rows = Vec::new();
        for (awaited, delays) in &self.delays {
            let seconds = |percent| percentile(delays, percent) / 1e3;
            rows.push((format!("{awaited:?}, p50 (s)"), seconds(50)));
            rows.push((format!("{awaited:?}, p99 (s)"), seconds(99)));
        }
        self.foreign.sort();
        for percent in [50, 99] {
            rows.push((format!("another client, p{percent} (ms)"), percentile(&self.foreign, percent)));
        }
        rows.push(("writes".to_owned(), count(self.writes)));
        rows.push(("all written after (s)".to_owned(), self.seconds));
        rows.push(("share of the worst-off namespace".to_owned(), self.worst_share));
        rows.push(("CPU (s)".to_owned(), self.cpu.as_secs_f64()));
        rows
    }
}

/// The size of the burst and the rate limit.
#[derive(Clone, Copy)]
struct Load {
    /// Services of each namespace that arrives.
    services: u32,
    qps: u32,
    burst: u32,
}

/// Measures all programs, and returns the table of medians.
pub(crate) async fn run(options: &Options) -> String {
    // With the limit that large clusters set, ten times as much.
    let load = if options.large {
        Load { services: 10 * SERVICES, qps: 150, burst: 300 }
    } else {
        Load { services: SERVICES, qps: QPS, burst: BURST }
    };
    let automatic = options.kinds().into_iter().filter(|kind| *kind == Kind::Ours).map(|kind| (kind, AUTO));
    let programs: Vec<_> = options.kinds().into_iter().map(|kind| (kind, "")).chain(automatic).collect();
    let mut columns = vec![Vec::new(); programs.len()];
    for _ in 0..options.runs {
        for ((kind, flag), runs) in programs.iter().zip(&mut columns) {
            runs.push(Box::pin(measure(*kind, flag, load, options)).await.figures());
        }
    }
    table(options, load, &programs, &columns)
}

fn table(
    options: &Options,
    load: Load,
    programs: &[(Kind, &str)],
    columns: &[Vec<Vec<(String, f64)>>],
) -> String {
    let Load { services, qps, burst } = load;
    let mut text = format!(
        "{} Services; then {NAMESPACES} namespaces with {services} Services and pods each, one a second; \
         --kube-api-qps={qps} --kube-api-burst={burst}; medians of {}\n\n|",
        options.services, options.runs
    );
    let heads = programs.iter().map(|(kind, flag)| format!(" | {} {flag}", kind.name()));
    writeln!(text, "{} |\n|---{}|", heads.collect::<String>(), "|---".repeat(programs.len())).unwrap();
    for (row, (name, _)) in columns[0][0].iter().enumerate() {
        write!(text, "| {name}").unwrap();
        for runs in columns {
            let figures = runs.iter().map(|figures| figures[row].1);
            write!(text, " | {:.2}", median(figures.collect())).unwrap();
        }
        writeln!(text, " |").unwrap();
    }
    text
}

/// The rate limit that follows the API server.
const AUTO: &str = "--kube-api-qps=auto";

/// `flag` may replace the default rate.
async fn measure(kind: Kind, flag: &str, load: Load, options: &Options) -> Outcome {
    let cluster = seed::cluster(options).await;
    let quiet = seed::pods(&cluster, options).await;
    let observer = Arc::new(Observer::start(Api::all(cluster.client()), Tally::new(options.pods)));
    // Without a limit, all slices of the quiet Services.
    let unlimited = ManagerOptions::of(Controller::ALL);
    eprintln!("{}: writing the slices of the quiet Services", kind.name());
    let manager = Manager::launch(kind, &cluster, &unlimited);
    for pod in &quiet {
        observer.with(|tally| tally.expect(pod.clone(), Awaited::Ready));
    }
    all_seen(&observer, LIMIT).await;
    manager.stop().await;
    let at_once = format!("--kube-api-burst={}", load.burst);
    let flags =
        [at_once.as_str(), flag].into_iter().filter(|flag| !flag.is_empty()).map(str::to_owned).collect();
    let limited = ManagerOptions { qps: load.qps, flags, ..ManagerOptions::of(Controller::ALL) };
    let manager = Manager::launch(kind, &cluster, &limited);
    stop_being_ready(&cluster, &observer, &quiet[WITHDRAWN]).await;
    all_seen(&observer, LIMIT).await;
    observer.with(|tally| *tally = Tally::new(options.pods));
    Box::pin(burst(&cluster, &manager, &limited, &observer, &quiet, load.services)).await
}

async fn burst(
    cluster: &Cluster,
    manager: &Manager,
    limited: &ManagerOptions,
    observer: &Arc<Observer<Tally>>,
    quiet: &[SeededPod],
    services: u32,
) -> Outcome {
    let (client, mark, before) = (cluster.client(), cluster.audit().mark(), manager.usage().cpu);
    let start = Instant::now();
    let arrivals = arrivals(&client, observer, services);
    let withdrawals = async {
        let mut second = interval(Duration::from_secs(1));
        for pod in &quiet[..WITHDRAWN] {
            second.tick().await;
            stop_being_ready(cluster, observer, pod).await;
        }
    };
    let foreign = ask(cluster.client_of(User::ThirdParty).await);
    eprintln!("{}: the burst", manager.name());
    let (arrived, (), foreign) = tokio::join!(arrivals, withdrawals, foreign);
    all_seen(observer, LIMIT).await;
    let seconds = start.elapsed().as_secs_f64();
    sleep(Duration::from_secs(2)).await;
    let writes = cluster.audit().writes_since(mark, limited.user).len();
    let cpu = manager.usage().cpu.saturating_sub(before);
    observer.with(|tally| {
        // Of the namespaces that still wait at the end.
        let until = arrived + SHARED;
        let waiting = tally.published().iter().filter(|(_, at)| *at >= until);
        let mut shares: BTreeMap<String, f64> = waiting.map(|(name, _)| (name.clone(), 0.0)).collect();
        for (namespace, at) in tally.published() {
            if let Some(share) = shares.get_mut(namespace).filter(|_| *at >= arrived && *at < until) {
                *share += 1.0;
            }
        }
        let equal = shares.values().sum::<f64>() / count(shares.len());
        let worst = shares.values().copied().fold(f64::INFINITY, f64::min);
        Outcome {
            delays: [Awaited::Withdrawal, Awaited::FirstAddress, Awaited::Ready]
                .map(|awaited| (awaited, tally.take_delays(awaited))),
            writes,
            seconds,
            worst_share: if shares.is_empty() { 1.0 } else { worst / equal },
            cpu,
            foreign,
        }
    })
}

/// Creates namespaces with this number of Services each, one a second. Returns when the last has all of them.
pub(crate) async fn arrivals(client: &Client, observer: &Arc<Observer<Tally>>, services: u32) -> Instant {
    let mut second = interval(Duration::from_secs(1));
    let mut arrive_in_turn = Vec::new();
    for number in 0..NAMESPACES {
        second.tick().await;
        let (client, observer) = (client.clone(), Arc::clone(observer));
        arrive_in_turn.push(tokio::spawn(async move { arrive(&client, &observer, number, services).await }));
    }
    for arriving in arrive_in_turn {
        arriving.await.expect("an arrival");
    }
    Instant::now()
}

/// The latencies of another client's requests, for as long as pods are withdrawn.
async fn ask(client: Client) -> Vec<Duration> {
    let (mut pause, mut latencies) = (interval(FOREIGN), Vec::new());
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let end = Instant::now() + Duration::from_secs(WITHDRAWN as u64);
    while Instant::now() < end {
        pause.tick().await;
        let asked = Instant::now();
        let answered = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await;
        answered.expect("the client's own name");
        latencies.push(asked.elapsed());
    }
    latencies
}

fn name(number: u32) -> String {
    format!("arriving-{number}")
}

/// Creates a namespace with its Services and pods, which are ready at once.
async fn arrive(client: &Client, observer: &Observer<Tally>, number: u32, count: u32) {
    let namespace = name(number);
    create(&Api::<Namespace>::all(client.clone()), json!({"metadata": {"name": namespace}})).await;
    let services: Api<Service> = Api::namespaced(client.clone(), &namespace);
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let each = (0..count).map(async |service| {
        let (app, headless) = (format!("app-{service}"), service % 20 == 0);
        let mut spec = json!({"selector": {"app": app}, "ports": [{"port": 80}]});
        if headless {
            spec["clusterIP"] = json!("None");
        }
        create(&services, json!({"metadata": {"name": app}, "spec": spec})).await;
        let mut spec = json!({"nodeName": "node-0", "containers": [{"name": "main", "image": "none"}]});
        if headless {
            (spec["hostname"], spec["subdomain"]) = (json!("first"), json!(app));
        }
        create(&pods, json!({"metadata": {"name": app, "labels": {"app": app}}, "spec": spec})).await;
        let ip = format!("10.{}.{}.{}", 100 + number, service / 250, service % 250 + 1);
        let awaited = if headless { Awaited::FirstAddress } else { Awaited::Ready };
        let pod = SeededPod { namespace: namespace.clone(), name: app.clone() };
        observer.with(|tally| tally.expect(pod, awaited));
        let status =
            json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": ready("True")});
        set_status(&pods, &app, status).await;
    });
    futures::stream::iter(each).buffer_unordered(20).collect::<()>().await;
}
