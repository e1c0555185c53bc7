//! Pods selected by [`POSSIBLE_ENDPOINTS`] alongside all pods, both listed and watched from the embedded API server.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use embedded_apiserver::ApiServer;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{
    Interner, Node, PlanOptions, Pod, Service, SlicePlan, SliceTemplate, desired_from_service, plan,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Request;
use http_body::{Body, Frame};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::task::JoinHandle;

use crate::cache::{Cache, Change, Handler, State};
use crate::kinds::{POSSIBLE_ENDPOINTS, SelectedPods};
use crate::list_watch::{ListWatch, Timing};

/// A list-watch of pods, its cache, and the Services that it queues.
struct Watched {
    cache: Arc<Cache>,
    queued: Arc<Queued>,
    running: JoinHandle<()>,
}

/// The names of Services that changes of pods affect.
#[derive(Default)]
struct Queued(Mutex<Vec<String>>);

impl Handler for Queued {
    fn pod(&self, change: &Change<Pod>, state: &State, _: bool) {
        let keys = state.services_affected_by_pod(change);
        self.0.lock().extend(keys.iter().map(|key| key.name.to_string()));
    }
}

impl Watched {
    fn start(server: &ApiServer, cut: &Sender<()>, encoding: Encoding, selector: Option<&str>) -> Self {
        let (cache, queued) = (Arc::new(Cache::default()), Arc::<Queued>::default());
        for service in services() {
            cache.upsert(service);
        }
        cache.attach(Arc::clone(&queued) as Arc<dyn Handler>, |_| {});
        let cut = cut.clone();
        let cut_off = move |response: http::Response<_>| response.map(|body| Cut::new(body, cut.subscribe()));
        let server = tower::ServiceExt::<Request<kube::client::Body>>::map_response(server.clone(), cut_off);
        let client = kube::Client::new(server, "default");
        let client = ApiClient::new(client, encoding, "test/1.0");
        let list_watch = ListWatch::<Pod>::new(client, Arc::clone(&cache), Timing::default());
        let list_watch = match selector {
            Some(selector) => list_watch.with_field_selector(selector),
            None => list_watch,
        };
        Self { cache, queued, running: tokio::spawn(list_watch.run()) }
    }

    /// The pods, by name.
    fn pods(&self) -> Vec<Pod> {
        let mut pods: Vec<Pod> =
            self.cache.read(|state| state.pods.iter().map(|pod| (**pod).clone()).collect());
        pods.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        pods
    }

    fn selected(&self, service: &Service) -> Vec<Arc<Pod>> {
        let selector = service.selector.as_ref().expect("every Service here has one");
        let selected =
            |state: &State| state.pods_selected("default", selector).cloned().collect::<SelectedPods>();
        self.cache.read(selected).sorted()
    }

    /// The slices that a Service should have.
    fn slices(&self, service: &Service) -> SlicePlan {
        let node = Node::from(&object::<core::Node>(json!({"metadata": {"name": "node-1"}})));
        let pods = self.selected(service);
        let desired = desired_from_service(service, pods.iter().map(|pod| &**pod), |_| Some(&node));
        let template = SliceTemplate::for_service(service, ENDPOINTSLICE_CONTROLLER);
        plan::<EndpointSlice>(&[], desired, &template, &PlanOptions::default())
    }

    /// The trigger time of a sync now.
    fn trigger_time(&self, times: &mut TriggerTimes, service: &Service) -> Option<String> {
        times.compute(service, self.selected(service).iter().map(|pod| &**pod))
    }
}

/// A body that ends early, as that of a watch whose connection is closed.
struct Cut<B> {
    body: Pin<Box<B>>,
    ended: BoxFuture<'static, ()>,
}

impl<B> Cut<B> {
    fn new(body: B, mut cut: Receiver<()>) -> Self {
        Self { body: Box::pin(body), ended: async move { drop(cut.recv().await) }.boxed() }
    }
}

