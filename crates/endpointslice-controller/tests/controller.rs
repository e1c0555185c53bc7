//! The controller on a cache that the test fills and an API that the test plays, on a paused clock.
//!
//! | Upstream's test (`pkg/controller/endpointslice`) | Here |
//! |---|---|
//! | `TestSyncServiceNoSelector`, `TestServiceExternalNameTypeSync` (4) | `services_without_endpoints_of_ours_cost_no_request` |
//! | `TestSyncServicePendingDeletion` | `a_service_being_deleted_gets_no_new_slices` |
//! | `TestSyncServiceWithSelector` | `slices::a_new_service_gets_a_placeholder` |
//! | `TestSyncServiceMissing` | `services_without_endpoints_of_ours_cost_no_request`; crate `endpointslice`, `src/trigger_time.rs` |
//! | `TestSyncServicePodSelection` | `slices::only_selected_pods_are_published` |
//! | `TestSyncServiceEndpointSlicePendingDeletion`, `Test_dropEndpointSlicesPendingDeletion` | `slices::a_slice_being_deleted_is_not_counted_on` |
//! | `TestSyncServiceEndpointSliceLabelSelection` | `slices::only_slices_with_both_labels_are_ours` |
//! | `TestOnEndpointSliceUpdate` | `slices::a_slice_that_changes_hands_is_repaired`, `slices::a_slice_that_becomes_ours_is_looked_at` |
//! | `TestSyncService` (6) | crate `endpointslice`, `upstream_cases` `sync_service` |
//! | `TestPodAddsBatching`, `TestPodUpdatesBatching`, `TestPodDeleteBatching` (3 each) | `pod_changes_within_a_batch_period_are_one_write` |
//! | `TestSyncServiceStaleInformer` | `a_cache_behind_our_own_write_is_waited_for`; crate `endpointslice`, `upstream_cases` `tracker` |
//! | `Test_checkNodeTopologyDistribution` (9) | crate `endpointslice`, `src/topology/tests/remembering.rs` |
//! | `TestUpdateNode` | `nodes::nodes_that_become_able_to_make_hints_possible` |
//!
//! | Upstream's test (`k8s.io/endpointslice`) | Here |
//! |---|---|
//! | `TestServiceControllerKey` | `slices::a_slice_without_a_service_concerns_nobody` |
//! | `metrics` (all) | `src/metrics/tests.rs` |

mod delegation;
mod disputes;
mod harness;
mod nodes;
mod relist;
mod slices;
mod terminating;
mod turns;
mod unreadable;

use std::time::Duration;

use endpoint_informers::cache::CachedSlice;
use endpointslice::{Pod, Service};
use fake_api::merged;
use harness::{Harness, pod, service};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_gets_one_slice_and_no_second_sync() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
    assert_eq!(
        harness.syncs(),
        1,
        "the echo of our own write, which arrives before the answer, causes no sync"
    );
}

