//! The writes that changes of Endpoints cause.

use std::collections::BTreeSet;
use std::time::Duration;

use controller_harness::{merged, set_label};
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::well_known::{LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::NONE;
use crate::harness::{Harness, MAX, endpoints, service, slice};

#[tokio::test(start_paused = true)]
async fn each_change_costs_one_write_and_ignored_ones_none() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
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
        harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], changes));
        assert_eq!(harness.writes().await, expected, "{what}");
    }
}

/// Upstream writes a random part of them in every sync, without an event.
#[tokio::test(start_paused = true)]
async fn subsets_that_share_a_slice_stay_within_its_maximum() {
    let subset = |third: usize| {
        let addresses: Vec<Value> = (0..700)
            .map(|number| json!({"ip": format!("10.{third}.{}.{}", number / 200, number % 200 + 1)}))
            .collect();
        json!({"addresses": addresses, "ports": [{"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "h2c"}]})
    };
    let full = json!({"subsets": [subset(0), subset(1)]});
    let harness = Harness::start(|api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &[], full.clone()));
    })
    .await;
    assert_eq!(harness.writes().await, ["POST web-"]);
    assert_eq!(harness.api.addresses("web").len(), MAX);
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{:?}", harness.api.events()) };
    assert_eq!(reason, "TooManyAddressesToMirror");
    assert!(message.ends_with("400 addresses were skipped"), "{message}");
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &[], full));
    assert_eq!(harness.writes().await, NONE);
}

/// Each turn of the plan has the updates again that the turns before have made, which replace what is stored.
#[tokio::test(start_paused = true)]
async fn slices_that_a_webhook_mutates_are_all_written_under_a_rate_limit() {
    const MANY: usize = 60;
    let subset = |n: usize| {
        let ports = json!([{"name": "http", "port": 1000 + n, "protocol": "TCP"}]);
        json!({"addresses": [{"ip": format!("10.0.0.{}", n + 1)}], "ports": ports})
    };
    let subsets: Vec<Value> = (0..MANY).map(subset).collect();
    let labelled =
        |labels: Value| endpoints("web", &[], json!({"metadata": {"labels": labels}, "subsets": subsets}));
    let harness = Harness::start(|api| {
        api.limit(20.0, 30);
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(labelled(json!({})));
    })
    .await;
    harness.api.advance(Duration::from_secs(60)).await;
    assert_eq!(harness.api.slices("web").len(), MANY);
    harness.api.forget_requests();
    harness.api.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
    harness.api.upsert::<CachedEndpoints>(labelled(json!({"tier": "front"})));
    harness.api.advance(Duration::from_secs(600)).await;
    let requests = harness.api.requests();
    let different: BTreeSet<&String> = requests.iter().collect();
    assert_eq!((requests.len(), different.len()), (MANY, MANY), "each once");
}

/// Consumers read the slices of a Service as long as they are there.
#[tokio::test(start_paused = true)]
async fn endpoints_that_opt_out_are_withdrawn_before_others_are_extended() {
    const OTHERS: usize = 100;
    let of = |n: usize, last: &[&str]| {
        let first = format!("10.0.0.{n}");
        endpoints(&format!("web-{n}"), &[&[first.as_str()], last].concat(), json!({}))
    };
    let harness = Harness::start(|api| {
        api.limit(20.0, 1);
        for n in 0..OTHERS {
            api.service(service(&format!("web-{n}"), json!({})));
            api.upsert::<CachedEndpoints>(of(n, &[]));
        }
    })
    .await;
    harness.api.advance(Duration::from_secs(60)).await;
    (1..OTHERS).for_each(|n| harness.api.upsert::<CachedEndpoints>(of(n, &["10.0.1.1"])));
    let opted_out = json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}});
    harness.api.upsert::<CachedEndpoints>(merged(of(0, &[]), opted_out));
    harness.api.advance(Duration::from_secs(1)).await;
    assert_eq!(harness.api.slices("web-0").len(), 0);
    assert_eq!(harness.api.addresses("web-99").len() + harness.api.addresses("web-98").len(), 2, "they wait");
}

/// Each asks about a Service whose selector hides it.
#[tokio::test(start_paused = true)]
async fn many_lookups_at_a_start_let_a_withdrawal_pass() {
    const DOUBTFUL: usize = 200;
    let harness = Harness::start(|api| {
        api.limit(20.0, 1);
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &["10.1.0.1", "10.1.0.2"], json!({})));
        for n in 0..DOUBTFUL {
            let name = format!("selecting-{n}");
            api.service(service(&name, json!({"spec": {"selector": {"app": "web"}}})));
            api.upsert::<CachedEndpoints>(endpoints(&name, &["10.0.0.3"], json!({})));
            api.put(slice(&name, &name, "10.0.0.3", json!({})));
        }
    })
    .await;
    harness.api.advance(Duration::from_secs(2)).await;
    assert_eq!(harness.api.addresses("web").len(), 2, "its first endpoints");
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.1.0.1"], json!({})));
    harness.api.advance(Duration::from_secs(1)).await;
    assert_eq!(harness.api.addresses("web").len(), 1);
    assert!(harness.api.service_lookups().len() < DOUBTFUL, "they wait");
    harness.api.advance(Duration::from_secs(60)).await;
    let left = (0..DOUBTFUL).filter(|n| !harness.api.slices(&format!("selecting-{n}")).is_empty());
    assert_eq!(left.count(), 0, "they are served");
}

/// The first delay of upstream's rate limiter (`endpointslicemirroring_controller.go` `defaultSyncBackOff`).
#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_after_a_second() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    harness.api.refuse(1);
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.2"], json!({})));
    harness.api.advance(Duration::from_millis(990)).await;
    assert_eq!(harness.api.requests().len(), 1);
    harness.api.advance(Duration::from_millis(20)).await;
    assert_eq!(harness.api.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_without_limit() {
    let harness = Harness::start(|api| {
        api.refuse(30);
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
    })
    .await;
    for _ in 0..30 {
        harness.api.advance(Duration::from_millis(100_001)).await;
    }
    assert_eq!(harness.api.requests().len(), 31, "the longest delay is 100 s");
    assert_eq!(
        (harness.api.slices("web").len(), harness.api.events()),
        (1, vec![]),
        "failures emit no event"
    );
}
