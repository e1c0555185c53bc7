//! The controller on a cache that the test fills and an API that the test plays, on a paused clock.
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpoints`: no addresses; 1000 addresses; 1001 addresses | `what_is_mirrored_and_what_is_told` |
//! | …: skip label true or false; missing Service; Service with selector | `which_endpoints_are_mirrored` |
//! | …: existing slices that need to be cleaned up | `slices_left_behind_are_cleaned_up_at_the_start` |
//! | …: existing slices managed by a different controller | `slices_of_others_are_left_alone` |
//! | `TestShouldMirror` | `which_endpoints_are_mirrored`, `endpoints_that_begin_or_cease_to_opt_out` |
//! | `TestEndpointSlicesMirroredForService` | `slices_of_others_are_left_alone` |
//! | `TestEndpointSliceMirroringUpdates` (integration) | `each_change_costs_one_write_and_the_excluded_ones_none` |
//! | `TestEndpointSliceMirroringSelectorTransition` (integration) | `a_service_that_gains_or_loses_its_selector` |
//! | `TestEndpointSliceMirroring` (integration): Service with selector; without; Endpoints without Service | `which_endpoints_are_mirrored` |
//!
//! The cases of the reconciler are in `upstream_cases`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod fake;

use std::time::Duration;

use controller_runtime::cache::CachedEndpoints;
use endpointslice::Service;
use endpointslice::well_known::{
    ENDPOINTSLICE_CONTROLLER, LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME, LEADER, MANAGED_BY,
    SERVICE_NAME, SKIP_MIRROR,
};
use fake::{Fake, MAX, endpoints, service, slice};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

#[tokio::test(start_paused = true)]
async fn custom_endpoints_get_a_slice_and_no_second_sync() {
    let fake = Fake::mirroring(&["10.0.0.1", "10.0.0.2"]).await;
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(fake.syncs(), 1, "the echo of our own write, which arrives before the answer, causes no sync");
}

#[tokio::test(start_paused = true)]
async fn what_is_mirrored_and_what_is_told() {
    let too_many = "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were \
                    skipped";
    let cases: [(usize, &[&str], usize, &[(&str, &str)]); 5] = [
        (0, &[], 0, &[]),
        (MAX, &[], MAX, &[]),
        (MAX + 1, &[], MAX, &[("TooManyAddressesToMirror", too_many)]),
        (
            1,
            &["example.com", "127.0.0.1"],
            1,
            &[("InvalidIPAddress", "Skipped 2 invalid IP addresses when mirroring to EndpointSlices")],
        ),
        (
            MAX + 1,
            &["0example"],
            MAX,
            &[
                ("InvalidIPAddress", "Skipped 1 invalid IP addresses when mirroring to EndpointSlices"),
                (
                    "TooManyAddressesToMirror",
                    "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were \
                     skipped",
                ),
            ],
        ),
    ];
    for (count, invalid, mirrored, events) in cases {
        let valid = (0..count).map(|number| format!("10.0.{}.{}", number / 200, number % 200 + 1));
        let addresses: Vec<String> = valid.chain(invalid.iter().map(|text| (*text).to_owned())).collect();
        let fake = Fake::start(|api| {
            api.service(service("web", json!({})));
            api.endpoints(endpoints(
                "web",
                &addresses.iter().map(String::as_str).collect::<Vec<_>>(),
                json!({}),
            ));
        })
        .await;
        assert_eq!(fake.requests().len(), usize::from(mirrored > 0), "{count} {invalid:?}");
        assert_eq!(fake.addresses("web").len(), mirrored, "{count} {invalid:?}");
        let told = fake.told();
        let told: Vec<(&str, &str)> = told.iter().map(|(reason, message)| (&**reason, &**message)).collect();
        assert_eq!(told, events, "{count} {invalid:?}");
    }
}

/// An event stands at the Endpoints, and is told in every sync that skips something: the recorder merges repetitions.
#[tokio::test(start_paused = true)]
async fn every_sync_tells_what_it_skips() {
    let fake = Fake::mirroring(&["10.0.0.1", "nonsense"]).await;
    assert_eq!(fake.told().len(), 1);
    fake.endpoints(endpoints("web", &["10.0.0.1", "nonsense"], json!({})));
    assert_eq!(fake.writes().await, NOTHING);
    assert_eq!(fake.told().len(), 2, "the second as a patch of the first");
}

#[tokio::test(start_paused = true)]
async fn which_endpoints_are_mirrored() {
    let labelled = |value: &str| json!({"metadata": {"labels": {SKIP_MIRROR: value}}});
    let selector = json!({"spec": {"selector": {"app": "web"}}});
    for (what, service_changes, endpoints_changes, mirrored) in [
        ("ordinary", Some(json!({})), json!({}), true),
        ("skip-mirror=true", Some(json!({})), labelled("true"), false),
        ("skip-mirror=false", Some(json!({})), labelled("false"), true),
        ("skip-mirror=invalid", Some(json!({})), labelled("invalid"), true),
        ("leader election", Some(json!({})), json!({"metadata": {"annotations": {LEADER: ""}}}), false),
        ("no Service", None, json!({}), false),
        ("with a selector", Some(selector), json!({}), false),
        ("an empty selector is none", Some(json!({"spec": {"selector": {}}})), json!({}), true),
        ("headless", Some(json!({"spec": {"clusterIP": "None"}})), json!({}), true),
        ("the type doesn't matter", Some(json!({"spec": {"type": "ExternalName"}})), json!({}), true),
    ] {
        let fake = Fake::start(|api| {
            if let Some(changes) = service_changes {
                api.service(service("web", changes));
            }
            api.endpoints(endpoints("web", &["10.0.0.1"], endpoints_changes));
        })
        .await;
        assert_eq!(fake.requests(), if mirrored { vec!["POST web-"] } else { vec![] }, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_begin_or_cease_to_opt_out() {
    for metadata in [json!({"labels": {SKIP_MIRROR: "true"}}), json!({"annotations": {LEADER: "{}"}})] {
        let fake = Fake::mirroring(&["10.0.0.1"]).await;
        let opting_out = endpoints("web", &["10.0.0.1"], json!({"metadata": metadata}));
        fake.endpoints(opting_out.clone());
        assert_eq!(fake.writes().await, ["DELETE web-1"]);
        let syncs = fake.syncs();
        fake.endpoints(opting_out);
        assert_eq!(fake.writes().await, NOTHING);
        assert_eq!(fake.syncs(), syncs, "those that opted out before and now are nobody's concern");
        fake.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
        assert_eq!(fake.writes().await, ["POST web-"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_gains_or_loses_its_selector() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    let with = |selector: Value| service("web", json!({"spec": {"selector": selector}}));
    for (selector, expected) in [
        (json!({"app": "web"}), vec!["DELETE web-1"]),
        (json!({"app": "other"}), vec![]),
        (json!(null), vec!["POST web-"]),
        (json!({}), vec![]),
        (json!({"app": "web"}), vec!["DELETE web-2"]),
        (json!({}), vec!["POST web-"]),
    ] {
        let syncs = fake.syncs();
        fake.service(with(selector.clone()));
        assert_eq!(fake.writes().await, expected, "{selector}");
        let more = fake.syncs() - syncs;
        assert_eq!(more, u64::from(!expected.is_empty()), "{selector}: one sync if it matters");
    }
}

#[tokio::test(start_paused = true)]
async fn endpoints_and_service_come_and_go() {
    let fake = Fake::start(|api| api.endpoints(endpoints("web", &["10.0.0.1"], json!({})))).await;
    assert_eq!(fake.writes().await, NOTHING);
    fake.service(service("web", json!({})));
    assert_eq!(fake.writes().await, ["POST web-"], "the Service comes late");
    fake.hide::<Service>("web");
    assert_eq!(fake.writes().await, ["DELETE web-1"]);
    fake.service(service("web", json!({})));
    assert_eq!(fake.writes().await, ["POST web-"]);
    fake.hide::<CachedEndpoints>("web");
    assert_eq!(fake.writes().await, ["DELETE web-2"]);
    fake.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
    assert_eq!(fake.writes().await, ["POST web-"]);
    fake.endpoints(endpoints("web", &["10.0.0.1"], json!({"metadata": {"uid": "another"}})));
    assert_eq!(fake.writes().await, ["PUT web-3"], "created again, before the garbage collector came");
    let owner = fake.slices("web")[0].metadata.owner_references.clone().unwrap().remove(0);
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Endpoints", "another"));
}

#[tokio::test(start_paused = true)]
async fn endpoints_being_deleted_get_no_new_slices() {
    let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &["10.0.0.1"], deleting));
    })
    .await;
    assert_eq!(fake.requests(), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn each_change_costs_one_write_and_the_excluded_ones_none() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    let ports = |ports: Value| json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": ports}]});
    let meta = |metadata: Value| json!({"metadata": metadata});
    for (what, changes, expected) in [
        ("labels", meta(json!({"labels": {"team": "a"}})), vec!["PUT web-1"]),
        ("labels again", meta(json!({"labels": {"team": "a"}})), vec![]),
        (
            "annotations",
            meta(json!({"labels": {"team": "a"}, "annotations": {"note": "x"}})),
            vec!["PUT web-1"],
        ),
        ("back", json!({}), vec!["PUT web-1"]),
        ("trigger time", meta(json!({"annotations": {LAST_CHANGE_TRIGGER_TIME: "t"}})), vec![]),
        ("last applied", meta(json!({"annotations": {LAST_APPLIED_CONFIGURATION: "{}"}})), vec![]),
        (
            "not ready",
            json!({"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}]}),
            vec!["PUT web-1"],
        ),
        ("ports", ports(json!([{"name": "http", "port": 81, "protocol": "TCP"}])), vec!["PUT web-1"]),
        ("no ports", ports(json!(null)), vec!["PUT web-1"]),
        ("no subsets", json!({"subsets": null}), vec!["DELETE web-1"]),
    ] {
        fake.endpoints(endpoints("web", &["10.0.0.1"], changes));
        assert_eq!(fake.writes().await, expected, "{what}");
    }
}

/// Upstream posts an existing name here, in two of four orders of its maps.
#[tokio::test(start_paused = true)]
async fn both_families_are_recycled_without_a_failing_post() {
    let dual = ["10.0.0.1", "fd00::1"];
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &dual, json!({})));
    })
    .await;
    assert_eq!(fake.writes().await, ["POST web-", "POST web-"]);
    for port in 1..=20 {
        let addresses: Vec<Value> = dual.iter().map(|address| json!({"ip": address})).collect();
        let ports = json!([{"name": "http", "port": port, "protocol": "TCP"}]);
        fake.endpoints(endpoints("web", &[], json!({"subsets": [{"addresses": addresses, "ports": ports}]})));
        assert_eq!(fake.writes().await, ["PUT web-1", "PUT web-2"]);
    }
    assert_eq!(fake.addresses("web"), dual);
}

/// Upstream writes in every sync here, because it never finds these labels among those it compares.
#[tokio::test(start_paused = true)]
async fn reserved_labels_of_endpoints_cause_no_writes() {
    let reserved =
        json!({"metadata": {"labels": {SERVICE_NAME: "other", MANAGED_BY: "somebody", "team": "a"}}});
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    for expected in [vec!["PUT web-1"], vec![], vec![]] {
        fake.endpoints(endpoints("web", &["10.0.0.1"], reserved.clone()));
        assert_eq!(fake.writes().await, expected);
    }
    let slice = fake.slices("web").remove(0);
    assert_eq!(slice.metadata.labels.unwrap()["team"], "a");
}

/// Upstream writes a part of them by chance in every sync, and tells nobody.
#[tokio::test(start_paused = true)]
async fn subsets_that_share_a_slice_keep_to_its_maximum() {
    let subset = |third: usize| {
        let addresses: Vec<Value> = (0..700)
            .map(|number| json!({"ip": format!("10.{third}.{}.{}", number / 200, number % 200 + 1)}))
            .collect();
        json!({"addresses": addresses, "ports": [{"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "h2c"}]})
    };
    let full = json!({"subsets": [subset(0), subset(1)]});
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &[], full.clone()));
    })
    .await;
    assert_eq!(fake.writes().await, ["POST web-"]);
    assert_eq!(fake.addresses("web").len(), MAX);
    let [(reason, message)] = &fake.told()[..] else { panic!("{:?}", fake.told()) };
    assert_eq!(reason, "TooManyAddressesToMirror");
    assert!(message.ends_with("400 addresses were skipped"), "{message}");
    fake.endpoints(endpoints("web", &[], full));
    assert_eq!(fake.writes().await, NOTHING);
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_changes_or_deletes_is_repaired_at_once() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    fake.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    fake.now().await;
    assert_eq!(fake.writes().await, ["PUT web-1"]);
    fake.delete_slice("web");
    fake.now().await;
    assert_eq!(fake.writes().await, ["POST web-"]);
    fake.edit_slice("web", |slice| {
        let labels = slice.metadata.labels.get_or_insert_default();
        labels.insert(MANAGED_BY.into(), "somebody-else".into());
    });
    fake.now().await;
    assert_eq!(fake.writes().await, ["POST web-"], "theirs is left alone, and the Endpoints get another");
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_moves_to_another_service_concerns_both() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    fake.edit_slice("web", |slice| {
        slice.metadata.labels.get_or_insert_default().insert(SERVICE_NAME.into(), "gone".into());
    });
    let mut writes = fake.writes().await;
    writes.sort();
    assert_eq!(writes, ["DELETE web-1", "POST web-"]);
}

/// Only changes of slices wait; those of Endpoints and Services never do.
#[tokio::test(start_paused = true)]
async fn foreign_changes_within_a_batch_period_are_met_once() {
    let fake = Fake::start_with_batch_period(Duration::from_secs(2), |api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
    })
    .await;
    fake.forget_requests();
    fake.endpoints(endpoints("web", &["10.0.0.1", "10.0.0.2"], json!({})));
    fake.now().await;
    assert_eq!(fake.requests(), ["PUT web-1"], "Endpoints don't wait");
    fake.settle().await;
    fake.forget_requests();
    let syncs = fake.syncs();
    for _ in 0..3 {
        fake.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
        fake.advance(Duration::from_millis(500)).await;
        assert_eq!(fake.requests(), NOTHING);
    }
    fake.advance(Duration::from_millis(501)).await;
    assert_eq!((fake.requests(), fake.syncs()), (vec!["PUT web-1".to_owned()], syncs + 1));
}

#[tokio::test(start_paused = true)]
async fn slices_left_behind_are_cleaned_up_at_the_start() {
    let fake = Fake::start(|api| {
        api.add_slice(slice("without-endpoints", "gone", "10.0.0.1", json!({})));
        api.service(service("skipped", json!({})));
        let skip = json!({"metadata": {"labels": {SKIP_MIRROR: "true"}}});
        api.endpoints(endpoints("skipped", &["10.0.0.2"], skip));
        api.add_slice(slice("of-skipped", "skipped", "10.0.0.2", json!({})));
        api.service(service("selecting", json!({"spec": {"selector": {"app": "web"}}})));
        api.endpoints(endpoints("selecting", &["10.0.0.3"], json!({})));
        api.add_slice(slice("of-selecting", "selecting", "10.0.0.3", json!({})));
    })
    .await;
    let mut requests = fake.requests();
    requests.sort();
    assert_eq!(requests, ["DELETE of-selecting", "DELETE of-skipped", "DELETE without-endpoints"]);
    assert_eq!(fake.syncs(), 3, "deletions that were to be expected cause no sync");
    assert_eq!(fake.metric("changes{operation=\"delete\"}"), 0, "not counted, as upstream doesn't");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_writes_nothing() {
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
        api.add_slice(slice("web-x", "web", "10.0.0.1", json!({})));
    })
    .await;
    assert_eq!((fake.requests(), fake.syncs()), (vec![], 1));
    let fake = fake.restart().await;
    assert_eq!((fake.requests(), fake.syncs()), (vec![], 1));
    // Upstream has the first slice of each group in its tracker, and overlooks the deletion of others.
    fake.delete_slice("web");
    assert_eq!(fake.writes().await, ["POST web-"]);
}

#[tokio::test(start_paused = true)]
async fn slices_of_others_are_left_alone() {
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &[], json!({})));
        api.add_slice(slice("ours", "web", "10.0.0.1", json!({})));
        api.add_slice(slice("other-service", "other", "10.0.0.1", label(MANAGED_BY, json!("me"))));
        api.add_slice(slice(
            "other-manager",
            "web",
            "10.0.0.1",
            label(MANAGED_BY, json!(ENDPOINTSLICE_CONTROLLER)),
        ));
        let unlabelled = |name: &str, key: &str| {
            let mut slice = slice(name, "web", "10.0.0.1", json!({}));
            slice.metadata.labels.as_mut().unwrap().remove(key);
            slice
        };
        api.add_slice(unlabelled("no-manager", MANAGED_BY));
        api.add_slice(unlabelled("no-service", SERVICE_NAME));
        api.add_slice(slice("elsewhere", "web", "10.0.0.1", json!({"metadata": {"namespace": "elsewhere"}})));
    })
    .await;
    let mut requests = fake.requests();
    requests.sort();
    assert_eq!(
        requests,
        ["DELETE elsewhere", "DELETE ours"],
        "the one elsewhere has no Endpoints in its own namespace"
    );
}

/// Upstream takes such a slice for one that stays, and writes to it.
#[tokio::test(start_paused = true)]
async fn a_slice_being_deleted_is_left_to_go() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    fake.edit_slice("web", |slice| {
        slice.metadata.finalizers = Some(vec!["example.com/hold".into()]);
        slice.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    });
    assert_eq!(fake.writes().await, ["POST web-"]);
    fake.endpoints(endpoints("web", &["10.0.0.2"], json!({})));
    assert_eq!(fake.writes().await, ["PUT web-2"]);
    fake.hide::<CachedEndpoints>("web");
    assert_eq!(fake.writes().await, ["DELETE web-2"]);
}

/// The API answers, but its watch is silent for a while.
#[tokio::test(start_paused = true)]
async fn a_cache_behind_our_own_write_is_waited_for() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    fake.hold_events();
    fake.endpoints(endpoints("web", &["10.0.0.2"], json!({})));
    fake.now().await;
    fake.endpoints(endpoints("web", &["10.0.0.3"], json!({})));
    fake.now().await;
    assert_eq!(
        fake.requests(),
        ["PUT web-1"],
        "the second change waits: the cache doesn't show the first write"
    );
    fake.release_events();
    fake.now().await;
    assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"], "the event wakes it, not the back-off");
    assert_eq!(fake.addresses("web"), ["10.0.0.3"]);
}

/// Upstream looks at the cache without asking whether it is behind, and misses the slice until its event comes.
#[tokio::test(start_paused = true)]
async fn a_slice_that_the_cache_does_not_show_yet_is_cleaned_up_too() {
    let fake = Fake::start(|api| api.service(service("web", json!({})))).await;
    fake.hold_events();
    fake.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
    fake.now().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    fake.hide::<CachedEndpoints>("web");
    fake.now().await;
    fake.release_events();
    fake.now().await;
    assert_eq!(fake.requests(), ["POST web-", "DELETE web-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_for_ever() {
    let fake = Fake::start(|api| {
        api.refuse(30);
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &["10.0.0.1"], json!({})));
    })
    .await;
    for _ in 0..30 {
        fake.advance(Duration::from_millis(100_001)).await;
    }
    assert_eq!(fake.requests().len(), 31, "a hundred seconds is the longest wait");
    assert_eq!((fake.slices("web").len(), fake.told()), (1, vec![]), "failures are not told");
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_the_garbage_collector_took_first_counts_as_deleted() {
    let fake = Fake::mirroring(&["10.0.0.1"]).await;
    fake.lose_slice("web");
    fake.hide::<CachedEndpoints>("web");
    assert_eq!(fake.writes().await, ["DELETE web-1"], "one request, answered with 404, and no retry");
}

#[tokio::test(start_paused = true)]
async fn metrics_tell_what_happened() {
    let fake = Fake::start(|api| {
        api.service(service("web", json!({})));
        api.endpoints(endpoints("web", &["10.0.0.1", "10.0.0.2", "fd00::1", "nonsense"], json!({})));
    })
    .await;
    let gauges = || {
        ["endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices"].map(|name| fake.metric(name))
    };
    assert_eq!(gauges(), [3, 2, 2]);
    fake.endpoints(endpoints("web", &["10.0.0.2"], json!({"metadata": {"labels": {"team": "a"}}})));
    fake.settle().await;
    assert_eq!(gauges(), [1, 1, 1]);
    for (name, count, sum) in [
        ("endpoints_added_per_sync", 2, 3),
        ("endpoints_updated_per_sync", 2, 0),
        ("endpoints_removed_per_sync", 2, 2),
        ("addresses_skipped_per_sync", 2, 1),
    ] {
        let series = |what: &str| fake.metric(&format!("{name}_{what}"));
        assert_eq!((series("count"), series("sum")), (count, sum), "{name}");
        assert!(fake.metric(&format!("{name}_bucket{{le=\"32768.0\"}}")) == count, "{name}: its last bucket");
    }
    assert_eq!(fake.metric("endpoints_sync_duration_count"), 2);
    for (operation, count) in [("create", 2), ("update", 1), ("delete", 1)] {
        assert_eq!(fake.metric(&format!("changes{{operation=\"{operation}\"}}")), count, "{operation}");
    }
    fake.hide::<CachedEndpoints>("web");
    fake.settle().await;
    assert_eq!(gauges(), [0, 0, 0]);
}
