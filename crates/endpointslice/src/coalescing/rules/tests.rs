use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::EndpointHints;

use super::*;
use crate::model::{Interner, PortFields, ServiceFields};
use crate::plan::TrafficDistribution;

const CLUSTER: Rules = Rules { all_urgent: false, serving_counts: false };
const SERVING_COUNTS: Rules = Rules { all_urgent: false, serving_counts: true };

/// An endpoint with these conditions: `r` is ready, `s` serving, `t` terminating, `-` none of them.
fn endpoint(conditions: &str) -> Endpoint {
    let has = |condition| Some(conditions.contains(condition));
    let conditions = Some(EndpointConditions { ready: has('r'), serving: has('s'), terminating: has('t') });
    let target_ref = Some(ObjectReference { name: Some("web-1".into()), ..ObjectReference::default() });
    Endpoint { addresses: vec!["10.0.0.1".into()], conditions, target_ref, ..Endpoint::default() }
}

#[test]
fn changes_between_states_without_traffic_are_soft() {
    // Before, after (none: absent), soft, and soft if endpoints that serve count.
    for (before, after, soft, strict) in [
        (None, Some("-"), true, true),
        (None, Some("t"), true, true),
        (None, Some("rs"), false, false),
        (None, Some("st"), false, false),
        (None, Some("s"), false, false),
        (Some("-"), None, true, true),
        (Some("t"), None, true, true),
        (Some("st"), None, true, false),
        (Some("rs"), None, false, false),
        (Some("st"), Some("t"), true, false),
        (Some("t"), Some("st"), false, false),
        (Some("-"), Some("t"), false, false),
        (Some("-"), Some("rs"), false, false),
        (Some("rs"), Some("-"), false, false),
        (Some("rs"), Some("st"), false, false),
        (Some("rs"), Some("t"), false, false),
        (Some("s"), Some("t"), false, false),
    ] {
        let (before, after) = (before.map(endpoint), after.map(endpoint));
        let change = match (&before, &after) {
            (None, Some(after)) => Change::Added(after),
            (Some(before), Some(after)) => Change::Updated(before, after),
            (Some(before), None) => Change::Removed(before),
            (None, None) => unreachable!(),
        };
        assert_eq!((CLUSTER.is_soft(change), SERVING_COUNTS.is_soft(change)), (soft, strict), "{change:?}");
    }
}

#[test]
fn absent_conditions_count_as_true() {
    let absent = Endpoint { conditions: None, ..endpoint("") };
    let ready_only = |ready| Endpoint {
        conditions: Some(EndpointConditions { ready: Some(ready), serving: None, terminating: None }),
        ..endpoint("")
    };
    for endpoint in [&absent, &ready_only(true)] {
        assert!(!CLUSTER.is_soft(Change::Added(endpoint)) && !CLUSTER.is_soft(Change::Removed(endpoint)));
    }
    assert!(!CLUSTER.is_soft(Change::Added(&ready_only(false))));
    assert!(!SERVING_COUNTS.is_soft(Change::Removed(&ready_only(false))));
    assert!(CLUSTER.is_soft(Change::Removed(&ready_only(false))));
}

#[test]
fn an_endpoint_that_changes_in_more_than_its_conditions_is_urgent() {
    let (serving, ended) = (endpoint("st"), endpoint("t"));
    assert!(CLUSTER.is_soft(Change::Updated(&serving, &ended)));
    let changes: [fn(&mut Endpoint); 4] = [
        |it| it.zone = Some("zone-b".into()),
        |it| it.node_name = Some("node-b".into()),
        |it| it.hints = Some(EndpointHints::default()),
        |it| it.target_ref = None,
    ];
    for change in changes {
        let mut changed = ended.clone();
        change(&mut changed);
        assert!(!CLUSTER.is_soft(Change::Updated(&serving, &changed)), "{changed:?}");
    }
}

#[test]
fn rules_follow_the_service() {
    let rules = |change: fn(&mut ServiceFields<'static>), hints: &Hints| {
        let ports = vec![PortFields { port: 80, ..PortFields::default() }];
        let mut fields = ServiceFields { cluster_ip: "10.96.0.1", ports, ..ServiceFields::default() };
        change(&mut fields);
        Rules::of(&Service::new(fields, &mut Interner::default()), hints)
    };
    let none = &Hints::None;
    assert_eq!(rules(|_| {}, none), CLUSTER);
    assert_eq!(rules(|it| it.has_local_policy = true, none), SERVING_COUNTS);
    assert_eq!(
        rules(|it| it.ports.push(PortFields { protocol: "UDP", ..PortFields::default() }), none),
        SERVING_COUNTS
    );
    let zones = Hints::Traffic(TrafficDistribution::PreferSameZone);
    assert_eq!(rules(|_| {}, &zones), SERVING_COUNTS);
    assert!(rules(|_| {}, &Hints::Topology(Arc::default())).are_urgent());
    assert!(rules(|_| {}, &Hints::Keep).are_urgent());
    assert!(CLUSTER.urgent().are_urgent());
    let urgent: [fn(&mut ServiceFields<'static>); 4] = [
        |it| it.cluster_ip = "None",
        |it| it.cluster_ip = "",
        |it| it.publish_not_ready_addresses = true,
        |it| it.deleting = true,
    ];
    for change in urgent {
        assert!(rules(change, none).are_urgent());
    }
}
