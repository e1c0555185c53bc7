//! Endpoints whose Service was deleted, and Endpoints that never had one.

use std::sync::Arc;
use std::time::Duration;

use controller_harness::merged;
use controller_kit::key::ObjectKey;
use endpoint_informers::pending::{Decision, PendingWrite, WritePolicy};
use endpointslice::Service;
use serde_json::{Value, json};

use crate::harness::{Harness, endpoints};
use crate::objects::{pod, stored};
use crate::{MOMENT, NONE, web};

#[tokio::test(start_paused = true)]
async fn endpoints_of_deleted_services_are_deleted_at_start_up() {
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

/// No list shows it to the cache before.
#[tokio::test(start_paused = true)]
async fn endpoints_of_a_service_that_goes_before_the_cache_shows_it_are_deleted() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(json!({"metadata": {"name": "by-hand"}})));
        api.has_service("by-hand");
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE);
    harness.api.has_no_service("by-hand");
    harness.api.advance(Duration::from_secs(60)).await;
    assert_eq!(harness.api.requests(), ["DELETE by-hand"]);
    assert_eq!(harness.api.service_lookups(), ["by-hand", "by-hand"]);
}

/// The Endpoints have changed, which the cache does not show: their deletion is refused.
#[tokio::test(start_paused = true)]
async fn endpoints_whose_service_is_created_before_their_deletion_is_retried_stay() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put(endpoints(json!({"metadata": {"name": "by-hand"}})));
        let subsets = json!([{"addresses": [{"ip": "192.0.2.1"}]}]);
        api.put_without_event(endpoints(json!({"metadata": {"name": "by-hand"}, "subsets": subsets})));
    });
    harness.api.advance(MOMENT).await;
    assert_eq!(
        (harness.api.requests(), harness.api.service_lookups().len()),
        (vec!["DELETE by-hand".to_owned()], 1)
    );
    harness.api.has_service("by-hand");
    harness.api.deliver("by-hand");
    harness.api.settle().await;
    assert_eq!(harness.addresses("by-hand"), ["192.0.2.1"]);
    assert_eq!(harness.api.service_lookups(), ["by-hand", "by-hand"]);
}

/// Upstream deletes a second time, after the event of its own deletion.
#[tokio::test(start_paused = true)]
async fn the_endpoints_of_a_deleted_service_are_deleted_once() {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["DELETE web"]);
    assert!(harness.api.stored("web").is_none());
}

/// Allows no sync, as `shadow` does.
struct SkipsAll;

impl WritePolicy for SkipsAll {
    fn decide(&self, _: &ObjectKey, _: &dyn Fn() -> Option<Vec<PendingWrite>>) -> Decision {
        Decision::Skip
    }
}

/// No sync comes to forget it, and later Endpoints of its name would count as its leftover.
#[tokio::test(start_paused = true)]
async fn a_deleted_service_whose_syncs_are_skipped_is_forgotten_with_its_endpoints() {
    let harness = Harness::start_with_policy(Arc::new(SkipsAll), |api| {
        api.service(web());
        api.put(endpoints(stored("web", json!([]), json!({}))));
    });
    harness.api.settle().await;
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert_eq!(harness.remembers("web"), ["orphaned"], "a sync would delete its Endpoints");
    harness.api.delete("web");
    harness.api.settle().await;
    assert_eq!(harness.remembers("web"), NONE);
    assert_eq!(harness.api.requests(), NONE);
}

#[tokio::test(start_paused = true)]
async fn a_service_recreated_at_once_is_synced() {
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

/// The Service existed for a moment, and the cache shows its Endpoints only after it was deleted; the API server has another one by
/// then, or none.
#[tokio::test(start_paused = true)]
async fn endpoints_that_appear_after_their_service_was_deleted_are_deleted() {
    for (lost, exists_again) in [(0, false), (1, false), (1, true)] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.hold_events();
            api.lose_answers(lost);
            api.service(web());
        });
        harness.api.advance(MOMENT).await;
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web"]);
        if exists_again {
            harness.api.has_service("web");
        }
        harness.api.release_events();
        harness.api.advance(MOMENT).await;
        let expected: &[&str] = if exists_again { &["POST web"] } else { &["POST web", "DELETE web"] };
        assert_eq!(harness.api.requests(), expected, "lost answers: {lost}");
    }
}

