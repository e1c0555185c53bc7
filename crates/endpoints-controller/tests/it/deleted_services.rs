//! Endpoints that existed when their Service was deleted are deleted, whoever wrote them and whatever the caches showed. What was
//! created later stays. Since Kubernetes 1.37 no API server deletes them.

use std::time::Duration;

use controller_harness::TestApi;
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::{Pod, Service};
use k8s_openapi::api::core::v1::Endpoints;
use serde_json::{Value, json};

use crate::harness::{Harness, endpoints};
use crate::objects::{pod, service};
use crate::{MOMENT, NONE, web};

/// The bound on the life of Endpoints without a Service.
const BOUND: Duration = Duration::from_secs(15);

/// A Service whose Endpoints belong to its users.
fn manual() -> Value {
    service("web", json!({"spec": {"selector": null}}))
}

fn by_hand(ip: &str) -> Endpoints {
    endpoints(json!({"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": ip}]}]}))
}

async fn started(service: Value) -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| api.service(service));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness
}

/// Nothing is left to do, and nothing is remembered.
async fn assert_over(harness: &Harness) {
    harness.api.forget_requests();
    let lookups = harness.api.past_lookups().len();
    harness.api.deliver("web");
    harness.api.advance(Duration::from_hours(1)).await;
    assert_eq!((harness.api.requests(), harness.remembers("web")), (vec![], vec![]));
    assert_eq!(harness.api.past_lookups().len(), lookups);
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_the_cache_shows_after_the_deletion_go_with_the_service() {
    let harness = started(manual()).await;
    harness.api.put_without_event(by_hand("192.0.2.1"));
    harness.api.remove::<Service>("web");
    harness.api.advance(Duration::from_secs(4)).await;
    assert_eq!(harness.api.requests(), NONE, "the cache may show them any moment");
    harness.api.deliver("web");
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["DELETE web"]);
    assert_eq!((harness.api.past_lookups(), harness.api.service_lookups()), (vec![], vec![]));
    assert_over(&harness).await;
}

/// The object that the cache shows was deleted and created again by hand, before the Service was deleted.
#[tokio::test(start_paused = true)]
async fn endpoints_that_replaced_those_in_the_cache_go_with_the_service() {
    for is_shown in [true, false] {
        let harness = started(web()).await;
        let ours = harness.api.stored("web").unwrap();
        harness.api.delete_without_event("web");
        let replaced = harness.api.put_without_event(by_hand("192.0.2.1"));
        assert_ne!(replaced.metadata.uid, ours.metadata.uid);
        harness.api.remove::<Service>("web");
        harness.api.advance(Duration::from_secs(2)).await;
        if is_shown {
            harness.api.deliver("web");
        }
        harness.api.advance(BOUND).await;
        assert!(harness.api.stored("web").is_none(), "{is_shown}");
        assert_eq!(harness.api.past_lookups().len(), usize::from(!is_shown));
        assert_eq!(harness.api.events(), []);
        assert_over(&harness).await;
    }
}