#[tokio::test(start_paused = true)]
async fn pod_changes_within_a_batch_period_are_one_write() {
    let (none, second) = (Duration::ZERO, Duration::from_secs(1));
    let (quick, slow) = ([200, 100, 100], [200, 100, 1000]);
    for (batch_period, delays, writes) in [(none, quick, 3), (second, quick, 1), (second, slow, 2)] {
        let begin = |pods: bool| {
            Harness::start(batch_period, move |cache| {
                cache.node("node-1", "zone-a");
                cache.service(service("web", json!({})));
                if pods {
                    (0..3).for_each(|number| cache.pod(pod(&format!("web-{number}"), "10.0.0.9", true)));
                }
            })
        };
        let steps: [(bool, fn(&Harness, &str, &str), &[&str]); 3] = [
            (
                false,
                |harness, name, address| harness.api.pod(pod(name, address, true)),
                &["10.0.0.0", "10.0.0.1", "10.0.0.2"],
            ),
            (
                true,
                |harness, name, address| harness.api.pod(pod(name, address, true)),
                &["10.0.0.0", "10.0.0.1", "10.0.0.2"],
            ),
            (true, |harness, name, _| harness.api.remove::<Pod>(name), &[]),
        ];
        for (pods, step, addresses) in steps {
            let harness = begin(pods);
            harness.api.settle().await;
            harness.api.forget_requests();
            for (number, delay) in delays.into_iter().enumerate() {
                harness.api.advance(Duration::from_millis(delay)).await;
                step(&harness, &format!("web-{number}"), &format!("10.0.0.{number}"));
            }
            harness.api.settle().await;
            assert_eq!(
                harness.api.requests().len(),
                writes,
                "{batch_period:?} {delays:?}: {:?}",
                harness.api.requests()
            );
            assert_eq!(harness.api.addresses("web"), addresses);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn services_without_endpoints_of_ours_cost_no_request() {
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

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_changes_or_deletes_is_repaired() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web-1"]);
    harness.api.forget_requests();
    harness.api.delete_slice("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

/// The API answers, but its watch is silent for a while.
#[tokio::test(start_paused = true)]
async fn a_cache_behind_our_own_write_is_waited_for() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.hold_events();
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.advance(Duration::from_millis(1)).await;
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(
        harness.api.requests(),
        ["PUT web-1"],
        "the second change waits: the cache doesn't show the first write"
    );
    harness.api.release_events();
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.api.requests(), ["PUT web-1", "PUT web-1"], "the event wakes it, not the back-off");
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_for_ever() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.refuse(40);
    harness.api.settle().await;
    for _ in 0..40 {
        harness.api.advance(Duration::from_secs(1001)).await;
    }
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 41);
    assert_eq!(harness.slice_count("web"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_told_and_a_conflict_that_heals_is_not() {
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.conflict(2);
    harness.api.settle().await;
    assert_eq!((harness.slice_count("web"), harness.api.events()), (1, vec![]));
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    harness.api.refuse(1);
    harness.api.settle().await;
    assert_eq!(harness.slice_count("web"), 1);
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{:?}", harness.api.events()) };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    let expected = "Error updating Endpoint Slices for Service default/web: \
                    failed to create EndpointSlice default/web-: exceeded quota";
    assert_eq!(message, expected);
}

/// The garbage collector may be faster, or somebody else.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_gone_when_it_is_updated_is_no_news() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    let name = harness.api.delete_slice_without_event("web");
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.settle().await;
    assert_eq!(harness.api.requests().first(), Some(&format!("PUT {name}")), "it was tried");
    harness.api.remove::<CachedSlice>(&name);
    harness.api.settle().await;
    assert_eq!((harness.api.addresses("web"), harness.api.events()), (vec!["10.0.0.1".to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn one_address_type_that_fails_does_not_keep_the_other_from_counting() {
    let families = json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}});
    let harness = Harness::start(Duration::ZERO, |cache| cache.service(service("web", families)));
    harness.api.refuse(1);
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!((harness.slice_count("web"), harness.changed_per_sync()), (1, [1, 1]));
    harness.api.settle().await;
    assert_eq!((harness.slice_count("web"), harness.changed_per_sync()), (2, [3, 2]));
}

/// k3s#12552: upstream's whole slice is refused for one bad address.
#[tokio::test(start_paused = true)]
async fn an_address_that_the_api_server_refuses_is_left_out_and_named() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "127.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.2"]);
    let [(reason, message)] = &harness.api.events()[..] else { panic!("{:?}", harness.api.events()) };
    assert_eq!(reason, "InvalidIPAddress");
    assert_eq!(message, "Skipping IP address 127.0.0.1 of Pod web-1: not allowed in EndpointSlices");
    assert_eq!(harness.addresses_skipped(), harness.syncs(), "one in each sync");
}

/// As upstream, whose sync ends at the create that is refused.
#[tokio::test(start_paused = true)]
async fn nothing_is_counted_as_changed_in_a_namespace_that_is_being_deleted() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.terminate_namespace();
        api.service(service("web", json!({})));
    });
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.api.events()), (vec!["POST web-".to_owned()], vec![]));
    assert_eq!(harness.changed_per_sync(), [0, 0]);
}

