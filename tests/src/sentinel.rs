//! Waiting until a controller has seen everything, without sleeping.
//!
//! "Nothing more will be written" cannot be observed. But a controller handles what it watches in order, so
//! once it has reacted to a change made *now* it has begun everything that was immediate before; and once a
//! reaction that it delays (slices that someone else changed are looked at a second later) has come, so have
//! all those delayed before. Each kind of trigger has its own sentinel, in a namespace that comparisons and
//! counts leave out.

use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::wait::{self, LIMIT};

/// Where the sentinels are.
pub const NAMESPACE: &str = "sentinel";

const BY_SERVICE: &str = "by-service";
const BY_POD: &str = "by-pod";
const ROUND: &str = "round";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const ZONE: &str = "topology.kubernetes.io/zone";

/// The sentinels of one cluster.
#[derive(Debug)]
pub struct Sentinel {
    nodes: Api<Node>,
    services: Api<Service>,
    pods: Api<Pod>,
    slices: Api<EndpointSlice>,
    round: AtomicU64,
}

impl Sentinel {
    /// Puts them into a cluster.
    pub async fn place(client: &Client) -> Self {
        let create = PostParams::default();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
        namespaces.create(&create, &namespace).await.expect("creating a namespace");
        let nodes: Api<Node> = Api::all(client.clone());
        let node = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
        nodes.create(&create, &node).await.expect("creating a node");

        let sentinel = Self {
            nodes,
            services: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            slices: Api::namespaced(client.clone(), NAMESPACE),
            round: AtomicU64::new(0),
        };
        for name in [BY_SERVICE, BY_POD] {
            let service = json!({
                "metadata": {"name": name, "labels": {ROUND: "0"}},
                "spec": {"selector": {"app": name}, "clusterIP": "None", "ipFamilies": ["IPv4"]},
            });
            let service = serde_json::from_value(service).unwrap();
            sentinel.services.create(&create, &service).await.expect("creating a Service");
        }
        let pod = json!({
            "metadata": {"name": NAMESPACE, "labels": {"app": BY_POD}},
            "spec": {"nodeName": NAMESPACE, "containers": [{"name": "main", "image": "none"}]},
        });
        sentinel.pods.create(&create, &serde_json::from_value(pod).unwrap()).await.expect("creating a pod");
        sentinel
    }

    /// Returns when the controllers have handled every earlier change of a Service or pod.
    ///
    /// The second round is for the workers beside the one that handled the first: what they began before has
    /// had the time of several requests.
    pub async fn barrier(&self) {
        self.round().await;
        self.round().await;
    }

    /// Returns when the controllers have also handled what they delay after a change of a slice.
    pub async fn settle(&self) {
        self.barrier().await;
        let before = self.slice_of(BY_SERVICE).await.expect("left by the barrier");
        self.slices.delete(&before.name_any(), &DeleteParams::default()).await.expect("deleting a slice");
        wait::until("sentinel slice to come back", LIMIT, || async {
            self.slice_of(BY_SERVICE).await.map(drop)
        })
        .await;
        self.barrier().await;
    }

    /// Returns when the controllers know of every earlier change of a node.
    ///
    /// Nodes are watched apart from pods, and no change of a node alone makes upstream write. So the sentinel's node
    /// moves, and its pod is changed until its endpoint is seen to have moved as well.
    pub async fn nodes_seen(&self) {
        let zone = format!("zone-{}", self.round.load(Ordering::Relaxed));
        let label = Patch::Merge(json!({"metadata": {"labels": {ZONE: zone}}}));
        self.nodes
            .patch(NAMESPACE, &PatchParams::default(), &label)
            .await
            .expect("changing the sentinel node");
        wait::until("controllers to know of a change of a node", LIMIT, || async {
            self.round().await;
            let by_pod = self.slice_of(BY_POD).await?;
            let seen = by_pod.endpoints.iter().flatten().next().and_then(|endpoint| endpoint.zone.clone());
            if seen.as_ref() == Some(&zone) { Ok(()) } else { Err(format!("its zone is {seen:?}")) }
        })
        .await;
    }

    async fn round(&self) {
        let round = self.round.fetch_add(1, Ordering::Relaxed) + 1;
        let label = json!({"metadata": {"labels": {ROUND: round.to_string()}}});
        let ready = !round.is_multiple_of(2);
        let status = json!({"status": {
            "phase": "Running",
            "podIP": "10.255.255.254",
            "podIPs": [{"ip": "10.255.255.254"}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        }});
        let merge = PatchParams::default();
        let (service, pod) = (Patch::Merge(label), Patch::Merge(status));
        let (service, pod) = tokio::join!(
            self.services.patch(BY_SERVICE, &merge, &service),
            self.pods.patch_status(NAMESPACE, &merge, &pod),
        );
        service.expect("changing the sentinel Service");
        pod.expect("changing the sentinel pod");
        wait::until("controllers to react to the sentinels", LIMIT, || async {
            let by_service = self.slice_of(BY_SERVICE).await?;
            let by_pod = self.slice_of(BY_POD).await?;
            let endpoint = by_pod.endpoints.iter().flatten().next();
            let seen = endpoint.and_then(|endpoint| endpoint.conditions.as_ref()?.ready);
            if by_service.labels().get(ROUND) != Some(&round.to_string()) {
                Err(format!("the Service's label is not yet {round}"))
            } else if seen != Some(ready) {
                Err(format!("the endpoint's readiness is {seen:?}"))
            } else {
                Ok(())
            }
        })
        .await;
    }

    async fn slice_of(&self, service: &str) -> Result<EndpointSlice, String> {
        // From the server's watch cache: what it shows has been sent to every watcher.
        let query = ListParams::default().labels(&format!("{SERVICE_NAME}={service}")).match_any();
        let list = self.slices.list(&query).await.map_err(|error| error.to_string())?;
        list.items.into_iter().next().ok_or_else(|| format!("{service} has no slice"))
    }
}
