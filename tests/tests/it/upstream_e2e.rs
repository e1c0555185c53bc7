//! Upstream's own end-to-end tests of the three controllers, in a cluster whose kube-controller-manager runs all others.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Binding, Node, ObjectReference, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::ObjectMeta;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::process::Process;

use crate::handover::nodes::CONTROLLERS;

/// The tests of test/e2e/network that read endpoints only. All others connect to pods.
const TESTS: [&str; 7] = [
    "EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods",
    "EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service",
    "EndpointSlice should support creating EndpointSlice API operations",
    "EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete",
    "Endpoints should test the lifecycle of an Endpoint",
    "EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods",
    "EndpointsController should create Endpoints for Pods matching a Service",
];
const NODE: &str = "node";
/// Two of the tests wait for the garbage collector, which may take 90 s.
const TIME: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tests_of_endpoints_pass() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let others = Controller::ALL.iter().fold(CONTROLLERS.to_owned(), |list, one| list + ",-" + one.name());
    let others = ManagerOptions {
        user: User::Admin,
        controllers_flag: Some(others),
        ..ManagerOptions::of(Controller::ALL)
    };
    let _others = Manager::upstream(&cluster, &others);
    let _ours = Manager::ours(&cluster, &ManagerOptions::of(Controller::ALL)).await;
    let metadata = ObjectMeta { name: Some(NODE.to_owned()), ..ObjectMeta::default() };
    let node = Node { metadata, ..Node::default() };
    Api::all(cluster.client()).create(&PostParams::default(), &node).await.unwrap();
    let pods = tokio::spawn(run_pods(cluster.client()));

    let args = [
        format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display()),
        // Their tokens need files that kube-controller-manager does not have here.
        "--e2e-verify-service-account=false".to_owned(),
        format!("--ginkgo.focus={}", TESTS.join("|")),
        "--ginkgo.v".to_owned(),
    ];
    let mut e2e = Process::start("e2e", &binaries::tool("e2e"), cluster.folder(), args);
    let status = e2e.ended(TIME).await;
    pods.abort();
    assert!(status.success(), "{}", e2e.tail());
    let count = TESTS.len();
    assert!(e2e.line(&[&format!("Ran {count} of")]).is_some(), "not {count} tests: {}", e2e.tail());
}

/// Stands in for the scheduler and a kubelet: pods get an address and run, and end when they are deleted.
async fn run_pods(client: Client) {
    let all: Api<Pod> = Api::all(client.clone());
    let mut addresses = BTreeMap::new();
    loop {
        // Begins with the pods that there are.
        let events = all.watch(&WatchParams::default(), "0").await.unwrap();
        let mut events = pin!(events);
        while let Ok(Some(event)) = events.try_next().await {
            let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event else { continue };
            let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap());
            if pod.metadata.deletion_timestamp.is_some() {
                // It may have ended since.
                let _ = pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
            } else if let number = addresses.len() + 1
                && addresses.insert(pod.uid(), number).is_none()
            {
                run_pod(&pods, &pod.name_any(), &format!("10.1.0.{number}")).await;
            }
        }
    }
}

async fn run_pod(pods: &Api<Pod>, name: &str, address: &str) {
    let target = ObjectReference { name: Some(NODE.to_owned()), ..ObjectReference::default() };
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let binding = Binding { metadata, target };
    let _: Value = pods.create_subresource("binding", name, &PostParams::default(), &binding).await.unwrap();
    let ready = json!({"type": "Ready", "status": "True"});
    let status =
        json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]});
    let patch = Patch::Merge(json!({"status": status}));
    pods.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}
