//! Pods selected by [`POSSIBLE_ENDPOINTS`] alongside all pods, both listed and watched from the embedded API server.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::{Interner, Pod, Service};
use http::Request;
use kube_api::{ApiClient, Encoding};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cache::{Cache, State};
use crate::kinds::{POSSIBLE_ENDPOINTS, SelectedPods};
use crate::list_watch::{ListWatch, Timing};

/// A list-watch of pods and its cache.
struct Watched {
    cache: Arc<Cache>,
    running: JoinHandle<()>,
}

impl Watched {
    fn start(client: &ApiClient, selector: Option<&str>) -> Self {
        let cache = Arc::new(Cache::default());
        let list_watch = ListWatch::<Pod>::new(client.clone(), Arc::clone(&cache), Timing::default());
        let list_watch = match selector {
            Some(selector) => list_watch.with_field_selector(selector),
            None => list_watch,
        };
        Self { cache, running: tokio::spawn(list_watch.run()) }
    }

    fn selected(&self, service: &Service) -> Vec<Arc<Pod>> {
        let selector = service.selector.as_ref().expect("the Service has one");
        let selected =
            |state: &State| state.pods_selected("default", selector).cloned().collect::<SelectedPods>();
        self.cache.read(selected).sorted()
    }

    /// The trigger time of a sync now.
    fn trigger_time(&self, times: &mut TriggerTimes, service: &Service) -> Option<String> {
        times.compute(service, self.selected(service).iter().map(|pod| &**pod))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn service() -> Service {
    let service = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "web", "creationTimestamp": TIMES[0]},
        "spec": {"selector": {"app": "web"}, "clusterIP": "10.96.0.1", "ports": [{"port": 80}]},
    });
    Service::from_api(&serde_json::from_value(service).unwrap(), &mut Interner::default())
}

const TIMES: [&str; 4] =
    ["2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z", "2001-01-01T00:00:02Z", "2001-01-01T00:00:03Z"];

/// Both list-watches of an API server.
struct Cluster {
    client: kube::Client,
    all: Watched,
    possible: Watched,
}

impl Cluster {
    fn start() -> Self {
        let client = kube::Client::new(ApiServer::new(), "default");
        let requests = ApiClient::new(client.clone(), Encoding::Protobuf, "test/1.0");
        let all = Watched::start(&requests, None);
        let possible = Watched::start(&requests, Some(POSSIBLE_ENDPOINTS));
        Self { client, all, possible }
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

    /// Waits, on the paused clock, until both caches show the server's state.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(30)).await;
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
        let mut dated = Self { cluster: Cluster::start(), service: service(), times: Default::default() };
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