/// The watch of Endpoints is late by more than the bound.
#[tokio::test(start_paused = true)]
async fn endpoints_that_the_cache_does_not_show_in_time_are_looked_up_and_go() {
    for exists in [true, false] {
        let harness = started(manual()).await;
        if exists {
            harness.api.put_without_event(by_hand("192.0.2.1"));
        } else {
            harness.api.put_without_event(endpoints(json!({"metadata": {"name": "another"}})));
        }
        harness.api.remove::<Service>("web");
        harness.api.advance(BOUND).await;
        let deleted: &[&str] = if exists { &["DELETE web"] } else { &[] };
        assert_eq!(harness.api.requests(), deleted);
        assert_eq!(harness.api.past_lookups(), ["web"]);
        assert_over(&harness).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_lookup_of_what_existed_is_repeated() {
    let harness = started(manual()).await;
    harness.api.put_without_event(by_hand("192.0.2.1"));
    harness.api.remove::<Service>("web");
    harness.api.refuse(3);
    harness.api.advance(BOUND).await;
    assert!(harness.api.past_lookups().len() > 3);
    assert!(harness.api.stored("web").is_none());
    assert_over(&harness).await;
}

/// By another client such as Patroni; whichever watch is late.
#[tokio::test(start_paused = true)]
async fn endpoints_created_after_the_service_was_deleted_stay() {
    for services_are_late in [true, false] {
        for service in [manual(), web()] {
            let harness = started(service.clone()).await;
            let deleted_at = harness.api.version().to_string();
            harness.api.delete_without_event("web");
            harness.api.put_without_event(by_hand("192.0.2.1"));
            if services_are_late {
                harness.api.deliver("web");
                harness.api.advance(Duration::from_millis(500)).await;
                harness.api.remove_at::<Service>("web", &deleted_at);
            } else {
                harness.api.remove_at::<Service>("web", &deleted_at);
                harness.api.advance(Duration::from_millis(500)).await;
                harness.api.deliver("web");
            }
            harness.api.advance(BOUND).await;
            assert_eq!(harness.addresses("web"), ["192.0.2.1"], "{services_are_late} {service}");
            assert_over(&harness).await;
        }
    }
}

/// A sync created the Endpoints after the deletion, because the cache still showed the Service.
#[tokio::test(start_paused = true)]
async fn endpoints_that_a_late_sync_created_go() {
    for is_shown in [true, false] {
        let harness = started(web()).await;
        harness.api.delete_without_event("web");
        let deleted_at = harness.api.version().to_string();
        if !is_shown {
            harness.api.break_watch();
        }
        harness.api.remove_at::<CachedEndpoints>("web", &deleted_at);
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web"]);
        harness.api.remove_at::<Service>("web", &deleted_at);
        harness.api.advance(BOUND).await;
        assert!(harness.api.stored("web").is_none(), "{is_shown}");
        assert_eq!(harness.api.past_lookups(), NONE);
        harness.api.relist();
        assert_over(&harness).await;
    }
}

/// Also if the rate limit makes the deletion wait for its turn.
#[tokio::test(start_paused = true)]
async fn endpoints_that_a_late_sync_created_go_at_their_turn() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.limit(0.05, 3);
        for name in ["web", "shop", "blog"] {
            api.service(service(name, json!({})));
        }
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 3);
    harness.api.forget_requests();
    harness.api.delete_without_event("web");
    let deleted_at = harness.api.version().to_string();
    harness.api.break_watch();
    harness.api.remove_at::<CachedEndpoints>("web", &deleted_at);
    harness.api.advance(Duration::from_secs(16)).await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    harness.api.remove_at::<Service>("web", &deleted_at);
    harness.api.advance(2 * BOUND).await;
    assert_eq!(harness.api.requests(), ["POST web"], "three tokens take a minute");
    harness.api.advance(Duration::from_secs(60)).await;
    assert_eq!(harness.api.requests(), ["POST web", "DELETE web"]);
    assert_eq!(harness.api.past_lookups(), NONE);
    harness.api.relist();
    assert_over(&harness).await;
}

/// The leader before created them, because its cache still showed the Service.
#[tokio::test(start_paused = true)]
async fn endpoints_that_another_replica_created_late_go() {
    for exists_again in [false, true] {
        let harness = started(web()).await;
        let mut late = harness.api.stored("web").unwrap();
        harness.api.delete_without_event("web");
        let deleted_at = harness.api.version().to_string();
        (late.metadata.uid, late.metadata.resource_version) = (Some("late".into()), None);
        harness.api.put_unchecked(late);
        if exists_again {
            harness.api.has_service("web");
        }
        harness.api.remove_at::<Service>("web", &deleted_at);
        harness.api.advance(BOUND).await;
        assert_eq!(harness.api.stored("web").is_some(), exists_again);
        if exists_again {
            harness.api.service(manual());
        }
        assert_over(&harness).await;
    }
}

