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
mod fake;
mod nodes;
mod relist;
mod slices;
mod terminating;
mod turns;
mod unreadable;

use std::time::Duration;

use endpoint_informers::cache::CachedSlice;
use endpointslice::{Pod, Service};
use fake::{Fake, pod, service};
use fake_api::merged;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_gets_one_slice_and_no_second_sync() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
    assert_eq!(fake.syncs(), 1, "the echo of our own write, which arrives before the answer, causes no sync");
}

#[tokio::test(start_paused = true)]
async fn pod_changes_within_a_batch_period_are_one_write() {
    let (none, second) = (Duration::ZERO, Duration::from_secs(1));
    let (quick, slow) = ([200, 100, 100], [200, 100, 1000]);
    for (batch_period, delays, writes) in [(none, quick, 3), (second, quick, 1), (second, slow, 2)] {
        let begin = |pods: bool| {
            Fake::start(batch_period, move |cache| {
                cache.node("node-1", "zone-a");
                cache.service(service("web", json!({})));
                if pods {
                    (0..3).for_each(|number| cache.pod(pod(&format!("web-{number}"), "10.0.0.9", true)));
                }
            })
        };
        let steps: [(bool, fn(&Fake, &str, &str), &[&str]); 3] = [
            (
                false,
                |fake, name, address| fake.pod(pod(name, address, true)),
                &["10.0.0.0", "10.0.0.1", "10.0.0.2"],
            ),
            (
                true,
                |fake, name, address| fake.pod(pod(name, address, true)),
                &["10.0.0.0", "10.0.0.1", "10.0.0.2"],
            ),
            (true, |fake, name, _| fake.hide::<Pod>(name), &[]),
        ];
        for (pods, step, addresses) in steps {
            let fake = begin(pods);
            fake.settle().await;
            fake.forget_requests();
            for (number, delay) in delays.into_iter().enumerate() {
                fake.advance(Duration::from_millis(delay)).await;
                step(&fake, &format!("web-{number}"), &format!("10.0.0.{number}"));
            }
            fake.settle().await;
            assert_eq!(fake.requests().len(), writes, "{batch_period:?} {delays:?}: {:?}", fake.requests());
            assert_eq!(fake.addresses("web"), addresses);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn services_without_endpoints_of_ours_cost_no_request() {
    let fake = Fake::start(Duration::ZERO, |cache| {
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
        cache.hide::<Service>("gone");
    });
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_service_being_deleted_gets_no_new_slices() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})));
    });
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_changes_or_deletes_is_repaired() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    fake.forget_requests();
    fake.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    fake.settle().await;
    assert_eq!(fake.requests(), ["PUT web-1"]);
    fake.forget_requests();
    fake.delete_slice("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

/// The API answers, but its watch is silent for a while.
#[tokio::test(start_paused = true)]
async fn a_cache_behind_our_own_write_is_waited_for() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    fake.settle().await;
    fake.forget_requests();
    fake.hold_events();
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.advance(Duration::from_millis(1)).await;
    fake.pod(pod("web-2", "10.0.0.2", true));
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(
        fake.requests(),
        ["PUT web-1"],
        "the second change waits: the cache doesn't show the first write"
    );
    fake.release_events();
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"], "the event wakes it, not the back-off");
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_for_ever() {
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.refuse(40);
    fake.settle().await;
    for _ in 0..40 {
        fake.advance(Duration::from_secs(1001)).await;
    }
    fake.settle().await;
    assert_eq!(fake.requests().len(), 41);
    assert_eq!(fake.slice_count("web"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_told_and_a_conflict_that_heals_is_not() {
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.conflict(2);
    fake.settle().await;
    assert_eq!((fake.slice_count("web"), fake.told()), (1, vec![]));
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", json!({}))));
    fake.refuse(1);
    fake.settle().await;
    assert_eq!(fake.slice_count("web"), 1);
    let [(reason, message)] = &fake.told()[..] else { panic!("{:?}", fake.told()) };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    let expected = "Error updating Endpoint Slices for Service default/web: \
                    failed to create EndpointSlice default/web-: exceeded quota";
    assert_eq!(message, expected);
}

/// The garbage collector may be faster, or somebody else.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_gone_when_it_is_updated_is_no_news() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    fake.settle().await;
    fake.forget_requests();
    let name = fake.lose_slice("web");
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.settle().await;
    assert_eq!(fake.requests().first(), Some(&format!("PUT {name}")), "it was tried");
    fake.hide::<CachedSlice>(&name);
    fake.settle().await;
    assert_eq!((fake.addresses("web"), fake.told()), (vec!["10.0.0.1".to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn one_address_type_that_fails_does_not_keep_the_other_from_counting() {
    let families = json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}});
    let fake = Fake::start(Duration::ZERO, |cache| cache.service(service("web", families)));
    fake.refuse(1);
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!((fake.slice_count("web"), fake.changed_per_sync()), (1, [1, 1]));
    fake.settle().await;
    assert_eq!((fake.slice_count("web"), fake.changed_per_sync()), (2, [3, 2]));
}

/// k3s#12552: upstream's whole slice is refused for one bad address.
#[tokio::test(start_paused = true)]
async fn an_address_that_the_api_server_refuses_is_left_out_and_named() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "127.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    fake.settle().await;
    assert_eq!(fake.addresses("web"), ["10.0.0.2"]);
    let [(reason, message)] = &fake.told()[..] else { panic!("{:?}", fake.told()) };
    assert_eq!(reason, "InvalidIPAddress");
    assert_eq!(message, "Skipping IP address 127.0.0.1 of Pod web-1: not allowed in EndpointSlices");
    assert_eq!(fake.addresses_skipped(), fake.syncs(), "one in each sync");
}

/// As upstream, whose sync ends at the create that is refused.
#[tokio::test(start_paused = true)]
async fn nothing_is_counted_as_changed_in_a_namespace_that_is_being_deleted() {
    let fake = Fake::start(Duration::ZERO, |api| {
        api.terminate_namespace();
        api.service(service("web", json!({})));
    });
    fake.settle().await;
    assert_eq!((fake.requests(), fake.told()), (vec!["POST web-".to_owned()], vec![]));
    assert_eq!(fake.changed_per_sync(), [0, 0]);
}

/// The API server looks at endpoints only if they change.
#[tokio::test(start_paused = true)]
async fn a_slice_with_a_refused_address_is_left_alone_until_its_endpoints_change() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
        cache.pod(pod("web-2", "10.0.0.2", true));
    });
    fake.settle().await;
    fake.edit_slice("web", |slice| {
        slice.endpoints.as_mut().unwrap()[0].addresses = vec!["169.254.0.1".to_owned()]
    });
    fake.pod(pod("web-1", "169.254.0.1", true));
    fake.settle().await;
    assert_eq!((fake.addresses("web"), fake.told()), (vec!["10.0.0.2".into(), "169.254.0.1".into()], vec![]));
    assert_eq!(fake.addresses_skipped(), 0);

    fake.pod(pod("web-3", "10.0.0.3", true));
    fake.settle().await;
    assert_eq!(fake.addresses("web"), ["10.0.0.2", "10.0.0.3"]);
    let message = "Skipping IP address 169.254.0.1 of Pod web-1: not allowed in EndpointSlices";
    assert_eq!(fake.told(), [("InvalidIPAddress".to_owned(), message.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_node_is_missing_appears_with_the_node() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.addresses("web"), Vec::<String>::new());
    assert_eq!(fake.told()[0].0, "FailedToUpdateEndpointSlices");
    assert_eq!(fake.addresses_skipped(), 0, "nothing is wrong with its address");
    fake.node("node-1", "zone-a");
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_zone_change_of_a_node_reaches_the_slices_of_its_pods() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    assert_eq!(fake.zones("web"), [Some("zone-a".to_owned())]);
    fake.node("node-1", "zone-b");
    fake.advance(Duration::from_millis(1)).await;
    assert_eq!(fake.zones("web"), [Some("zone-b".to_owned())]);
}

/// Upstream overlooks this: it tracks only the slices that it wrote itself since it started.
#[tokio::test(start_paused = true)]
async fn a_slice_of_an_earlier_process_that_somebody_deletes_comes_back() {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.pod(pod("web-1", "10.0.0.1", true));
    });
    fake.settle().await;
    let fake = fake.restart().await;
    fake.settle().await;
    assert_eq!(fake.requests(), Vec::<String>::new(), "a restart writes nothing");
    assert_eq!(fake.syncs(), 1, "and looks once");
    fake.delete_slice("web");
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
}

