//! The Deployment of ours: this plays its controller, the scheduler and the kubelet.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::cluster::Cluster;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::requests;

use crate::deploy::{PATIENT, manifests};

const NAME: &str = "endpoint-controller-manager";
const NAMESPACE: &str = "kube-system";

/// The processes of the Deployment's pods.
#[derive(Default)]
pub(crate) struct Ours {
    running: Vec<(String, Manager)>,
    started: usize,
    /// The generation that the status shows.
    observed: Option<i64>,
}

impl Ours {
    /// `kubectl apply -k deploy/base`.
    pub(crate) async fn apply(cluster: &Cluster) {
        for object in manifests::kustomization("base") {
            let created = requests::create(&cluster.client(), &object).await;
            // The role for the election is there already, and the Lease is held; kubectl would leave its annotations.
            let may_exist = ["Role", "Lease"].contains(&manifests::text(&object, "/kind"));
            assert!(created.is_ok() || may_exist, "{created:?}");
        }
    }

    /// Runs as many processes as the Deployment says.
    pub(crate) async fn tick(&mut self, cluster: &Cluster) {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
        let Some(deployment) = deployments.get_opt(NAME).await.unwrap() else { return };
        if deployment.metadata.generation == self.observed {
            return;
        }
        self.observed = deployment.metadata.generation;
        let wanted = usize::try_from(deployment.spec.replicas.unwrap()).unwrap();
        while self.running.len() < wanted {
            self.start(cluster).await;
        }
        let surplus = self.running.split_off(wanted);
        self.show(cluster).await;
        for (pod, manager) in surplus {
            assert_eq!(manager.stop().await.code(), Some(0));
            let pods: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
            pods.delete(&pod, &DeleteParams::default().grace_period(0)).await.unwrap();
        }
    }

    async fn start(&mut self, cluster: &Cluster) {
        let options =
            ManagerOptions { leader_election: Some(PATIENT), ..ManagerOptions::of(Controller::ALL) };
        let manager = Manager::ours(cluster, &options).await;
        self.started += 1;
        let name = format!("{NAME}-{}", self.started);
        let pods: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
        let pod = json!({
            "metadata": {"name": name, "labels": {"app.kubernetes.io/name": NAME}},
            "spec": {"nodeName": "c", "containers": [{"name": NAME, "image": "none"}]},
        });
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({ "status": status })))
            .await
            .unwrap();
        self.running.push((name, manager));
    }

    async fn show(&self, cluster: &Cluster) {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client(), NAMESPACE);
        let count = self.running.len();
        let status = json!({"observedGeneration": self.observed, "replicas": count, "updatedReplicas": count,
            "readyReplicas": count, "availableReplicas": count});
        let change = Patch::Merge(json!({ "status": status }));
        deployments.patch_status(NAME, &PatchParams::default(), &change).await.unwrap();
    }
}