/// Another client changes them after the deletion, and the cache shows that first.
#[tokio::test(start_paused = true)]
async fn endpoints_that_were_changed_after_the_deletion_go_if_they_existed() {
    let harness = started(manual()).await;
    harness.api.put(by_hand("192.0.2.1"));
    let deleted_at = harness.api.version().to_string();
    harness.api.put(by_hand("192.0.2.2"));
    harness.api.remove_at::<Service>("web", &deleted_at);
    harness.api.advance(BOUND).await;
    assert_eq!(
        (harness.api.requests(), harness.api.past_lookups()),
        (vec!["DELETE web".to_owned()], vec!["web".to_owned()])
    );
    assert_over(&harness).await;
}

/// A sync has updated Endpoints that another client created after the deletion, because the cache of Services is behind that of
/// Endpoints, as after an outage of the API server. Returns the resourceVersion of the deletion.
async fn updated_late(harness: &Harness) -> String {
    let deleted_at = harness.api.version().to_string();
    harness.api.delete_without_event("web");
    harness.api.put(by_hand("192.0.2.1"));
    harness.api.service(service("web", json!({"metadata": {"labels": {"late": "yes"}}})));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web"]);
    deleted_at
}

/// No other controller deletes them.
#[tokio::test(start_paused = true)]
async fn later_endpoints_that_were_updated_for_a_deleted_service_go() {
    let harness = started(web()).await;
    let deleted_at = updated_late(&harness).await;
    harness.api.remove_at::<Service>("web", &deleted_at);
    harness.api.advance(BOUND).await;
    assert_eq!(harness.api.requests(), ["PUT web", "DELETE web"]);
    assert_eq!(harness.api.past_lookups(), ["web"]);
    assert_over(&harness).await;
}

/// Another client wrote them in the second in which this process updated them: their field managers tell no order.
#[tokio::test(start_paused = true)]
async fn later_endpoints_that_were_updated_in_the_second_of_their_creation_go() {
    for shows_late in [false, true] {
        let harness = started(web()).await;
        harness.api.stop_clock();
        let deleted_at = harness.api.version().to_string();
        harness.api.delete_without_event("web");
        // With a label of the Service: the update leaves them its manager.
        let labels = json!({"late": "yes"});
        harness.api.put(endpoints(json!({"metadata": {"name": "web", "labels": labels}})));
        if shows_late {
            harness.api.hold_events();
        }
        harness.api.service(service("web", json!({"metadata": {"labels": {"late": "yes"}}})));
        harness.api.advance(MOMENT).await;
        harness.api.remove_at::<Service>("web", &deleted_at);
        harness.api.advance(MOMENT).await;
        if shows_late {
            harness.api.release_events();
        }
        harness.api.advance(BOUND).await;
        assert_eq!(harness.api.requests(), ["PUT web", "DELETE web"], "{shows_late}");
        assert_over(&harness).await;
    }
}

#[tokio::test(start_paused = true)]
async fn later_endpoints_that_their_author_changed_again_stay() {
    let harness = started(web()).await;
    let deleted_at = updated_late(&harness).await;
    harness.api.put_without_event(by_hand("192.0.2.2"));
    harness.api.remove_at::<Service>("web", &deleted_at);
    harness.api.deliver("web");
    harness.api.advance(BOUND).await;
    assert_eq!(harness.api.requests(), ["PUT web"]);
    assert_eq!(harness.addresses("web"), ["192.0.2.2"]);
    assert_over(&harness).await;
}

