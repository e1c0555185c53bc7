//! The order of writes under client-go's default rate limit, and under one that follows the API server: many Services arrive, and
//! in other namespaces pods stop being ready meanwhile. Another client of the same priority level asks for its own name.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::observe::{Observer, View};
use tokio::time::{interval, sleep};

use crate::measure::launch;
use crate::options::Options;
use crate::report::percentile;
use crate::seed::{self, SeededPod};

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

/// What is awaited of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Awaited {
    Withdrawal,
    FirstAddress,
    Ready,
}

/// The endpoints that are awaited, and how long those took that came.
#[derive(Default)]
pub(crate) struct Arrivals {
    awaited: HashMap<SeededPod, (Awaited, Instant)>,
    delays: BTreeMap<Awaited, Vec<Duration>>,
    /// When endpoints of the arriving namespaces were published.
    published: Vec<(String, Instant)>,
}

impl View for Arrivals {
    fn present(&mut self, slice: EndpointSlice) {
        let namespace = slice.namespace().unwrap_or_default();
        for endpoint in slice.endpoints.iter().flatten() {
            let Some(name) = endpoint.target_ref.as_ref().and_then(|target| target.name.clone()) else {
                continue;
            };
            let pod = SeededPod { namespace: namespace.clone(), name };
            let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false);
            let Some((awaited, since)) = self.awaited.get(&pod).copied() else { continue };
            if ready == (awaited == Awaited::Withdrawal) {
                continue;
            }
            self.awaited.remove(&pod);
            self.delays.entry(awaited).or_default().push(since.elapsed());
            if awaited != Awaited::Withdrawal {
                self.published.push((namespace.clone(), Instant::now()));
            }
        }
    }

    fn absent(&mut self, _: &EndpointSlice) {}
}

/// The result for one program.
struct Outcome {
    delays: BTreeMap<Awaited, Vec<Duration>>,
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
        for (awaited, delays) in &mut self.delays {
            delays.sort();
            let seconds = |percent| percentile(delays, percent) / 1e3;
            rows.push((format!("{awaited:?}, p50 (s)"), seconds(50)));
            rows.push((format!("{awaited:?}, p99 (s)"), seconds(99)));
        }
        self.foreign.sort();
        for percent in [50, 99] {
            rows.push((format!("another client, p{percent} (ms)"), percentile(&self.foreign, percent)));
        }
        let writes = u32::try_from(self.writes).map_or(f64::INFINITY, f64::from);
        rows.push(("writes".to_owned(), writes));
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
    let mut columns: Vec<BTreeMap<String, Vec<f64>>> = vec![BTreeMap::new(); programs.len()];
    let mut names = Vec::new();
    for _ in 0..options.runs {
        for ((kind, flag), column) in programs.iter().zip(&mut columns) {
            let figures = Box::pin(measure(*kind, flag, load, options)).await.figures();
            names = figures.iter().map(|(name, _)| name.clone()).collect();
            for (name, figure) in figures {
                column.entry(name).or_default().push(figure);
            }
        }
    }
    table(options, load, &programs, &names, &mut columns)
}

