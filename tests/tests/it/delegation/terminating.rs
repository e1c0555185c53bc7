//! The feature gate `EndpointSliceTerminatingCondition`.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointConditions;
use kube::ResourceExt as _;

use super::stage::{DEFAULTS, Stage};

const OFF: &str = "EndpointSliceTerminatingCondition=false";

/// Ready, serving, terminating.
type Conditions = [Option<bool>; 3];

const FULL: Conditions = [Some(true), Some(true), Some(false)];
const BARE: Conditions = [Some(true), None, None];

/// The conditions of each address in the slices of `web`.
async fn conditions(stage: &Stage) -> BTreeMap<String, Conditions> {
    let slices = stage.slices_of("web").await.into_iter();
    let endpoints = slices.flat_map(|slice| slice.endpoints.into_iter().flatten());
    let all = endpoints.map(|endpoint| {
        let EndpointConditions { ready, serving, terminating } = endpoint.conditions.unwrap();
        (endpoint.addresses[0].clone(), [ready, serving, terminating])
    });
    all.collect()
}

async fn expect(stage: &Stage, expected: &[(&str, Conditions)]) {
    let expected =
        expected.iter().map(|(address, conditions)| ((*address).to_owned(), *conditions)).collect();
    stage.world.settle().await;
    assert_eq!(conditions(stage).await, expected);
}

async fn version_of_the_mirrored(stage: &Stage) -> Vec<String> {
    stage.slices_of("custom").await.iter().map(|slice| slice.resource_version().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_terminating_pods_and_their_conditions_leave_with_the_next_write_and_come_back() {
    let mut stage = Stage::start(DEFAULTS).await;
    stage.service("web", None, &[1, 2]).await;
    stage.custom_endpoints("custom", None, "192.0.2.1").await;
    stage.bare_service("custom", None).await;
    expect(&stage, &[("10.1.0.1", FULL), ("10.1.0.2", FULL)]).await;
    let mirrored = version_of_the_mirrored(&stage).await;
    assert_eq!(mirrored.len(), 1);

    let mark = stage.mark();
    stage.switch(OFF).await;
    expect(&stage, &[("10.1.0.1", FULL), ("10.1.0.2", FULL)]).await;
    assert_eq!(stage.writes_since(mark), [""; 0], "no write of its own");

    stage.world.terminate("web-2").await;
    expect(&stage, &[("10.1.0.1", BARE)]).await;

    stage.switch(DEFAULTS).await;
    let terminating = [Some(false), Some(true), Some(true)];
    expect(&stage, &[("10.1.0.1", FULL), ("10.1.0.2", terminating)]).await;
    assert_eq!(version_of_the_mirrored(&stage).await, mirrored, "mirroring has nothing to do with it");
}
