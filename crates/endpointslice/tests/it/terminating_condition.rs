//! Slices without the conditions `serving` and `terminating`: what the feature gate `EndpointSliceTerminatingCondition`
//! turned off means (KEP-1672).

use endpointslice::desired::Conditions;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};

use crate::support::{Cluster, NO_WRITES, PodExt as _, writes};

fn conditions(endpoint: &Endpoint) -> [Option<bool>; 3] {
    let EndpointConditions { ready, serving, terminating } = endpoint.conditions.clone().unwrap();
    [ready, serving, terminating]
}

/// Two slices of two pods each, with all conditions.
fn settled() -> Cluster {
    let mut cluster = Cluster { max: 2, ..Cluster::with_pods(4) };
    assert_eq!(cluster.sync(), writes(2, 0, 0));
    cluster
}

#[test]
fn only_readiness_is_published_and_terminating_pods_are_left_out() {
    let mut cluster = Cluster { conditions: Conditions::ReadyOnly, ..Cluster::with_pods(3) };
    cluster.pods[1].set_ready(false);
    cluster.pods[2].set_terminating();
    cluster.sync();
    let found: Vec<_> = cluster.endpoints().map(conditions).collect();
    assert_eq!(found, [[Some(true), None, None], [Some(false), None, None]]);
}

/// As for Endpoints, and as it was before the gate existed.
#[test]
fn a_service_that_publishes_every_address_keeps_terminating_pods() {
    let mut cluster = Cluster { conditions: Conditions::ReadyOnly, ..Cluster::with_pods(1) };
    cluster.spec().publish_not_ready_addresses = Some(true);
    cluster.pods[0].set_terminating();
    cluster.sync();
    assert_eq!(conditions(&cluster.only().endpoints.as_ref().unwrap()[0]), [Some(true), None, None]);
}

#[test]
fn a_service_whose_pods_all_terminate_gets_its_placeholder() {
    let mut cluster = Cluster { conditions: Conditions::ReadyOnly, ..Cluster::with_pods(1) };
    cluster.pods[0].set_terminating();
    assert_eq!(cluster.sync(), writes(1, 0, 0));
    assert_eq!((cluster.endpoints().count(), &cluster.only().ports), (0, &Some(vec![])));
}

#[test]
fn existing_slices_drop_the_conditions_at_their_next_write_and_get_them_back_at_once() {
    let mut cluster = settled();
    cluster.conditions = Conditions::ReadyOnly;
    assert_eq!(cluster.sync(), NO_WRITES, "no write of its own");
    cluster.pods[0].set_ready(false);
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    let mut found: Vec<_> = cluster.endpoints().map(conditions).collect();
    found.sort_unstable();
    let (bare, full) = ([Some(true), None, None], [Some(true), Some(true), Some(false)]);
    assert_eq!(found, [[Some(false), None, None], bare, full, full], "the whole slice that was written");
    cluster.conditions = Conditions::All;
    assert_eq!(cluster.sync(), writes(0, 1, 0));
    assert!(cluster.endpoints().all(|endpoint| conditions(endpoint)[1].is_some()));
}

/// Such writes take the endpoints as they were read.
#[test]
fn a_write_for_labels_or_hints_drops_the_conditions() {
    for change in [
        (|cluster: &mut Cluster| {
            cluster.service.metadata.labels = Some([("team".to_owned(), "shop".to_owned())].into());
        }) as fn(&mut Cluster),
        |cluster| cluster.spec().traffic_distribution = Some("PreferSameZone".to_owned()),
    ] {
        let mut cluster = settled();
        cluster.conditions = Conditions::ReadyOnly;
        change(&mut cluster);
        assert_eq!(cluster.sync(), writes(0, 2, 0));
        assert!(cluster.endpoints().all(|endpoint| conditions(endpoint) == [Some(true), None, None]));
    }
}