/// A backup from between the deletion of a Service and that of its Endpoints.
#[tokio::test(start_paused = true)]
async fn endpoints_that_a_restored_backup_brings_back_are_deleted() {
    for (bump, shown, exists) in
        [(0, true, false), (1000, true, false), (0, false, false), (1000, false, false), (0, true, true)]
    {
        let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
        harness.api.settle().await;
        let backup = harness.api.backup();
        if !shown {
            harness.api.break_watch();
        }
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        assert!(harness.api.stored("web").is_none());
        harness.api.forget_requests();
        harness.api.restore(backup, bump);
        if exists {
            // The cache of Services is behind that of Endpoints.
            harness.api.has_service("web");
        }
        harness.api.relist();
        harness.api.settle().await;
        let deleted: &[&str] = if exists { &[] } else { &["DELETE web"] };
        assert_eq!(harness.api.requests(), deleted, "{bump} {shown}");
        assert_eq!(harness.api.stored("web").is_some(), exists);
    }
}

/// A leader that did not yet know that it was replaced, nor that the Service was deleted, creates them again.
#[tokio::test(start_paused = true)]
async fn endpoints_that_another_replica_creates_for_a_deleted_service_are_deleted() {
    for exists in [false, true] {
        let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
        harness.api.settle().await;
        let mut again = harness.api.stored("web").unwrap();
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        harness.api.forget_requests();
        if exists {
            // The cache of Services is behind that of Endpoints.
            harness.api.has_service("web");
        }
        again.metadata.uid = Some("again".into());
        harness.api.put_unchecked(again);
        harness.api.settle().await;
        let deleted: &[&str] = if exists { &[] } else { &["DELETE web"] };
        assert_eq!(harness.api.requests(), deleted);
    }
}

/// The response to a write is lost, its event shows it all the same, and a restored backup undoes it.
#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_that_a_restored_backup_undoes_is_repeated() {
    for bump in [0, 1000] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.service(web());
            api.pod(pod("web-1", &["10.0.0.1"], true));
        });
        harness.api.settle().await;
        let backup = harness.api.backup();
        harness.api.lose_answers(1);
        harness.api.pod(pod("web-2", &["10.0.0.2"], true));
        harness.api.settle().await;
        assert_eq!(harness.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
        harness.api.restore(backup, bump);
        harness.api.relist();
        harness.api.settle().await;
        assert_eq!(harness.addresses("web"), ["10.0.0.1", "10.0.0.2"], "{bump}");
    }
}

/// Other programs store data in Endpoints without a Service.
#[tokio::test(start_paused = true)]
async fn endpoints_created_without_a_service_are_left_alone() {
    let harness = Harness::start(Duration::ZERO, |_| {});
    harness.api.settle().await;
    harness.api.put(endpoints(json!({"metadata": {"name": "by-hand"}})));
    harness.edit("by-hand", |endpoints| endpoints.subsets = Some(vec![]));
    harness.api.advance(Duration::from_secs(48 * 60 * 60)).await;
    assert_eq!(harness.api.requests(), NONE);
    assert!(harness.api.stored("by-hand").is_some());
}

/// Also if a retry for a Service of that name is pending, and if they are a copy of ours, such as a restored backup.
#[tokio::test(start_paused = true)]
async fn endpoints_created_under_the_name_of_a_deleted_service_are_left_alone() {
    let by_hand = json!({"metadata": {"name": "web"}});
    for restored in [by_hand, stored("web", json!([]), json!({"metadata": {"uid": "restored"}}))] {
        leave_alone(restored).await;
    }
}

async fn leave_alone(restored: Value) {
    let harness = Harness::start(Duration::ZERO, |api| api.service(web()));
    harness.api.settle().await;
    // Half a day later.
    harness.edit("web", |endpoints| endpoints.subsets = Some(vec![]));
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert!(harness.api.stored("web").is_none(), "deleted with the Service");
    // After a failed create, the controller expects the object to appear.
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

/// The deletion fails until another client deletes the Endpoints, and a user restores them.
#[tokio::test(start_paused = true)]
async fn endpoints_restored_while_their_deletion_fails_stay() {
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
