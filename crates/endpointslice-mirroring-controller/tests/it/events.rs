//! Events and metrics.

use std::time::Duration;

use endpoint_informers::kinds::CachedEndpoints;
use serde_json::json;

use crate::NONE;
use crate::harness::{Harness, MAX, endpoints, service};

/// Reason and message.
pub(crate) type Event = (&'static str, String);

pub(crate) fn invalid(count: usize) -> Event {
    ("InvalidIPAddress", format!("Skipped {count} invalid IP addresses when mirroring to EndpointSlices"))
}

pub(crate) fn too_many(max: usize, skipped: usize) -> Event {
    let most = format!("A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset.");
    ("TooManyAddressesToMirror", format!("{most} {skipped} addresses were skipped"))
}

#[tokio::test(start_paused = true)]
async fn addresses_that_are_not_mirrored_emit_an_event() {
    let cases: [(usize, &[&str], usize, Vec<Event>); 5] = [
        (0, &[], 0, vec![]),
        (MAX, &[], MAX, vec![]),
        (MAX + 1, &[], MAX, vec![too_many(MAX, 1)]),
        (1, &["example.com", "127.0.0.1"], 1, vec![invalid(2)]),
        (MAX + 1, &["0example"], MAX, vec![invalid(1), too_many(MAX, 2)]),
    ];
    for (count, refused, mirrored, events) in cases {
        let valid = (0..count).map(|number| format!("10.0.{}.{}", number / 200, number % 200 + 1));
        let addresses: Vec<String> = valid.chain(refused.iter().map(|text| (*text).to_owned())).collect();
        let harness = Harness::start(|api| {
            api.service(service("web", json!({})));
            api.upsert::<CachedEndpoints>(endpoints(
                "web",
                &addresses.iter().map(String::as_str).collect::<Vec<_>>(),
                json!({}),
            ));
        })
        .await;
        assert_eq!(harness.api.requests().len(), usize::from(mirrored > 0), "{count} {refused:?}");
        assert_eq!(harness.api.addresses("web").len(), mirrored, "{count} {refused:?}");
        let found = harness.api.events();
        let events: Vec<_> =
            events.into_iter().map(|(reason, message)| (reason.to_owned(), message)).collect();
        assert_eq!(found, events, "{count} {refused:?}");
    }
}

/// Each sync that skips an address emits an Event on the Endpoints; the recorder merges repetitions.
#[tokio::test(start_paused = true)]
async fn every_sync_that_skips_an_address_emits_an_event() {
    let harness = Harness::mirroring(&["10.0.0.1", "nonsense"]).await;
    let [event] = &harness.api.event_objects()[..] else { panic!("{:?}", harness.api.event_objects()) };
    let object = &event["involvedObject"];
    assert_eq!(
        (&event["type"], &object["apiVersion"], &object["kind"]),
        (&json!("Warning"), &json!("v1"), &json!("Endpoints"))
    );
    assert_eq!((&object["name"], &object["uid"]), (&json!("web"), &json!("uid-of-endpoints-web")));
    assert_eq!(event["source"]["component"], "endpoint-slice-mirroring-controller");
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1", "nonsense"], json!({})));
    assert_eq!(harness.writes().await, NONE);
    assert_eq!(harness.api.events().len(), 2, "the second as a patch of the first");
}

/// The rate limit makes the second one wait for its turn.
#[tokio::test(start_paused = true)]
async fn a_sync_that_waits_for_its_turn_reports_no_skipped_address() {
    let harness = Harness::start(|api| {
        api.limit(0.05, 1);
        for name in ["a", "b"] {
            api.service(service(name, json!({})));
            api.upsert::<CachedEndpoints>(endpoints(name, &["10.0.0.1", "nonsense"], json!({})));
        }
    })
    .await;
    assert_eq!(harness.api.requests().len(), 1);
    harness.api.advance(Duration::from_mins(5)).await;
    assert_eq!(harness.api.requests().len(), 2);
    assert_eq!(harness.api.events().len(), 2, "{:?}", harness.api.events());
    assert_eq!(harness.metric("addresses_skipped_per_sync_count"), 2);
}

#[tokio::test(start_paused = true)]
async fn metrics_count_what_was_mirrored() {
    let harness = Harness::start(|api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints(
            "web",
            &["10.0.0.1", "10.0.0.2", "fd00::1", "nonsense"],
            json!({}),
        ));
    })
    .await;
    let gauges = || {
        ["endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices"]
            .map(|name| harness.metric(name))
    };
    assert_eq!(gauges(), [3, 2, 2]);
    harness.api.upsert::<CachedEndpoints>(endpoints(
        "web",
        &["10.0.0.2"],
        json!({"metadata": {"labels": {"team": "a"}}}),
    ));
    harness.api.settle().await;
    assert_eq!(gauges(), [1, 1, 1]);
    for (name, count, sum) in [
        ("endpoints_added_per_sync", 2, 3),
        ("endpoints_updated_per_sync", 2, 0),
        ("endpoints_removed_per_sync", 2, 2),
        ("addresses_skipped_per_sync", 2, 1),
    ] {
        let series = |what: &str| harness.metric(&format!("{name}_{what}"));
        assert_eq!((series("count"), series("sum")), (count, sum), "{name}");
        assert!(
            harness.metric(&format!("{name}_bucket{{le=\"32768.0\"}}")) == count,
            "{name}: its last bucket"
        );
    }
    assert_eq!(harness.metric("endpoints_sync_duration_count"), 2);
    for (operation, count) in [("create", 2), ("update", 1), ("delete", 1)] {
        assert_eq!(harness.metric(&format!("changes{{operation=\"{operation}\"}}")), count, "{operation}");
    }
    harness.api.remove::<CachedEndpoints>("web");
    harness.api.settle().await;
    assert_eq!(gauges(), [0, 0, 0]);
}
