//! The cluster of the benchmark, and its pods.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use tests::cluster::{Cluster, Seed};

use crate::options::Options;

/// A cluster with all objects but those that a controller makes.
pub(crate) async fn cluster(options: &Options) -> Cluster {
    let seed = Seed {
        services: options.services,
        pods: options.pods,
        nodes: options.nodes,
        zones: options.zones,
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
        // Without those that are no endpoints.
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
