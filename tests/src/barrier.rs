//! A barrier: waits until the controllers have handled all earlier changes, without sleeping.
//!
//! The absence of further writes cannot be observed. But a controller handles the events of a watch in order: once it
//! has reacted to a change made *now*, it has begun to handle every earlier one; and once a delayed reaction has come
//! (slices that another client changed are repaired a second later), so have all that were delayed before. Each kind of
//! trigger has barrier objects of its own, in a namespace that comparisons and counts leave out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use random_operations::SERVICE_NAME;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::manager::Controller;
use crate::metrics::Exposition;
use crate::pages::Pages;
use crate::requests::create;
use crate::wait::{self, LIMIT};

/// The namespace of the barrier objects.
pub const NAMESPACE: &str = "barrier";

const BY_SERVICE: &str = "by-service";
const BY_POD: &str = "by-pod";
/// The custom Endpoints, whose Service has no selector.
const BY_ENDPOINTS: &str = "by-endpoints";
/// The number of times that the objects of one Service may be deleted. The controller recreates them, and delays its
/// repairs after more than ten.
const SETTLES_PER_SERVICE: u64 = 4;
/// A repair takes a second.
const STUCK: Duration = Duration::from_secs(30);
const HANDLED: Duration = Duration::from_secs(2);
const ROUND: &str = "round";
const ADDRESS: &str = "10.255.255.254";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Objects of the controllers for barrier objects.
struct Repaired {
    endpoints: Vec<Endpoints>,
    slices: Vec<EndpointSlice>,
}

/// The barrier objects of one cluster.
#[derive(Debug)]
pub struct Barrier {
    /// The controllers whose reaction is awaited.
    controllers: &'static [Controller],
    nodes: Api<Node>,
    services: Api<Service>,
    pods: Api<Pod>,
    endpoints: Api<Endpoints>,
    slices: Api<EndpointSlice>,
    round: AtomicU64,
    settles: AtomicU64,
    /// The number in the names of the present barrier objects.
    generation: AtomicU64,
}

/// The names of the barrier objects of a generation.
struct Names {
    by_service: String,
    by_endpoints: String,
}