/// The API server looks at endpoints only if they change.
#[tokio::test(start_paused = true)]
async fn a_slice_with_a_refused_address_is_left_alone_until_its_endpoints_change() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    harness.api.settle().await;
    harness.api.edit_slice("web", |slice| {
        slice.endpoints.as_mut().unwrap()[0].addresses = vec!["169.254.0.1".to_owned()]
    });
    harness.api.pod(pod("web-1", "169.254.0.1", true));
    harness.api.settle().await;
    assert_eq!(
        (harness.api.addresses("web"), harness.api.events()),
        (vec!["10.0.0.2".into(), "169.254.0.1".into()], vec![])
    );
    assert_eq!(harness.addresses_skipped(), 0);

    harness.api.pod(pod("web-3", "10.0.0.3", true));
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.2", "10.0.0.3"]);
    let message = "Skipping IP address 169.254.0.1 of Pod web-1: not allowed in EndpointSlices";
    assert_eq!(harness.api.events(), [("InvalidIPAddress".to_owned(), message.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_is_missing_appears_with_the_node() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), Vec::<String>::new());
    assert_eq!(harness.api.events()[0].0, "FailedToUpdateEndpointSlices");
    assert_eq!(harness.addresses_skipped(), 0, "nothing is wrong with its address");
    harness.api.node("node-1", "zone-a");
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_zone_change_of_a_node_reaches_the_slices_of_its_pods() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    assert_eq!(harness.zones("web"), [Some("zone-a".to_owned())]);
    harness.api.node("node-1", "zone-b");
    harness.api.advance(Duration::from_millis(1)).await;
    assert_eq!(harness.zones("web"), [Some("zone-b".to_owned())]);
}

/// Upstream overlooks this: it tracks only the slices that it wrote itself since it started.
#[tokio::test(start_paused = true)]
async fn a_slice_of_an_earlier_process_that_somebody_deletes_comes_back() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    harness.api.settle().await;
    let harness = harness.restart().await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), Vec::<String>::new(), "a restart writes nothing");
    assert_eq!(harness.syncs(), 1, "and looks once");
    harness.api.delete_slice("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1"]);
}

/// kubernetes#141592: upstream's tracker can wait for ever for slices of the Service that was.
#[tokio::test(start_paused = true)]
async fn a_service_deleted_and_created_again_at_once_is_served() {
    for hold in [false, true] {
        let harness = Harness::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
            cache.service(service("web", json!({})));
            cache.pod(pod("web-1", "10.0.0.1", true));
        });
        harness.api.settle().await;
        if hold {
            harness.api.hold_events();
        }
        harness.recreate_service("web", "uid-new");
        // The garbage collector takes the old slice, perhaps before the controller does.
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
        assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"], "and it goes on working");
    }
}

/// Upstream sees only labels, readiness, addresses and the end of a pod.
#[tokio::test(start_paused = true)]
async fn a_pod_that_changes_in_phase_node_or_uid_alone_is_noticed() {
    for (change, what) in [
        (json!({"status": {"phase": "Failed"}}), "phase"),
        (json!({"spec": {"nodeName": "node-2"}}), "node"),
        (json!({"metadata": {"uid": "again"}}), "uid"),
    ] {
        let harness = Harness::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
            cache.node("node-2", "zone-b");
            cache.service(service("web", json!({})));
            cache.pod(pod("web-1", "10.0.0.1", true));
        });
        harness.api.settle().await;
        let before = harness.api.endpoints("web");
        harness.api.forget_requests();
        harness.api.pod(pod("web-1", "10.0.0.1", true));
        harness.api.settle().await;
        assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 1), "nothing that matters");
        harness.api.pod(merged(pod("web-1", "10.0.0.1", true), change));
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["PUT web-1"], "{what}");
        assert_ne!(harness.api.endpoints("web"), before, "{what}");
    }
}
