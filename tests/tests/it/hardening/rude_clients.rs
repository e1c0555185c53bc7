//! Clients and admission policies that take slices: many are deleted, each new one gets another manager, an update of a
//! mirrored slice is taken back. What is missing comes back as soon as upstream brings it back, nothing piles up, and other
//! Services are not delayed.

use std::time::{Duration, Instant};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::policies;
use tests::requests::create;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};
use tokio::time::{sleep, sleep_until};

use super::fixture::{calm, change, kind, measured, serve};

/// The time for which the policies and the relabelling client act.
const LASTS: Duration = Duration::from_secs(60);
/// The slices that are deleted, and the time between two.
const DELETED: u16 = 30;
/// A Service's first endpoint fills its placeholder only if a slice holds more than one.
const PER_SLICE: u16 = 2;
const PODS: u16 = DELETED * PER_SLICE;
const PAUSE: Duration = Duration::from_millis(100);
/// The limits, with which upstream's figures are compared.
const BACK: Duration = Duration::from_secs(2);
const MOST_UNDER_A_POLICY: usize = 3;
const MOST_RELABELLED: usize = 5;
const BYSTANDER: Duration = Duration::from_secs(1);

/// A policy that sets a label of the slices of one Service, when they are written with one of these operations.
async fn policy(client: &Client, service: &str, operations: &[&str], label: &str, value: &str) {
    let is_of_service = format!("object.metadata.?labels['{SERVICE_NAME}'].orValue('') == '{service}'");
    let patch = format!(
        r#"[JSONPatch{{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("{label}"), value: "{value}"}}]"#
    );
    let policy = json!({
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["discovery.k8s.io"], "apiVersions": ["v1"], "operations": operations,
            "resources": ["endpointslices"],
        }]},
        "matchConditions": [{"name": "service", "expression": is_of_service}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
    });
    let binding = json!({"policyName": service});
    for (kind, spec) in [("MutatingAdmissionPolicy", policy), ("MutatingAdmissionPolicyBinding", binding)] {
        create(client, &policies::object(kind, service, &spec)).await.unwrap();
    }
    wait::until("the policy to act", LIMIT, async || {
        let probe = json!({
            "metadata": {"name": "probe", "labels": {SERVICE_NAME: service, MANAGED_BY: "probe"}},
            "addressType": "IPv4", "endpoints": [],
        });
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let probe = slices.create(&dry_run, &serde_json::from_value(probe).unwrap()).await.unwrap();
        if probe.labels().get(label).is_some_and(|seen| seen == value) { Ok(()) } else { Err("not yet") }
    })
    .await;
}

/// All slices that name this Service, whoever manages them.
async fn stored(slices: &Api<EndpointSlice>, service: &str) -> Vec<EndpointSlice> {
    let prefix = format!("{service}-");
    let mut found = slices.list(&ListParams::default()).await.unwrap().items;
    found.retain(|slice| slice.name_any().starts_with(&prefix));
    found
}

/// Deletes the slices of a Service one after the other. Returns the time from the last deletion until all endpoints are back.
async fn delete_all(world: &World, service: &str) -> Duration {
    for slice in stored(world.slices(), service).await {
        world.slices().delete(&slice.name_any(), &DeleteParams::default()).await.unwrap();
        sleep(PAUSE).await;
    }
    let last = Instant::now();
    wait::until("the endpoints of the deleted slices", LIMIT, async || {
        let slices = world.slices_of(service, "IPv4").await?;
        let count = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count();
        if count == usize::from(PODS) { Ok(()) } else { Err(format!("{count} endpoints")) }
    })
    .await;
    last.elapsed()
}

/// Gives each slice of a Service that the controller manages to another manager, until the end.
async fn relabel(world: &World, service: &str, end: tokio::time::Instant) {
    let theirs = json!({"metadata": {"labels": {MANAGED_BY: "them"}}});
    while tokio::time::Instant::now() < end {
        for slice in stored(world.slices(), service).await {
            if slice.labels().get(MANAGED_BY).is_some_and(|by| by != "them") {
                let name = slice.name_any();
                world.slices().patch(&name, &PatchParams::default(), &Patch::Merge(&theirs)).await.unwrap();
            }
        }
        sleep(PAUSE).await;
    }
}

/// Changes a Service without conflicts until the end. Returns the longest delay.
async fn bystander(world: &World, end: tokio::time::Instant) -> Duration {
    let mut longest = Duration::ZERO;
    for ready in [false, true].into_iter().cycle() {
        if tokio::time::Instant::now() > end {
            break;
        }
        longest = longest.max(change(world, "bystander", ready, LIMIT).await.unwrap());
        sleep(Duration::from_millis(500)).await;
    }
    longest
}

/// A Service with an Endpoints object, which is mirrored.
async fn mirrored(world: &World) {
    world.service("mirrored", json!({}), json!({"ports": [{"port": 80}]})).await;
    world.endpoints("mirrored", json!({"addresses": [{"ip": "192.0.2.7"}], "ports": [{"port": 80}]})).await;
    world.expect("mirrored", "IPv4", 1, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slices_that_clients_and_policies_take_come_back_in_time_and_do_not_pile_up() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let client = cluster.client();
    let world = World::prepare(client.clone(), Controller::ALL).await;
    let options =
        ManagerOptions { max_endpoints_per_slice: PER_SLICE.into(), ..ManagerOptions::of(Controller::ALL) };
    let manager = Manager::start(kind(), &cluster, &options).await;
    policy(&client, "taken", &["CREATE"], MANAGED_BY, "them").await;
    policy(&client, "mirrored", &["CREATE", "UPDATE"], "team", "a").await;
    mirrored(&world).await;
    serve(&world, "bystander", 0).await;
    serve(&world, "relabelled", 1).await;
    world.pods((0..PODS).map(|n| Pod::new(&format!("deleted-{n}"), "deleted", 10 + n))).await;
    let spec = json!({"selector": {"app": "deleted"}, "ports": [{"port": 80}], "ipFamilies": ["IPv4"]});
    world.service("deleted", json!({}), spec).await;
    world.expect("deleted", "IPv4", PODS.into(), PODS.into()).await;
    world.settle().await;
    // A new process knows nothing of the versions of the mirrored slice.
    assert!(manager.stop().await.success());
    let mut manager = Manager::start(kind(), &cluster, &options).await;
    world.settle().await;
    let calm = calm(&world, "bystander").await;

    let end = tokio::time::Instant::now() + LASTS;
    serve(&world, "taken", 2).await;
    let (back, (), longest) = tokio::join!(
        delete_all(&world, "deleted"),
        relabel(&world, "relabelled", end),
        bystander(&world, end),
    );
    sleep_until(end).await;
    let (taken, relabelled) =
        (stored(world.slices(), "taken").await.len(), stored(world.slices(), "relabelled").await.len());
    measured(&format!("{DELETED} slices are deleted, all endpoints are back"), back);
    measured("change of a Service alongside them, longest delay", longest);
    println!(
        "measured: slices after {} s, {}: {taken} under a policy, {relabelled} relabelled",
        LASTS.as_secs(),
        kind().name()
    );
    assert!(back <= calm.bound(BACK), "{back:.1?}");
    assert!(longest <= calm.bound(BYSTANDER), "{longest:.1?}");
    assert!(taken <= MOST_UNDER_A_POLICY, "{taken} slices");
    assert!(relabelled <= MOST_RELABELLED, "{relabelled} slices");
    let relist = manager.process().line(&["resourceVersion went back"]);
    assert_eq!(relist, None, "nothing was restored");
    assert!(manager.stop().await.success());
}