#[tokio::test(start_paused = true)]
async fn endpoints_of_a_service_that_exists_again_stay() {
    // Also if only the API server shows it.
    for is_cached in [true, false] {
        let harness = started(manual()).await;
        harness.api.put_without_event(by_hand("192.0.2.1"));
        harness.api.remove::<Service>("web");
        harness.api.has_service("web");
        if is_cached {
            harness.api.service(manual());
        }
        harness.api.advance(BOUND).await;
        harness.api.deliver("web");
        harness.api.advance(BOUND).await;
        // The event comes late.
        harness.api.service(manual());
        assert_eq!(harness.addresses("web"), ["192.0.2.1"], "{is_cached}");
        assert_over(&harness).await;
    }
}

/// If the API server no longer has the state of the deletion, Endpoints are deleted by name, as upstream does.
#[tokio::test(start_paused = true)]
async fn endpoints_go_by_name_if_versions_cannot_tell() {
    let compacted = |api: &TestApi<Endpoints>| {
        api.compact();
        api.version().to_string()
    };
    let no_number = |_: &TestApi<Endpoints>| "opaque".to_owned();
    let from_the_future = |_: &TestApi<Endpoints>| "1000000".to_owned();
    let versions: [&dyn Fn(&TestApi<Endpoints>) -> String; 3] = [&compacted, &no_number, &from_the_future];
    for deleted_at in versions {
        let harness = started(manual()).await;
        harness.api.put_without_event(by_hand("192.0.2.1"));
        let deleted_at = deleted_at(&harness.api);
        harness.api.remove_at::<Service>("web", &deleted_at);
        harness.api.advance(BOUND).await;
        assert_eq!(harness.api.requests(), ["DELETE web"], "{deleted_at}");
        assert_eq!(harness.api.service_lookups(), ["web"]);
        assert_over(&harness).await;
    }
}

/// The first list of Endpoints is older than that of Services, in which a Service is missing already.
#[tokio::test(start_paused = true)]
async fn endpoints_from_before_the_start_that_the_cache_shows_later_go() {
    for elects in [false, true] {
        let annotations =
            if elects { json!({"control-plane.alpha.kubernetes.io/leader": "{}"}) } else { json!({}) };
        let harness = Harness::start(Duration::ZERO, |api| {
            api.put_without_event(endpoints(
                json!({"metadata": {"name": "web", "annotations": annotations}}),
            ));
            api.observe_services();
        });
        harness.api.put_without_event(endpoints(json!({"metadata": {"name": "later"}})));
        harness.api.settle().await;
        harness.api.deliver("web");
        harness.api.deliver("later");
        harness.api.advance(BOUND).await;
        let deleted: &[&str] = if elects { &[] } else { &["DELETE web"] };
        assert_eq!(harness.api.requests(), deleted);
        assert_over(&harness).await;
    }
}

/// As with a namespace of hundreds of Services: the requests that tell what had existed wait for what is urgent.
#[tokio::test(start_paused = true)]
async fn lookups_for_many_deleted_services_let_a_withdrawal_pass() {
    const MANY: usize = 300;
    let name = |n| format!("gone-{n}");
    let harness = Harness::start(Duration::ZERO, |api| {
        api.limit(20.0, 30);
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
        (0..MANY).for_each(|n| api.service(service(&name(n), json!({"spec": {"selector": null}}))));
    });
    harness.api.settle().await;
    assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
    harness.api.put_without_event(endpoints(json!({"metadata": {"name": "another"}})));
    (0..MANY).for_each(|n| harness.api.remove::<Service>(&name(n)));
    while harness.api.past_lookups().len() < 60 {
        harness.api.advance(Duration::from_millis(100)).await;
    }
    harness.api.remove::<Pod>("web-1");
    harness.api.advance(Duration::from_secs(2)).await;
    assert_eq!(harness.addresses("web"), NONE);
    // By the event of that write the cache has passed the deletions: the others need no lookup.
    harness.api.advance(Duration::from_mins(2)).await;
    assert!(harness.api.past_lookups().len() < MANY);
    assert!((0..MANY).all(|n| harness.remembers(&name(n)).is_empty()));
}
