//! The order of writes under client-go's default rate limit: many Services arrive, and in other namespaces pods stop being
//! ready meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::cluster::Cluster;
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
const SERVICES: u32 = 60;
/// The pods of quiet Services that stop being ready, one each second.
const WITHDRAWN: usize = 30;
/// client-go's defaults.
const QPS: u32 = 20;
const BURST: u32 = 30;
/// The time after the last arrival in which the shares of the namespaces are counted.
const SHARED: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_secs(300);

/// What is awaited of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Awaited {
    Withdrawal,
    FirstAddress,
    Ready,
}

/// The endpoints that are awaited, and how long those took that came.
#[derive(Default)]
struct Arrivals {
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
}

/// Measures all programs, and returns the table.
pub(crate) async fn run(options: &Options) -> String {
    let mut text = format!(
        "{} Services; then {NAMESPACES} namespaces with {SERVICES} Services and pods each, one a second; \
         --kube-api-qps={QPS} --kube-api-burst={BURST}\n",
        options.services
    );
    for kind in options.kinds() {
        let outcome = Box::pin(measure(kind, options)).await;
        writeln!(text, "\n{}", kind.name()).unwrap();
        for (awaited, mut delays) in outcome.delays {
            delays.sort();
            let [p50, p99] = [50, 99].map(|percent| percentile(&delays, percent) / 1e3);
            writeln!(text, "  {awaited:?}: {} times, p50 {p50:.2} s, p99 {p99:.2} s", delays.len()).unwrap();
        }
        let Outcome { writes, seconds, worst_share, cpu, .. } = outcome;
        writeln!(text, "  writes {writes}, all after {seconds:.1} s, CPU {:.2} s", cpu.as_secs_f64())
            .unwrap();
        writeln!(text, "  share of the worst-off namespace {worst_share:.2}").unwrap();
    }
    text
}

async fn measure(kind: Kind, options: &Options) -> Outcome {
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
    let flags = vec![format!("--kube-api-burst={BURST}")];
    let limited = ManagerOptions { qps: QPS, flags, ..ManagerOptions::of(Controller::ALL) };
    let manager = launch(kind, &cluster, &limited);
    withdraw(&client, &observer, &quiet[WITHDRAWN]).await;
    all_seen(&observer).await;
    observer.with(|view| *view = Arrivals::default());
    Box::pin(burst(&cluster, &manager, &limited, &observer, &quiet)).await
}

async fn burst(
    cluster: &Cluster,
    manager: &Manager,
    limited: &ManagerOptions,
    observer: &Arc<Observer<Arrivals>>,
    quiet: &[SeededPod],
) -> Outcome {
    let (client, mark, before) = (cluster.client(), cluster.audit().mark(), manager.usage().cpu);
    let start = Instant::now();
    let arrivals = async {
        let mut second = interval(Duration::from_secs(1));
        let mut arrive_in_turn = Vec::new();
        for number in 0..NAMESPACES {
            second.tick().await;
            let (client, observer) = (client.clone(), Arc::clone(observer));
            arrive_in_turn.push(tokio::spawn(async move { arrive(&client, &observer, number).await }));
        }
        for arriving in arrive_in_turn {
            arriving.await.expect("an arrival");
        }
        Instant::now()
    };
    let withdrawals = async {
        let mut second = interval(Duration::from_secs(1));
        for pod in &quiet[..WITHDRAWN] {
            second.tick().await;
            withdraw(&client, observer, pod).await;
        }
    };
    eprintln!("{}: the burst", manager.name());
    let (arrived, ()) = tokio::join!(arrivals, withdrawals);
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
        Outcome { delays: std::mem::take(&mut view.delays), writes, seconds, worst_share: worst / equal, cpu }
    })
}

fn name(number: u32) -> String {
    format!("arriving-{number}")
}

/// Creates a namespace with its Services and pods, which are ready at once.
async fn arrive(client: &Client, observer: &Observer<Arrivals>, number: u32) {
    let namespace = name(number);
    create(&Api::<Namespace>::all(client.clone()), json!({"metadata": {"name": namespace}})).await;
    let services: Api<Service> = Api::namespaced(client.clone(), &namespace);
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let each = (0..SERVICES).map(async |service| {
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
        let ip = format!("10.{}.{}.1", 100 + number, service);
        let awaited = if headless { Awaited::FirstAddress } else { Awaited::Ready };
        let pod = SeededPod { namespace: namespace.clone(), name: app.clone() };
        observer.with(|view| view.awaited.insert(pod, (awaited, Instant::now())));
        let status =
            json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": ready("True")});
        set_status(&pods, &app, status).await;
    });
    futures::stream::iter(each).buffer_unordered(20).collect::<()>().await;
}

fn ready(status: &str) -> Value {
    json!([{"type": "Ready", "status": status, "lastTransitionTime": jiff::Timestamp::now()}])
}

async fn create<K>(api: &Api<K>, object: Value)
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

async fn set_status(pods: &Api<Pod>, name: &str, status: Value) {
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
