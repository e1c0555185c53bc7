//! The feature gate `EndpointSliceTerminatingCondition`.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointConditions;
use kube::ResourceExt as _;

use super::fixture::{DEFAULTS, Fixture};

const OFF: &str = "EndpointSliceTerminatingCondition=false";

/// Ready, serving, terminating.
type Conditions = [Option<bool>; 3];

const FULL: Conditions = [Some(true), Some(true), Some(false)];
const BARE: Conditions = [Some(true), None, None];

/// The conditions of each address in the slices of `web`.
async fn conditions(fixture: &Fixture) -> BTreeMap<String, Conditions> {
    let slices = fixture.slices_of("web").await.into_iter();
    let endpoints = slices.flat_map(|slice| slice.endpoints.into_iter().flatten());
    let all = endpoints.map(|endpoint| {
        let EndpointConditions { ready, serving, terminating } = endpoint.conditions.unwrap();
        (endpoint.addresses[0].clone(), [ready, serving, terminating])
    });
    all.collect()
}

async fn expect(fixture: &Fixture, expected: &[(&str, Conditions)]) {
    let expected =
        expected.iter().map(|(address, conditions)| ((*address).to_owned(), *conditions)).collect();
    fixture.settle().await;
    assert_eq!(conditions(fixture).await, expected);
}

async fn version_of_the_mirrored(fixture: &Fixture) -> Vec<String> {
    fixture.slices_of("custom").await.iter().map(|slice| slice.resource_version().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_terminating_pods_and_their_conditions_leave_with_the_next_write_and_come_back() {
    let mut fixture = Fixture::start(DEFAULTS).await;
    fixture.service("web", None, &[1, 2]).await;
    fixture.custom_endpoints("custom", None, "192.0.2.1").await;
    fixture.bare_service("custom", None).await;
    expect(&fixture, &[("10.1.0.1", FULL), ("10.1.0.2", FULL)]).await;
    let mirrored = version_of_the_mirrored(&fixture).await;
    assert_eq!(mirrored.len(), 1);

    let mark = fixture.mark().await;
    fixture.switch(OFF).await;
    expect(&fixture, &[("10.1.0.1", FULL), ("10.1.0.2", FULL)]).await;
    assert_eq!(fixture.writes_since(mark), [""; 0], "no write of its own");

    fixture.world.terminate("web-2").await;
    expect(&fixture, &[("10.1.0.1", BARE)]).await;

    fixture.switch(DEFAULTS).await;
    let terminating = [Some(false), Some(true), Some(true)];
    expect(&fixture, &[("10.1.0.1", FULL), ("10.1.0.2", terminating)]).await;
    assert_eq!(version_of_the_mirrored(&fixture).await, mirrored, "mirroring has nothing to do with it");
}
