//! Services, their pods and their slices.

use std::time::Duration;

use controller_harness::merged;
use endpointslice::{Pod, Service};
use serde_json::{Value, json};

use crate::harness::{Harness, pod, service, web};

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_gets_one_slice_and_no_second_sync() {
    let harness = Harness::with_web(1).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
    assert_eq!(
        harness.syncs(),
        1,
        "the event of our own write, which arrives before the response, causes no sync"
    );
}

#[tokio::test(start_paused = true)]
async fn pod_changes_within_a_batch_period_are_one_write() {
    const NEW: [&str; 3] = ["10.0.0.0", "10.0.0.1", "10.0.0.2"];
    let (none, second) = (Duration::ZERO, Duration::from_secs(1));
    let (quick, slow) = ([200, 100, 100], [200, 100, 1000]);
    for (batch_period, delays, writes) in [(none, quick, 3), (second, quick, 1), (second, slow, 2)] {
        type Step = fn(&Harness, &str, &str);
        let steps: [(bool, Step, &[&str]); 3] = [
            (false, |harness, name, ip| harness.api.pod(pod(name, ip, true)), &NEW),
            (true, |harness, name, ip| harness.api.pod(pod(name, ip, true)), &NEW),
            (true, |harness, name, _| harness.api.remove::<Pod>(name), &[]),
        ];
        for (with_pods, step, addresses) in steps {
            let harness = Harness::start(batch_period, |api| {
                web(0)(api);
                for number in (0..3).filter(|_| with_pods) {
                    api.pod(pod(&format!("web-{number}"), "10.0.0.9", true));
                }
            });
            harness.api.settle().await;
            harness.api.forget_requests();
            for (number, delay) in delays.into_iter().enumerate() {
                harness.api.advance(Duration::from_millis(delay)).await;
                step(&harness, &format!("web-{number}"), NEW[number]);
            }
            harness.api.settle().await;
            assert_eq!(harness.api.requests().len(), writes, "{batch_period:?} {delays:?}");
            assert_eq!(harness.api.addresses("web"), addresses);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn services_that_we_do_not_manage_cause_no_request() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        for (number, selector) in [json!({"app": "external"}), Value::Null].into_iter().enumerate() {
            for (ports, which) in [(json!([{"port": 80}]), "a"), (Value::Null, "b")] {
                let spec = json!({"type": "ExternalName", "selector": selector, "ports": ports});
                cache.service(service(&format!("external-{number}-{which}"), json!({"spec": spec})));
            }
        }
        cache.node("node-1", "zone-a");
        cache.pod(pod("external-1", "10.0.0.1", true));
        cache.pod(pod("manual-1", "10.0.0.2", true));
        cache.service(service("manual", json!({"spec": {"selector": null}})));
        cache.service(service("gone", json!({})));
        cache.remove::<Service>("gone");
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_service_being_deleted_gets_no_new_slices() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new());
}

/// kubernetes#141592: upstream's tracker can wait for slices of the deleted Service without end.
#[tokio::test(start_paused = true)]
async fn a_service_recreated_at_once_is_synced() {
    for hold in [false, true] {
        let harness = Harness::with_web(1).await;
        if hold {
            harness.api.hold_events();
        }
        harness.recreate_service("web", "uid-new");
        // The garbage collector deletes the old slice, possibly before the controller does.
        harness.api.delete_slice("web");
        harness.api.advance(Duration::from_millis(1)).await;
        harness.recreate_service("web", "uid-newer");
        harness.api.advance(Duration::from_millis(1)).await;
        harness.api.release_events();
        harness.api.settle().await;
        assert_eq!(
            (harness.slice_count("web"), harness.api.addresses("web")),
            (1, vec!["10.0.0.1".to_owned()])
        );
        harness.api.pod(pod("web-2", "10.0.0.2", true));
        harness.api.advance(Duration::from_millis(1)).await;
        assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"], "later changes are written");
    }
}

/// Upstream compares only labels, readiness, addresses and termination of a pod.
#[tokio::test(start_paused = true)]
async fn a_pod_change_of_phase_node_or_uid_alone_causes_a_sync() {
    for (change, what) in [
        (json!({"status": {"phase": "Failed"}}), "phase"),
        (json!({"spec": {"nodeName": "node-2"}}), "node"),
        (json!({"metadata": {"uid": "again"}}), "uid"),
    ] {
        let harness = Harness::start(Duration::ZERO, |cache| {
            web(1)(cache);
            cache.node("node-2", "zone-b");
        });
        harness.api.settle().await;
        let before = harness.api.endpoints("web");
        harness.api.forget_requests();
        harness.api.pod(pod("web-1", "10.0.0.1", true));
        harness.api.settle().await;
        assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 1), "changes that affect no endpoint");
        harness.api.pod(merged(pod("web-1", "10.0.0.1", true), change));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["PUT web-1"], "{what}");
        assert_ne!(harness.api.endpoints("web"), before, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_is_missing_is_published_with_the_node() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), Vec::<String>::new());
    assert_eq!(harness.api.events()[0].0, "FailedToUpdateEndpointSlices");
    assert_eq!(harness.addresses_skipped(), 0, "its address is valid");
    harness.api.node("node-1", "zone-a");
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}
