//! The controller on a cache that the test fills and an API that the test plays, on a paused clock.
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpointsItemsPreserveNoSelector`, `TestSyncServiceExternalNameType` (4) | `services_without_endpoints_of_ours_cost_no_request` |
//! | `TestCheckLeftoverEndpoints`, `TestSyncEndpointsServiceNotFound` | `what_services_left_behind_is_deleted_at_start`, `the_object_of_a_service_that_goes_is_deleted_once` |
//! | `TestWaitsForAllInformersToBeSynced2` | the manager runs controllers once the cache is synced (`tests` `binary`) |
//! | `TestPodAddsBatching`, `TestPodUpdatesBatching`, `TestPodDeleteBatching` (3 each) | `pod_changes_within_a_batch_period_are_one_write` |
//! | `TestMultipleServiceChanges` | `an_object_that_somebody_deletes_comes_back`, `a_service_deleted_and_created_again_at_once_is_served` |
//! | `TestMultiplePodChanges` | `a_cache_behind_our_own_write_is_waited_for` |
//! | `TestEndpointsDeletionEvents` | `an_object_that_somebody_deletes_comes_back` |
//! | `TestGetPodServicesToUpdate`, `TestDetermineNeededServiceUpdates`, `Test_podChanged` | `a_pod_concerns_the_services_that_select_it_or_did` |

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod delegation;
mod harness;
mod relist;
mod support;
mod unreadable;

use std::collections::BTreeMap;
use std::time::Duration;

use endpointslice::{Pod, Service};
use fake_api::merged;
use harness::{Harness, endpoints};
use k8s_openapi::api::core::v1::Endpoints;
use serde_json::{Value, json};
use support::{pod, service, stored};

const NONE: [&str; 0] = [];
const MOMENT: Duration = Duration::from_millis(1);

fn web() -> Value {
    service("web", json!({}))
}

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_gets_one_object_and_a_restart_writes_nothing() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
    let annotations = harness.api.stored("web").unwrap().metadata.annotations.unwrap();
    assert_eq!(annotations["endpoints.kubernetes.io/last-change-trigger-time"], "2026-01-01T00:00:00Z");
    let harness = harness.restart().await;
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE);
}

/// Its event comes before its answer here, as it often does.
#[tokio::test(start_paused = true)]
async fn a_write_of_our_own_is_no_reason_to_look_again() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    let looked = || harness.metric("workqueue_adds_total{name=\"endpoint\"}");
    let before = looked();
    harness.api.advance(Duration::from_hours(25)).await;
    assert_eq!(looked(), before);
    harness.edit("web", |endpoints| endpoints.subsets = None);
    harness.api.advance(Duration::from_hours(25)).await;
    assert_eq!(looked(), before + 1, "another client's change is");
    assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn services_without_endpoints_of_ours_cost_no_request() {
    let external = json!({"spec": {"type": "ExternalName"}});
    let no_ports = json!({"spec": {"type": "ExternalName", "ports": null}});
    let no_selector = json!({"spec": {"type": "ExternalName", "selector": null}});
    let neither = json!({"spec": {"type": "ExternalName", "selector": null, "ports": null}});
    let manual = json!({"spec": {"selector": null}});
    let harness = Harness::start(Duration::ZERO, |api| {
        for (number, changes) in [external, no_ports, no_selector, neither, manual].into_iter().enumerate() {
            let name = format!("s{number}");
            api.put(endpoints(stored(&name, json!([{"addresses": [{"ip": "6.7.8.9"}]}]), json!({}))));
            api.service(service(&name, changes));
        }
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE);
    assert_eq!(harness.addresses("s4"), ["6.7.8.9"]);
}

#[tokio::test(start_paused = true)]
async fn pod_changes_within_a_batch_period_are_one_write() {
    let (none, second) = (Duration::ZERO, Duration::from_secs(1));
    let (quick, slow) = ([200, 100, 100], [200, 100, 1000]);
    for (batch_period, delays, writes) in [(none, quick, 3), (second, quick, 1), (second, slow, 2)] {
        type Step = fn(&Harness, &str, &str);
        let steps: [(bool, Step, usize); 3] = [
            (false, |harness, name, ip| harness.api.pod(pod(name, &[ip], true)), 3),
            (true, |harness, name, ip| harness.api.pod(pod(name, &[ip], true)), 3),
            (true, |harness, name, _| harness.api.remove::<Pod>(name), 0),
        ];
        for (with_pods, step, left) in steps {
            let harness = Harness::start(batch_period, |api| {
                api.service(web());
                for number in (0..3).filter(|_| with_pods) {
                    api.pod(pod(&format!("web-{number}"), &[&format!("10.1.0.{number}")], true));
                }
            });
            harness.api.settle().await;
            harness.api.forget_requests();
            for (number, delay) in delays.into_iter().enumerate() {
                harness.api.advance(Duration::from_millis(delay)).await;
                step(&harness, &format!("web-{number}"), &format!("10.0.0.{number}"));
            }
            harness.api.settle().await;
            assert_eq!(harness.api.requests().len(), writes, "{batch_period:?} {delays:?}");
            assert_eq!(harness.addresses("web").len(), left);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_concerns_the_services_that_select_it_or_did() {
    let harness = Harness::start(Duration::ZERO, |api| {
        for name in ["web", "db", "other"] {
            api.service(service(name, json!({})));
        }
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    let changed = |change| merged(pod("web-1", &["10.0.0.1"], true), change);
    harness.api.pod(changed(json!({"metadata": {"annotations": {"a": "b"}}})));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE, "nothing that matters");
    harness.api.pod(changed(json!({"metadata": {"labels": {"app": "db"}}})));
    harness.api.settle().await;
    let mut requests = harness.api.requests();
    requests.sort();
    assert_eq!(requests, ["PUT db", "PUT web"], "the one it left and the one it joined");
    assert_eq!((harness.addresses("web").len(), harness.addresses("db").len()), (0, 1));
    harness.api.forget_requests();
    harness.api.remove::<Pod>("web-1");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT db"]);
}

#[tokio::test(start_paused = true)]
async fn what_services_left_behind_is_deleted_at_start() {
    let leader = json!({"metadata": {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}});
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("gone", json!([]), json!({}))));
        api.put(endpoints(json!({"metadata": {"name": "by-hand"}})));
        api.put(endpoints(stored("election", json!([]), leader)));
    });
    harness.api.settle().await;
    let mut requests = harness.api.requests();
    requests.sort();
    assert_eq!(requests, ["DELETE by-hand", "DELETE gone"]);
}

/// Upstream deletes a second time, after the event of its own deletion.
#[tokio::test(start_paused = true)]
async fn the_object_of_a_service_that_goes_is_deleted_once() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE web"]);
    assert!(harness.api.stored("web").is_none());
}

/// Upstream deletes whatever has the name, also what somebody else has made since the cache was last up to date.
#[tokio::test(start_paused = true)]
async fn an_object_that_the_cache_does_not_show_is_not_deleted() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    let ours = harness.api.stored("web").unwrap();
    // Service and Endpoints are deleted and made by hand, and of all that only the first event arrives
    harness.api.delete_without_event("web");
    harness.api.put_without_event(endpoints(
        json!({"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "6.7.8.9"}]}]}),
    ));
    harness.api.forget_requests();
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    let requests = harness.api.requests();
    assert!(requests.len() > 1 && requests.iter().all(|request| request == "DELETE web"), "{requests:?}");
    assert_eq!(harness.addresses("web"), ["6.7.8.9"]);
    assert_ne!(harness.api.stored("web").unwrap().metadata.uid, ours.metadata.uid);
    assert_eq!(harness.api.events(), []);
    // an object that nobody has seen yet is not deleted either
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(service("manual", json!({"spec": {"selector": null}})))
    });
    harness.api.settle().await;
    harness.api.put_without_event(endpoints(json!({"metadata": {"name": "manual"}})));
    harness.api.remove::<Service>("manual");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_somebody_deletes_comes_back() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.delete("web");
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.addresses("web")),
        (vec!["POST web".to_owned()], vec!["10.0.0.1".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_deleted_and_created_again_at_once_is_served() {
    for hold in [false, true] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.service(web());
            api.pod(pod("web-1", &["10.0.0.1"], true));
        });
        if hold {
            harness.api.hold_events();
        }
        harness.api.advance(MOMENT).await;
        harness.api.remove::<Service>("web");
        harness.api.advance(MOMENT).await;
        harness.api.service(merged(web(), json!({"metadata": {"uid": "new"}})));
        harness.api.release_events();
        harness.api.settle().await;
        assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
    }
}

/// Nothing of a Service that was there for a moment stays behind, though its object shows in the cache only later.
#[tokio::test(start_paused = true)]
async fn an_object_that_appears_after_its_service_is_deleted() {
    for lost in [0, 1] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.hold_events();
            api.lose_answers(lost);
            api.service(web());
        });
        harness.api.advance(MOMENT).await;
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web"]);
        harness.api.release_events();
        harness.api.advance(MOMENT).await;
        assert_eq!(harness.api.requests(), ["POST web", "DELETE web"], "lost answers: {lost}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_behind_our_own_write_is_waited_for() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.hold_events();
    harness.api.pod(pod("web-1", &["10.0.0.1"], true));
    harness.api.advance(MOMENT).await;
    let since = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T00:00:00Z"}]);
    let second = merged(pod("web-2", &["10.0.0.2"], true), json!({"status": {"conditions": since}}));
    harness.api.pod(second);
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["PUT web"], "the cache doesn't show the first write");
    harness.api.release_events();
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web", "PUT web"], "the event wakes it, not the back-off");
    assert_eq!(harness.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(harness.api.events(), []);
    let annotations = harness.api.stored("web").unwrap().metadata.annotations.unwrap();
    let time = &annotations["endpoints.kubernetes.io/last-change-trigger-time"];
    assert_eq!(time, "2026-01-02T00:00:00Z", "not lost while waiting");
}

/// Upstream warns each time that it creates what exists already.
#[tokio::test(start_paused = true)]
async fn an_object_that_exists_unseen_is_no_reason_for_a_warning() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put_without_event(endpoints(stored("web", json!([]), json!({}))));
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    let requests = harness.api.requests();
    assert!(requests.len() > 1 && requests.iter().all(|request| request == "POST web"), "{requests:?}");
    assert_eq!(harness.api.events(), []);
    harness.api.forget_requests();
    harness.api.put(harness.api.stored("web").unwrap());
    harness.api.advance(MOMENT).await;
    assert_eq!((harness.api.requests(), harness.addresses("web").len()), (vec!["PUT web".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_that_heals_is_not_told() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("web", json!([]), json!({}))));
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.conflict(2);
    harness.api.settle().await;
    assert_eq!((harness.api.requests().len(), harness.addresses("web").len()), (3, 1));
    assert_eq!(harness.api.events(), []);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_for_ever() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.refuse(40);
    for _ in 0..40 {
        harness.api.advance(Duration::from_secs(1001)).await;
    }
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 41);
    assert!(harness.api.stored("web").is_some());
    assert_eq!(harness.metric("workqueue_depth{name=\"endpoint\"}"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_told_in_the_namespace_of_the_service() {
    let told = async |harness: Harness| {
        harness.api.refuse(1);
        harness.api.settle().await;
        let [event] = &harness.api.event_objects()[..] else { panic!("{:?}", harness.api.event_objects()) };
        assert_eq!(
            (&event["type"], &event["source"]["component"]),
            (&json!("Warning"), &json!("endpoint-controller"))
        );
        let object = &event["involvedObject"];
        assert_eq!(
            (&object["kind"], &object["namespace"], &object["name"]),
            (&json!("Endpoints"), &json!("default"), &json!("web"))
        );
        (harness.api.events().remove(0), object["uid"].clone())
    };
    let create = told(Harness::start(Duration::ZERO, |api| api.service(web()))).await;
    let message = "Failed to create endpoint for service default/web: exceeded quota";
    assert_eq!(create, (("FailedToCreateEndpoint".to_owned(), message.to_owned()), json!(null)));
    let ((reason, message), uid) = told(Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("web", json!([{"addresses": [{"ip": "6.7.8.9"}]}]), json!({}))));
        api.service(web());
    }))
    .await;
    assert_eq!(reason, "FailedToUpdateEndpoint");
    assert_eq!(message, "Failed to update endpoint default/web: exceeded quota");
    assert!(uid.is_string());
}

/// Upstream's whole object is refused for one bad address, for ever.
#[tokio::test(start_paused = true)]
async fn an_address_that_the_api_server_refuses_is_left_out_and_named() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["127.0.0.1"], true));
        api.pod(pod("web-2", &["10.0.0.2"], true));
    });
    harness.api.settle().await;
    assert_eq!(harness.addresses("web"), ["10.0.0.2"]);
    let message = "Skipping IP address 127.0.0.1 of Pod web-1: not allowed in Endpoints";
    assert_eq!(harness.api.events(), [("InvalidIPAddress".to_owned(), message.to_owned())]);
}

/// The API server looks at subsets only if they change.
#[tokio::test(start_paused = true)]
async fn an_object_with_a_refused_address_is_left_alone_until_its_addresses_change() {
    let addresses = json!([support::address("web-1", "169.254.0.1"), support::address("web-2", "10.0.0.2")]);
    let old = json!([{"addresses": addresses, "ports": [{"port": 8080, "protocol": "TCP"}]}]);
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(stored("web", old.clone(), json!({}))));
        api.service(web());
        api.pod(pod("web-1", &["169.254.0.1"], true));
        api.pod(pod("web-2", &["10.0.0.2"], true));
    });
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.api.events()), (vec![], vec![]));

    harness.api.service(service("web", json!({"metadata": {"labels": {"team": "shop"}}})));
    harness.api.settle().await;
    let subsets = serde_json::to_value(harness.api.stored("web").unwrap().subsets).unwrap();
    assert_eq!(
        (harness.api.requests(), subsets),
        (vec!["PUT web".to_owned()], old),
        "in the order that was stored"
    );

    harness.api.pod(pod("web-3", &["10.0.0.3"], true));
    harness.api.settle().await;
    assert_eq!(harness.addresses("web"), ["10.0.0.2", "10.0.0.3"]);
    let message = "Skipping IP address 169.254.0.1 of Pod web-1: not allowed in Endpoints";
    assert_eq!(harness.api.events(), [("InvalidIPAddress".to_owned(), message.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_in_a_namespace_that_is_being_deleted() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.terminate_namespace();
        api.service(web());
    });
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.api.events()),
        (vec!["POST web".to_owned()], vec![]),
        "once, and no word about it"
    );
}

/// A Service with one pod, and its object; requests are forgotten.
async fn settled() -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness
}

fn annotations(endpoints: &mut Endpoints) -> &mut BTreeMap<String, String> {
    endpoints.metadata.annotations.get_or_insert_default()
}

/// Upstream's resync repairs such an object some time between 12 and 24 hours later.
#[tokio::test(start_paused = true)]
async fn what_upstream_repairs_at_a_resync_is_repaired_within_two_seconds() {
    let edits: [(&str, fn(&mut Endpoints)); 5] = [
        ("content", |endpoints| endpoints.subsets = None),
        ("labels", |endpoints| endpoints.metadata.labels = Some([("a".into(), "b".into())].into())),
        ("no labels", |endpoints| endpoints.metadata.labels = None),
        ("a label of the Service's", |endpoints| {
            endpoints.metadata.labels.get_or_insert_default().insert("team".into(), "other".into());
        }),
        ("the annotation about capacity", |endpoints| {
            annotations(endpoints).insert("endpoints.kubernetes.io/over-capacity".into(), "truncated".into());
        }),
    ];
    for (what, edit) in edits {
        let harness = settled().await;
        let before = harness.api.stored("web").unwrap();
        harness.edit("web", edit);
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.api.requests(), ["PUT web"], "{what}");
        let after = harness.api.stored("web").unwrap();
        assert_eq!(
            (after.subsets, after.metadata.labels),
            (before.subsets, before.metadata.labels),
            "{what}"
        );
        assert_eq!(after.metadata.annotations, None, "{what}: and no trigger time, as no pod has changed");
        assert_eq!(harness.api.events(), [], "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_upstream_leaves_alone_is_left_alone() {
    let edits: [(&str, fn(&mut Endpoints)); 4] = [
        ("finalizers", |endpoints| endpoints.metadata.finalizers = Some(vec!["example.com/hold".into()])),
        ("other annotations", |endpoints| drop(annotations(endpoints).insert("a".into(), "b".into()))),
        ("the trigger time", |endpoints| annotations(endpoints).clear()),
        ("owners", |endpoints| {
            let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "other"}]);
            endpoints.metadata.owner_references = serde_json::from_value(owner).unwrap();
        }),
    ];
    for (what, edit) in edits {
        let harness = settled().await;
        for _ in 0..100 {
            harness.edit("web", edit);
            harness.api.advance(Duration::from_secs(1)).await;
        }
        harness.api.advance(Duration::from_hours(25)).await;
        assert_eq!((harness.api.requests(), harness.api.events()), (vec![], vec![]), "{what}");
    }
}

/// Ten repairs at once, then one a minute; other Services don't notice, and the Service's own changes don't wait.
#[tokio::test(start_paused = true)]
async fn a_client_that_fights_for_an_object_costs_a_write_a_minute() {
    type Attack = fn(&Harness);
    let edit: Attack = |harness| {
        if harness.api.stored("web").is_some() {
            harness.edit("web", |endpoints| endpoints.subsets = None);
        }
    };
    let take: Attack = |harness| {
        if harness.api.stored("web").is_some() {
            harness.api.delete("web");
        }
    };
    let replace: Attack = |harness| {
        harness.api.delete("web");
        harness.api.put(endpoints(stored("web", json!([]), json!({}))));
    };
    for (what, attack, actor) in [
        ("edits", edit, "field manager \"somebody\""),
        ("deletes", take, "a client that is not known"),
        ("makes it anew", replace, "field manager \"somebody\""),
    ] {
        let harness = settled().await;
        harness.api.service(service("db", json!({})));
        harness.api.settle().await;
        harness.api.forget_requests();
        for _ in 0..30 * 60 * 1000 / 470 {
            attack(&harness);
            harness.api.advance(Duration::from_millis(470)).await;
        }
        let writes = harness.api.requests().len();
        assert!((35..=42).contains(&writes), "{what}: {writes} writes in half an hour");
        let [(reason, message)] = &harness.api.events()[..] else {
            panic!("{what}: {:?}", harness.api.events())
        };
        assert_eq!(reason, "EndpointsContested");
        assert!(message.contains(actor), "{what}: {message}");
        harness.api.forget_requests();
        harness.api.pod(pod("db-1", &["10.0.0.8"], true));
        harness.api.pod(pod("web-2", &["10.0.0.2"], true));
        harness.api.advance(MOMENT).await;
        assert_eq!(harness.api.requests().len(), 2, "{what}: changes of pods don't wait");
        assert_eq!((harness.addresses("web").len(), harness.addresses("db").len()), (2, 1), "{what}");
        harness.api.advance(Duration::from_secs(20 * 60)).await;
        harness.api.forget_requests();
        attack(&harness);
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.addresses("web").len(), 2, "{what}: forgiven after a while");
    }
}

/// The object changes each time that a write is sent.
#[tokio::test(start_paused = true)]
async fn conflicts_with_a_client_that_fights_for_an_object_count_as_writes() {
    let harness = settled().await;
    harness.api.conflict(usize::MAX);
    for _ in 0..2 * 60 * 30 {
        harness.edit("web", |endpoints| endpoints.subsets = None);
        harness.api.advance(Duration::from_millis(500)).await;
    }
    let writes = harness.api.requests().len();
    assert!(writes <= 60, "{writes} tries in half an hour");
}

/// Other programs keep things in Endpoints without a Service.
#[tokio::test(start_paused = true)]
async fn objects_without_a_service_that_come_later_are_left_alone() {
    let harness = Harness::start(Duration::ZERO, |_| {});
    harness.api.settle().await;
    harness.api.put(endpoints(json!({"metadata": {"name": "by-hand"}})));
    harness.edit("by-hand", |endpoints| endpoints.subsets = Some(vec![]));
    harness.api.advance(Duration::from_secs(48 * 60 * 60)).await;
    assert_eq!(harness.api.requests(), NONE);
    assert!(harness.api.stored("by-hand").is_some());
}

/// Not even where something was left to be done for a Service of that name, and not if it is a copy of what was ours, as
/// of a backup that a user restores.
#[tokio::test(start_paused = true)]
async fn what_comes_under_the_name_of_a_service_that_is_long_gone_is_left_alone() {
    let by_hand = json!({"metadata": {"name": "web"}});
    for restored in [by_hand, stored("web", json!([]), json!({"metadata": {"uid": "restored"}}))] {
        leave_alone(restored).await;
    }
}

async fn leave_alone(restored: Value) {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    // To be looked at half a day later.
    harness.edit("web", |endpoints| endpoints.subsets = Some(vec![]));
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert!(harness.api.stored("web").is_none(), "deleted with its Service");
    // A create that fails waits for the object to appear.
    harness.api.refuse(usize::MAX);
    harness.api.service(web());
    harness.api.settle().await;
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    harness.api.refuse(0);
    harness.api.forget_requests();

    harness.api.put(endpoints(restored));
    harness.api.pod(pod("web-1", &["10.0.0.1"], true));
    harness.api.advance(Duration::from_secs(48 * 60 * 60)).await;
    assert_eq!(harness.api.requests(), NONE);
    assert!(harness.api.stored("web").is_some());
}

/// The deletion fails until the object is gone by other means, and a user restores it.
#[tokio::test(start_paused = true)]
async fn what_is_restored_while_a_deletion_fails_stays() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    harness.api.refuse(usize::MAX);
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    harness.api.delete("web");
    harness.api.put(endpoints(stored("web", json!([]), json!({"metadata": {"uid": "restored"}}))));
    harness.api.refuse(0);
    harness.api.forget_requests();
    harness.api.advance(Duration::from_hours(1)).await;
    assert_eq!(harness.api.requests(), NONE);
    assert!(harness.api.stored("web").is_some());
}