impl<B: Body> Body for Cut<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.ended.poll_unpin(context).is_ready() {
            // A body may be polled after its end.
            self.ended = std::future::ready(()).boxed();
            return Poll::Ready(None);
        }
        self.body.as_mut().poll_frame(context)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Two Services that select the same pods, one of them unready ones too, and one that selects others.
fn services() -> [Service; 3] {
    [("web", "web", false), ("open", "web", true), ("db", "db", false)].map(|(name, app, open)| {
        let service = json!({
            "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": TIMES[0]},
            "spec": {"selector": {"app": app}, "clusterIP": "10.96.0.1", "publishNotReadyAddresses": open,
                "ipFamilies": ["IPv4", "IPv6"], "ports": [{"port": 80}]},
        });
        Service::from_api(&object(service), &mut Interner::default())
    })
}

const TIMES: [&str; 4] =
    ["2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z", "2001-01-01T00:00:02Z", "2001-01-01T00:00:03Z"];

/// An API server with both list-watches.
struct Cluster {
    server: ApiServer,
    client: kube::Client,
    /// Ends all watches.
    cut: Sender<()>,
    all: Watched,
    possible: Watched,
}

impl Cluster {
    fn start(encoding: Encoding) -> Self {
        let server = ApiServer::new();
        let cut = Sender::new(1);
        let all = Watched::start(&server, &cut, encoding, None);
        let possible = Watched::start(&server, &cut, encoding, Some(POSSIBLE_ENDPOINTS));
        Self { client: kube::Client::new(server.clone(), "default"), server, cut, all, possible }
    }

    /// Sends a request to pods. Returns false if the API server refuses it.
    async fn send(&self, method: &str, path: &str, body: Value) -> bool {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/namespaces/default/pods{path}"))
            .header("content-type", content)
            .body(body.to_string().into_bytes());
        self.client.request::<Value>(request.unwrap()).await.is_ok()
    }

    async fn create(&self, name: &str, app: &str) -> bool {
        let metadata = json!({"name": name, "labels": {"app": app}});
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "none"}]});
        self.send("POST", "", json!({"metadata": metadata, "spec": spec})).await
    }

    /// Sets phase, addresses, and the Ready condition with the time of its last change.
    async fn status(&self, name: &str, phase: &str, ips: &[&str], ready: Option<(bool, usize)>) -> bool {
        let condition = |(ready, second): (bool, usize)| {
            let status = if ready { "True" } else { "False" };
            json!({"type": "Ready", "status": status, "lastTransitionTime": TIMES[second]})
        };
        let status = json!({
            "phase": phase,
            "podIP": ips.first(),
            "podIPs": ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>(),
            "conditions": ready.map(condition).into_iter().collect::<Vec<_>>(),
        });
        self.send("PATCH", &format!("/{name}/status"), json!({"status": status})).await
    }

    /// Waits, on the paused clock, until both caches show the server's state, also after a relist.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

