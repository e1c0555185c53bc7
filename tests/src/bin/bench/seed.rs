//! The cluster of the benchmark, and its pods.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::cluster::{Cluster, Seed};

use crate::options::Options;

/// A cluster with all objects but those that a controller makes.
pub(crate) async fn cluster(options: &Options) -> Cluster {
    let seed = Seed {
        services: options.services,
        pods: options.pods,
        nodes: options.nodes,
        namespaces: options.namespaces(),
        bystanders: options.bystanders,
        limit: options.limit(),
    };
    Cluster::seeded(&seed).await
}

/// A seeded pod, and the Service that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SeededPod {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// All pods of Services: one of each Service, then another of each, and so on.
pub(crate) async fn pods(cluster: &Cluster, options: &Options) -> Vec<SeededPod> {
    let mut pods = Vec::new();
    for namespace in 0..options.namespaces() {
        let namespace = format!("ns-{namespace}");
        let api: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
        // Without those that are not endpoints.
        let running = ListParams::default().fields("status.phase=Running");
        let list = api.list_metadata(&running).await.expect("listing pods");
        let names = list.items.into_iter().filter_map(|pod| pod.metadata.name);
        // svc-12-fkq2x7b9mn-4xh2c: the pods of a Service differ at the end.
        pods.extend(names.map(|name| SeededPod { namespace: namespace.clone(), name }));
    }
    assert_eq!(pods.len(), options.all_pods() as usize, "pods in the cluster");
    let suffix = |pod: &SeededPod| pod.name.rsplit('-').next().unwrap_or_default().to_owned();
    pods.sort_by_cached_key(|pod| (suffix(pod), pod.namespace.clone(), pod.name.clone()));
    pods
}

/// Conditions of a pod, with this status of `Ready`.
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
