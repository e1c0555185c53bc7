//! The loop on an API server in memory.

use std::ffi::OsString;

use embedded_apiserver::ApiServer;
use serde_json::{Value, json};

use super::super::command;
use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const OURS: &str = "endpoint-controller-manager";

fn cluster() -> Cluster {
    let client = kube::Client::new(ApiServer::new(), "default");
    Cluster::new(client, String::new(), None, "handover")
}

fn swap(words: &[&str]) -> Swap {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    command::parse(Goal::Handover, &words).unwrap_or_else(|_| panic!("{words:?}"))
}

async fn create(cluster: &Cluster, name: &str, annotations: &Value, holder: &Value) {
    let lease = json!({"metadata": {"name": name, "annotations": annotations}, "spec": holder});
    let _: Value = cluster.client.create_json(LEASES, &lease).await.unwrap();
}

/// It looks at first as if it had renewed the Lease just now.
#[tokio::test(start_paused = true)]
async fn a_leader_that_has_ended_without_a_release_does_not_count() {
    let (cluster, swap) = (cluster(), swap(&[]));
    let ended = json!({"holderIdentity": "killed_1", "leaseDurationSeconds": 15});
    create(&cluster, OURS, &json!({}), &ended).await;
    let mut observer = Observer::new(&cluster, &swap);
    let state = first_look(&cluster, &swap, &mut observer).await.unwrap();
    assert!(!state.facts.leads());
}