/// One thing that happens to a pod, or to the watches.
#[derive(Clone, Debug)]
enum Operation {
    Create(usize, &'static str),
    Status {
        pod: usize,
        phase: &'static str,
        ips: &'static [&'static str],
        ready: Option<(bool, usize)>,
    },
    Relabel(usize, Option<&'static str>),
    Annotate(usize, u8),
    Terminate(usize),
    Remove(usize),
    /// Ends all watches, which are resumed.
    BreakWatches,
    /// Ends all watches, which cannot be resumed: all pods are listed again.
    ForgetHistory,
}

const PODS: usize = 3;

fn operation() -> impl Strategy<Value = Operation> {
    let app = prop_oneof![Just("web"), Just("web"), Just("db")];
    let phase =
        prop_oneof![4 => Just("Running"), 1 => Just("Pending"), 1 => Just("Succeeded"), 1 => Just("Failed")];
    let ips: [&'static [&'static str]; 4] = [&[], &["10.1.0.1"], &["10.1.0.2", "fd00::2"], &["fd00::3"]];
    let ready = prop::option::of((any::<bool>(), 0..TIMES.len()));
    let status = (0..PODS, phase, prop::sample::select(ips.to_vec()), ready);
    prop_oneof![
        3 => (0..PODS, app.clone()).prop_map(|(pod, app)| Operation::Create(pod, app)),
        6 => status.prop_map(|(pod, phase, ips, ready)| Operation::Status { pod, phase, ips, ready }),
        1 => (0..PODS, prop::option::of(app)).prop_map(|(pod, app)| Operation::Relabel(pod, app)),
        1 => (0..PODS, any::<u8>()).prop_map(|(pod, note)| Operation::Annotate(pod, note)),
        1 => (0..PODS).prop_map(Operation::Terminate),
        1 => (0..PODS).prop_map(Operation::Remove),
        1 => Just(Operation::BreakWatches),
        1 => Just(Operation::ForgetHistory),
    ]
}

/// Applies an operation. What the API server refuses has no effect, in either cache.
async fn apply(cluster: &Cluster, operation: &Operation) {
    let path = |pod: &usize| format!("/pod-{pod}");
    match operation {
        Operation::Create(pod, app) => drop(cluster.create(&format!("pod-{pod}"), app).await),
        Operation::Status { pod, phase, ips, ready } => {
            cluster.status(&format!("pod-{pod}"), phase, ips, *ready).await;
        }
        Operation::Relabel(pod, app) => {
            cluster.send("PATCH", &path(pod), json!({"metadata": {"labels": {"app": app}}})).await;
        }
        Operation::Annotate(pod, note) => {
            let annotations = json!({"note": note.to_string()});
            cluster.send("PATCH", &path(pod), json!({"metadata": {"annotations": annotations}})).await;
        }
        Operation::Terminate(pod) => {
            cluster.send("DELETE", &path(pod), json!({"gracePeriodSeconds": 30})).await;
        }
        Operation::Remove(pod) => {
            cluster.send("DELETE", &path(pod), json!({"gracePeriodSeconds": 0})).await;
        }
        Operation::BreakWatches => drop(cluster.cut.send(())),
        Operation::ForgetHistory => {
            cluster.server.compact();
            drop(cluster.cut.send(()));
        }
    }
}

/// After each operation the cache holds exactly the pods that may be endpoints, in their latest state, and so leads to
/// the same slices; and each Service whose slices change is queued.
async fn check(encoding: Encoding, operations: &[Operation]) {
    let cluster = Cluster::start(encoding);
    cluster.settle().await;
    let services = services();
    let mut before = services.clone().map(|service| cluster.all.slices(&service));
    for operation in operations {
        cluster.possible.queued.0.lock().clear();
        apply(&cluster, operation).await;
        cluster.settle().await;
        let mut expected = cluster.all.pods();
        expected.retain(|pod| !pod.terminal && !pod.addresses.is_empty());
        assert_eq!(cluster.possible.pods(), expected, "after {operation:?}");
        for (service, before) in services.iter().zip(&mut before) {
            let slices = cluster.all.slices(service);
            assert_eq!(cluster.possible.slices(service), slices, "{} after {operation:?}", service.name);
            let queued = cluster.possible.queued.0.lock().iter().any(|name| *name == *service.name);
            assert!(queued || slices == *before, "{} is not queued after {operation:?}", service.name);
            *before = slices;
        }
    }
}

fn on_a_paused_clock(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn selected_pods_lead_to_the_same_slices_as_all_pods(
        json in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..24),
    ) {
        on_a_paused_clock(check(if json { Encoding::Json } else { Encoding::Protobuf }, &operations));
    }
}

/// A Service whose pods have been seen once, with its trigger times under all pods and under selected ones.
struct Dated {
    cluster: Cluster,
    service: Service,
    times: [TriggerTimes; 2],
}