impl Barrier {
    /// Creates the barrier objects in a cluster where these controllers run.
    pub async fn place(client: &Client, controllers: &'static [Controller]) -> Self {
        let object = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": NAMESPACE}});
        for kind in ["Namespace", "Node"] {
            create(client, &object(kind)).await.unwrap_or_else(|error| panic!("creating a {kind}: {error}"));
        }
        let barrier = Self {
            controllers,
            nodes: Api::all(client.clone()),
            services: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            endpoints: Api::namespaced(client.clone(), NAMESPACE),
            slices: Api::namespaced(client.clone(), NAMESPACE),
            round: AtomicU64::new(0),
            settles: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        };
        for name in [BY_SERVICE, BY_POD, BY_ENDPOINTS] {
            barrier.create_service(name, name != BY_ENDPOINTS).await;
        }
        let pod = json!({
            "metadata": {"name": NAMESPACE, "labels": {"app": BY_POD}},
            "spec": {"nodeName": NAMESPACE, "containers": [{"name": "main", "image": "none"}]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        barrier.pods.create(&PostParams::default(), &pod).await.expect("creating a pod");
        if barrier.runs(Controller::EndpointSliceMirroring) {
            barrier.create_endpoints(BY_ENDPOINTS).await;
        }
        barrier
    }

    async fn create_service(&self, name: &str, selects: bool) {
        let service = json!({
            "metadata": {"name": name, "labels": {ROUND: "0"}},
            "spec": {"selector": selects.then(|| json!({"app": name})), "clusterIP": "None", "ipFamilies": ["IPv4"]},
        });
        let service = serde_json::from_value(service).unwrap();
        self.services.create(&PostParams::default(), &service).await.expect("creating a Service");
    }

    async fn create_endpoints(&self, name: &str) {
        let endpoints = json!({
            "metadata": {"name": name, "labels": {ROUND: "0"}},
            "subsets": [{"addresses": [{"ip": ADDRESS}]}],
        });
        let endpoints = serde_json::from_value(endpoints).unwrap();
        self.endpoints.create(&PostParams::default(), &endpoints).await.expect("creating Endpoints");
    }

    /// Returns when the controllers have handled every earlier change of a Service or pod.
    ///
    /// The second round is for the other workers: a sync that one of them had begun before the first round has had the
    /// time of several requests to finish.
    pub async fn wait(&self) {
        self.round().await;
        self.round().await;
    }

    fn names(&self) -> Names {
        let generation = self.generation.load(Ordering::Relaxed);
        let name =
            |name: &str| if generation == 0 { name.to_owned() } else { format!("{name}-{generation}") };
        Names { by_service: name(BY_SERVICE), by_endpoints: name(BY_ENDPOINTS) }
    }

    fn runs(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Returns when the controllers have also handled the syncs that they delay after a change to their own objects.
    pub async fn settle(&self) {
        let settles = self.settles.fetch_add(1, Ordering::Relaxed);
        if settles > 0 && settles.is_multiple_of(SETTLES_PER_SERVICE) {
            self.generation.fetch_add(1, Ordering::Relaxed);
            let Names { by_service, by_endpoints } = self.names();
            self.create_service(&by_service, true).await;
            if self.runs(Controller::EndpointSliceMirroring) {
                self.create_service(&by_endpoints, false).await;
                self.create_endpoints(&by_endpoints).await;
            }
        }
        // Upstream repairs only slices that its process has written: the rounds make it write these.
        self.wait().await;
        let Names { by_service, by_endpoints } = self.names();
        let Repaired { endpoints, slices } = self.repaired(&by_service, &by_endpoints, &[]).await;
        let now = DeleteParams::default();
        for endpoints in &endpoints {
            self.endpoints.delete(&endpoints.name_any(), &now).await.expect("deleting Endpoints");
        }
        for slice in &slices {
            self.slices.delete(&slice.name_any(), &now).await.expect("deleting a slice");
        }
        let deleted: Vec<String> = endpoints
            .iter()
            .filter_map(ResourceExt::uid)
            .chain(slices.iter().filter_map(ResourceExt::uid))
            .collect();
        let repaired = self.repaired(&by_service, &by_endpoints, &deleted);
        if slices.iter().any(is_upstreams) && timeout(STUCK, repaired).await.is_err() {
            self.recreate_endpoints(&by_endpoints).await;
        }
        self.repaired(&by_service, &by_endpoints, &deleted).await;
        self.wait().await;
    }

    /// Frees upstream's EndpointSliceMirroring controller: if a slice is deleted before the worker that wrote it has recorded the
    /// response, it waits for that slice without end ("EndpointSlice informer cache is out of date"), until its Endpoints go. Ours
    /// has to repair it.
    async fn recreate_endpoints(&self, by_endpoints: &str) {
        if !self.runs(Controller::EndpointSliceMirroring) {
            return;
        }
        eprintln!(
            "{by_endpoints} is not mirrored again after {} s: its Endpoints are created anew",
            STUCK.as_secs()
        );
        self.endpoints.delete(by_endpoints, &DeleteParams::default()).await.expect("deleting Endpoints");
        // The deletion is to be handled by itself, and leaves no trace when it is.
        tokio::time::sleep(HANDLED).await;
        self.create_endpoints(by_endpoints).await;
    }

    /// Waits until the controllers have created their objects for these Services, and returns them. Those with a `deleted`
    /// uid are not theirs any more: the server's watch cache may still have them after their deletion was answered.
    async fn repaired(&self, by_service: &str, by_endpoints: &str, deleted: &[String]) -> Repaired {
        let services = self.services_with_slices(by_service, by_endpoints);
        wait::until("barrier objects to be repaired", LIMIT, || async {
            let slices = try_join_all(services.iter().map(|service| self.slice_of(service))).await?;
            let mut endpoints = Vec::new();
            if self.runs(Controller::Endpoints) {
                endpoints.push(self.endpoints_of(by_service).await?);
            }
            let uids = endpoints.iter().map(ResourceExt::uid).chain(slices.iter().map(ResourceExt::uid));
            let stale = uids.flatten().find(|uid| deleted.contains(uid));
            match stale {
                None => Ok(Repaired { endpoints, slices }),
                Some(uid) => Err(format!("the deletion of {uid} is not in the cache yet")),
            }
        })
        .await
    }

    /// The Services whose slices `settle` deletes.
    fn services_with_slices<'a>(&self, by_service: &'a str, by_endpoints: &'a str) -> Vec<&'a str> {
        [(Controller::EndpointSlice, by_service), (Controller::EndpointSliceMirroring, by_endpoints)]
            .into_iter()
            .filter(|(controller, _)| self.runs(*controller))
            .map(|(_, service)| service)
            .collect()
    }

    /// Returns when the controllers have seen every earlier change of a node.
    ///
    /// Nodes are watched separately from pods, and no change of a node alone makes upstream write. So the barrier's
    /// node moves, and its pod is changed until its endpoint shows the move as well.
    pub async fn nodes_seen(&self) {
        if !self.runs(Controller::EndpointSlice) {
            return;
        }
        let zone = format!("zone-{}", self.round.load(Ordering::Relaxed));
        let label = Patch::Merge(json!({"metadata": {"labels": {ZONE: zone}}}));
        self.nodes
            .patch(NAMESPACE, &PatchParams::default(), &label)
            .await
            .expect("changing the barrier node");
        wait::until("controllers to see a change of a node", LIMIT, || async {
            self.round().await;
            let by_pod = self.slice_of(BY_POD).await?;
            let seen = by_pod.endpoints.iter().flatten().next().and_then(|endpoint| endpoint.zone.clone());
            if seen.as_ref() == Some(&zone) { Ok(()) } else { Err(format!("its zone is {seen:?}")) }
        })
        .await;
    }

    async fn round(&self) {
        let round = self.round.fetch_add(1, Ordering::Relaxed) + 1;
        let label: Value = json!({"metadata": {"labels": {ROUND: round.to_string()}}});
        let ready = !round.is_multiple_of(2);
        let status = json!({"status": {
            "phase": "Running",
            "podIP": ADDRESS,
            "podIPs": [{"ip": ADDRESS}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        }});
        let merge = PatchParams::default();
        let (label, status) = (Patch::Merge(label), Patch::Merge(status));
        let Names { by_service, by_endpoints } = self.names();
        let (service, pod) = tokio::join!(
            self.services.patch(&by_service, &merge, &label),
            self.pods.patch_status(NAMESPACE, &merge, &status),
        );
        service.expect("changing the barrier Service");
        pod.expect("changing the barrier pod");
        if self.runs(Controller::EndpointSliceMirroring) {
            let changed = self.endpoints.patch(&by_endpoints, &merge, &label).await;
            changed.expect("changing the barrier Endpoints");
        }
        wait::until("controllers to react to the barrier", LIMIT, || async {
            for controller in self.controllers {
                self.reacted(*controller, round, ready).await?;
            }
            Ok::<(), String>(())
        })
        .await;
    }

    /// Checks that a controller has handled the change that a round made.
    async fn reacted(&self, controller: Controller, round: u64, ready: bool) -> Result<(), String> {
        let Names { by_service, by_endpoints } = self.names();
        let (label, seen) = match controller {
            Controller::Endpoints => {
                let (by_service, by_pod) =
                    (self.endpoints_of(&by_service).await?, self.endpoints_of(BY_POD).await?);
                let subset = by_pod.subsets.iter().flatten().next();
                (label(&by_service), subset.map(|subset| subset.addresses.is_some()))
            }
            Controller::EndpointSlice => {
                let (by_service, by_pod) = (self.slice_of(&by_service).await?, self.slice_of(BY_POD).await?);
                let endpoint = by_pod.endpoints.iter().flatten().next();
                (label(&by_service), endpoint.and_then(|endpoint| endpoint.conditions.as_ref()?.ready))
            }
            Controller::EndpointSliceMirroring => (label(&self.slice_of(&by_endpoints).await?), Some(ready)),
        };
        let name = controller.name();
        if label != Some(round.to_string()) {
            Err(format!("{name}: the label is {label:?}, not yet {round}"))
        } else if seen != Some(ready) {
            Err(format!("{name}: the endpoint's readiness is {seen:?}"))
        } else {
            Ok(())
        }
    }

    async fn slice_of(&self, service: &str) -> Result<EndpointSlice, String> {
        first(&self.slices, ListParams::default().labels(&format!("{SERVICE_NAME}={service}"))).await
    }

    async fn endpoints_of(&self, service: &str) -> Result<Endpoints, String> {
        first(&self.endpoints, ListParams::default().fields(&format!("metadata.name={service}"))).await
    }
}

/// True if kube-controller-manager has written a slice, by its field managers.
fn is_upstreams(slice: &EndpointSlice) -> bool {
    slice.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some("kube-controller-manager"))
}

/// Waits until no worker of these controllers is in the middle of a sync, by the metrics of their queues.
///
/// A [barrier](Barrier::wait) waits for one worker of each controller, and another may still have an earlier sync in hand. After
/// both, what was written for earlier changes is stored, and in the audit log.
pub async fn workers_rest(controllers: &[Controller], manager: &Pages) {
    wait::until("workers to be at rest", LIMIT, || async {
        let text = manager.get("/metrics").await?.text;
        let of_queues = |line: &&str| {
            line.trim_start_matches("# HELP ").trim_start_matches("# TYPE ").starts_with("workqueue_")
        };
        let text: String = text.lines().filter(of_queues).flat_map(|line| [line, "\n"]).collect();
        let metrics = Exposition::parse(&text)?;
        controllers.iter().try_for_each(|controller| is_at_rest(&metrics, queue(*controller)))
    })
    .await;
}

/// Checks that every key that was added to a queue has been synced.
fn is_at_rest(metrics: &Exposition, queue: &str) -> Result<(), String> {
    let labels = [("name", queue)];
    let added = metrics.number("workqueue_adds_total", &labels);
    let synced = metrics.histogram("workqueue_work_duration_seconds", &labels).and_then(|found| found.count);
    let is_equal = added.zip(synced).is_some_and(|(added, synced)| added.total_cmp(&synced).is_eq());
    if is_equal { Ok(()) } else { Err(format!("{queue}: {added:?} added, {synced:?} synced")) }
}

/// The name of a controller's queue in metrics.
fn queue(controller: Controller) -> &'static str {
    match controller {
        Controller::Endpoints => "endpoint",
        Controller::EndpointSlice => "endpoint_slice",
        Controller::EndpointSliceMirroring => "endpoint_slice_mirroring",
    }
}

/// Reads from the server's watch cache: its objects have been sent to every watcher.
async fn first<K>(api: &Api<K>, query: ListParams) -> Result<K, String>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let query = query.match_any();
    let list = api.list(&query).await.map_err(|error| error.to_string())?;
    let selector = query.label_selector.or(query.field_selector);
    list.items.into_iter().next().ok_or_else(|| format!("nothing has {}", selector.unwrap_or_default()))
}

fn label(object: &impl ResourceExt) -> Option<String> {
    object.labels().get(ROUND).cloned()
}