fn table(
    options: &Options,
    load: Load,
    programs: &[(Kind, &str)],
    names: &[String],
    columns: &mut [BTreeMap<String, Vec<f64>>],
) -> String {
    let Load { services, qps, burst } = load;
    let mut text = format!(
        "{} Services; then {NAMESPACES} namespaces with {services} Services and pods each, one a second; \
         --kube-api-qps={qps} --kube-api-burst={burst}; medians of {}\n\n|",
        options.services, options.runs
    );
    let heads = programs.iter().map(|(kind, flag)| format!(" | {} {flag}", kind.name()));
    writeln!(text, "{} |\n|---{}|", heads.collect::<String>(), "|---".repeat(programs.len())).unwrap();
    for name in names {
        write!(text, "| {name}").unwrap();
        for column in &mut *columns {
            let figures = column.get_mut(name).expect("a figure of each run");
            figures.sort_by(f64::total_cmp);
            write!(text, " | {:.2}", figures[figures.len() / 2]).unwrap();
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
    let observer = Arc::new(Observer::start(Api::all(cluster.client()), Arrivals::default()));
    let client = cluster.client();
    // Without a limit, all slices of the quiet Services.
    let unlimited = ManagerOptions::of(Controller::ALL);
    eprintln!("{}: writing the slices of the quiet Services", kind.name());
    let manager = launch(kind, &cluster, &unlimited);
    for pod in &quiet {
        observer.with(|view| view.awaited.insert(pod.clone(), (Awaited::Ready, Instant::now())));
    }
    all_seen(&observer).await;
    manager.stop().await;
    let at_once = format!("--kube-api-burst={}", load.burst);
    let flags =
        [at_once.as_str(), flag].into_iter().filter(|flag| !flag.is_empty()).map(str::to_owned).collect();
    let limited = ManagerOptions { qps: load.qps, flags, ..ManagerOptions::of(Controller::ALL) };
    let manager = launch(kind, &cluster, &limited);
    withdraw(&client, &observer, &quiet[WITHDRAWN]).await;
    all_seen(&observer).await;
    observer.with(|view| *view = Arrivals::default());
    Box::pin(burst(&cluster, &manager, &limited, &observer, &quiet, load.services)).await
}

async fn burst(
    cluster: &Cluster,
    manager: &Manager,
    limited: &ManagerOptions,
    observer: &Arc<Observer<Arrivals>>,
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
            withdraw(&client, observer, pod).await;
        }
    };
    let foreign = ask(cluster.client_of(User::ThirdParty).await);
    eprintln!("{}: the burst", manager.name());
    let (arrived, (), foreign) = tokio::join!(arrivals, withdrawals, foreign);
    all_seen(observer).await;
    let seconds = start.elapsed().as_secs_f64();
    sleep(Duration::from_secs(2)).await;
    let writes = cluster.audit().writes_since(mark, limited.user).len();
    let cpu = manager.usage().cpu.saturating_sub(before);
    observer.with(|view| {
        // Of the namespaces that still wait at the end.
        let until = arrived + SHARED;
        let waiting = view.published.iter().filter(|(_, at)| *at >= until);
        let mut shares: BTreeMap<String, f64> = waiting.map(|(name, _)| (name.clone(), 0.0)).collect();
        for (namespace, at) in &view.published {
            if let Some(share) = shares.get_mut(namespace).filter(|_| *at >= arrived && *at < until) {
                *share += 1.0;
            }
        }
        let namespaces = u32::try_from(shares.len()).map_or(f64::INFINITY, f64::from);
        let equal = shares.values().sum::<f64>() / namespaces;
        let worst = shares.values().copied().fold(f64::INFINITY, f64::min);
        Outcome {
            delays: std::mem::take(&mut view.delays),
            writes,
            seconds,
            worst_share: if shares.is_empty() { 1.0 } else { worst / equal },
            cpu,
            foreign,
        }
    })
}

/// Creates namespaces with this number of Services each, one a second. Returns when the last has all of them.
pub(crate) async fn arrivals(client: &Client, observer: &Arc<Observer<Arrivals>>, services: u32) -> Instant {
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
async fn arrive(client: &Client, observer: &Observer<Arrivals>, number: u32, count: u32) {
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
        observer.with(|view| view.awaited.insert(pod, (awaited, Instant::now())));
        let status =
            json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": ready("True")});
        set_status(&pods, &app, status).await;
    });
    futures::stream::iter(each).buffer_unordered(20).collect::<()>().await;
}

pub(crate) fn ready(status: &str) -> Value {
    json!([{"type": "Ready", "status": status, "lastTransitionTime": jiff::Timestamp::now()}])
}

pub(crate) async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("an object");
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        // By a request whose response was lost.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("creating an object: {error}"),
    }
}

pub(crate) async fn set_status(pods: &Api<Pod>, name: &str, status: Value) {
    let change = Patch::Merge(json!({"status": status}));
    let changed = pods.patch_status(name, &PatchParams::default(), &change).await;
    changed.unwrap_or_else(|error| panic!("changing pod {name}: {error}"));
}

/// Makes a pod unready, which is awaited.
async fn withdraw(client: &Client, observer: &Observer<Arrivals>, pod: &SeededPod) {
    observer.with(|view| view.awaited.insert(pod.clone(), (Awaited::Withdrawal, Instant::now())));
    let pods = Api::namespaced(client.clone(), &pod.namespace);
    set_status(&pods, &pod.name, json!({"conditions": ready("False")})).await;
}

async fn all_seen(observer: &Observer<Arrivals>) {
    let left = |view: &Arrivals| format!("{} endpoints are not published", view.awaited.len());
    observer.until("all endpoints", LIMIT, |view| view.awaited.is_empty(), left).await;
}