impl Dated {
    async fn new() -> Self {
        let [service, ..] = services();
        let mut dated =
            Self { cluster: Cluster::start(Encoding::Protobuf), service, times: Default::default() };
        let created = Some(TIMES[0].to_owned());
        assert_eq!(dated.sync().await, [created.clone(), created]);
        dated
    }

    /// The trigger times of a sync with all pods and with selected ones.
    async fn sync(&mut self) -> [Option<String>; 2] {
        self.cluster.settle().await;
        let Self { cluster: Cluster { all, possible, .. }, service, times: [first, second] } = self;
        [all.trigger_time(first, service), possible.trigger_time(second, service)]
    }
}

#[allow(clippy::unnecessary_wraps, reason = "compared with optional times throughout")]
fn at(second: usize) -> Option<String> {
    Some(TIMES[second].to_owned())
}

/// Of a pod that ends arrives only that it left. Its own change is not dated; those of other pods are.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_pod_is_dated_only_with_all_pods() {
    let mut dated = Dated::new().await;
    for name in ["pod-1", "pod-2"] {
        assert!(dated.cluster.create(name, "web").await);
        assert!(dated.cluster.status(name, "Running", &["10.1.0.1"], Some((true, 1))).await);
    }
    assert_eq!(dated.sync().await, [at(1), at(1)]);
    assert!(dated.cluster.status("pod-1", "Failed", &["10.1.0.1"], Some((false, 2))).await);
    assert_eq!(dated.sync().await, [at(2), None]);
    assert!(dated.cluster.send("DELETE", "/pod-1", json!({"gracePeriodSeconds": 0})).await);
    assert!(dated.cluster.status("pod-2", "Running", &["10.1.0.1"], Some((false, 3))).await);
    assert_eq!(dated.sync().await, [at(3), at(3)]);
}

/// The Ready condition of a pod without an address has a time, which dates the next change of its Service: that of
/// another pod with all pods, its own with selected ones.
#[tokio::test(start_paused = true)]
async fn a_pod_without_an_address_is_dated_when_it_gets_one() {
    let mut dated = Dated::new().await;
    assert!(dated.cluster.create("pod-1", "web").await);
    assert!(dated.cluster.status("pod-1", "Pending", &[], Some((false, 1))).await);
    assert!(dated.cluster.create("pod-2", "web").await);
    assert!(dated.cluster.status("pod-2", "Running", &["10.1.0.2"], Some((true, 2))).await);
    assert_eq!(dated.sync().await, [at(1), at(2)]);
    assert!(dated.cluster.status("pod-1", "Running", &["10.1.0.1"], Some((false, 1))).await);
    assert_eq!(dated.sync().await, [None, at(1)]);
    assert!(dated.cluster.status("pod-1", "Running", &["10.1.0.1"], Some((true, 3))).await);
    assert_eq!(dated.sync().await, [at(3), at(3)]);
}

/// As long as nothing else happens to the Service, the time is the same.
#[tokio::test(start_paused = true)]
async fn a_pod_that_starts_is_dated_alike() {
    let mut dated = Dated::new().await;
    assert!(dated.cluster.create("pod-1", "web").await);
    assert!(dated.cluster.status("pod-1", "Pending", &[], Some((false, 1))).await);
    assert!(dated.cluster.status("pod-1", "Running", &["10.1.0.1"], Some((false, 1))).await);
    assert_eq!(dated.sync().await, [at(1), at(1)]);
    assert!(dated.cluster.status("pod-1", "Running", &["10.1.0.1"], Some((true, 2))).await);
    assert_eq!(dated.sync().await, [at(2), at(2)]);
    assert!(dated.cluster.send("DELETE", "/pod-1", json!({"gracePeriodSeconds": 0})).await);
    assert_eq!(dated.sync().await, [None, None]);
}