/// kubernetes#141592: upstream's tracker can wait for ever for slices of the Service that was.
#[tokio::test(start_paused = true)]
async fn a_service_deleted_and_created_again_at_once_is_served() {
    for hold in [false, true] {
        let fake = Fake::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
            cache.service(service("web", json!({})));
            cache.pod(pod("web-1", "10.0.0.1", true));
        });
        fake.settle().await;
        if hold {
            fake.hold_events();
        }
        fake.recreate_service("web", "uid-new");
        // The garbage collector takes the old slice, perhaps before the controller does.
        fake.delete_slice("web");
        fake.advance(Duration::from_millis(1)).await;
        fake.recreate_service("web", "uid-newer");
        fake.advance(Duration::from_millis(1)).await;
        fake.release_events();
        fake.settle().await;
        assert_eq!((fake.slice_count("web"), fake.addresses("web")), (1, vec!["10.0.0.1".to_owned()]));
        fake.pod(pod("web-2", "10.0.0.2", true));
        fake.advance(Duration::from_millis(1)).await;
        assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"], "and it goes on working");
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
        let fake = Fake::start(Duration::ZERO, |cache| {
            cache.node("node-1", "zone-a");
            cache.node("node-2", "zone-b");
            cache.service(service("web", json!({})));
            cache.pod(pod("web-1", "10.0.0.1", true));
        });
        fake.settle().await;
        let before = fake.endpoints("web");
        fake.forget_requests();
        fake.pod(pod("web-1", "10.0.0.1", true));
        fake.settle().await;
        assert_eq!((fake.requests(), fake.syncs()), (vec![], 1), "nothing that matters");
        fake.pod(merged(pod("web-1", "10.0.0.1", true), change));
        fake.settle().await;
        assert_eq!(fake.requests(), ["PUT web-1"], "{what}");
        assert_ne!(fake.endpoints("web"), before, "{what}");
    }
}
