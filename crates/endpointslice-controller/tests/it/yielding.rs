//! Another writer of the same slices, and the feature gate `YieldToOtherWriters`.

use std::sync::Arc;
use std::time::Duration;

use controller_harness::{TestApi, merged, object};
use endpoint_informers::yielding::{GRACE, Transition, Yielding};
use endpointslice::Service;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::MOMENT;
use crate::harness::{Harness, pod, service};

/// The time from a foreign write to the look at it.
const LOOK: Duration = Duration::from_secs(1);

type Transitions = Arc<Mutex<Vec<Transition>>>;

fn policy() -> (Arc<Yielding>, Transitions) {
    let transitions = Transitions::default();
    let seen = Arc::clone(&transitions);
    let report = move |_: &str, transition: &Transition| seen.lock().push(transition.clone());
    (Arc::new(Yielding::new("endpointslice-controller", report)), transitions)
}

/// Two Services with a pod each, and a controller that yields.
fn start() -> (Harness, Transitions) {
    let (policy, transitions) = policy();
    let harness = Harness::start_with_policy(policy, |cache| {
        cache.node("node-1", "zone-a");
        for (name, address) in [("web", "10.0.0.1"), ("db", "10.0.1.1")] {
            cache.service(service(name, json!({})));
            cache.pod(pod(&format!("{name}-1"), address, true));
        }
    });
    (harness, transitions)
}

fn yields() -> Transition {
    Transition::Yields { to: "other-client".into() }
}

/// The slice of a Service, as this controller makes it: it is taken from one that runs alone.
async fn slices_of_another_writer() -> Vec<EndpointSlice> {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        for (name, address) in [("web", "10.0.0.1"), ("db", "10.0.1.1")] {
            cache.service(service(name, json!({})));
            cache.pod(pod(&format!("{name}-1"), address, true));
        }
    });
    harness.api.settle().await;
    ["web", "db"].iter().flat_map(|name| harness.api.slices(name)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_start_alone_writes_after_the_grace() {
    let (harness, transitions) = start();
    harness.api.advance(GRACE.checked_sub(MOMENT).unwrap()).await;
    assert_eq!(harness.api.requests(), crate::NONE);
    harness.api.advance(2 * MOMENT).await;
    assert_eq!(harness.api.requests().len(), 2);
    assert_eq!(*transitions.lock(), [Transition::Acts]);
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests().len(), 3, "at once from now on");
}

#[tokio::test(start_paused = true)]
async fn what_another_writer_makes_is_not_made_twice() {
    let slices = slices_of_another_writer().await;
    let (harness, transitions) = start();
    harness.api.advance(GRACE / 2).await;
    for slice in slices {
        harness.api.put(slice);
    }
    harness.api.advance(Duration::from_hours(1)).await;
    assert_eq!(harness.api.requests(), crate::NONE);
    assert_eq!((harness.foreign_writes(), &transitions.lock()[..]), (2, &[yields()][..]));
    // The writes of the other writer were no changes to repair: ten more don't delay what the grace decides.
    for number in 2..20 {
        harness.api.pod(pod(&format!("web-{number}"), &format!("10.0.0.{number}"), true));
        harness.api.advance(GRACE / 2).await;
        let address = json!([format!("10.0.0.{number}")]);
        let endpoint = json!({"addresses": address, "conditions": {}});
        harness.api.edit_slice("db", |slice| {
            let endpoint = serde_json::from_value(endpoint).unwrap();
            slice.endpoints.get_or_insert_default().push(endpoint);
        });
    }
    harness.api.advance(3 * GRACE).await;
    assert_eq!(harness.api.addresses("db"), ["10.0.1.1"], "repaired");
    assert_eq!(harness.api.addresses("web").len(), 19);
}

#[tokio::test(start_paused = true)]
async fn one_foreign_write_is_yielded_to_and_what_it_leaves_wrong_is_written_after_the_grace() {
    let (harness, transitions) = start();
    harness.api.advance(2 * GRACE).await;
    harness.api.forget_requests();
    harness.api.edit_slice("web", |slice| slice.endpoints = Some(Vec::new()));
    harness.api.pod(pod("db-2", "10.0.1.2", true));
    harness.api.advance(GRACE.checked_sub(MOMENT).unwrap()).await;
    assert_eq!(harness.api.requests(), crate::NONE);
    harness.api.advance(LOOK + 2 * MOMENT).await;
    assert_eq!(harness.api.requests().len(), 2, "both Services");
    assert_eq!(*transitions.lock(), [Transition::Acts, yields(), Transition::Acts]);
}

/// The writer that is busy with one Service leaves another wrong.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_passed_over_is_written_while_the_other_writer_is_busy() {
    let (harness, transitions) = start();
    harness.api.advance(2 * GRACE).await;
    harness.api.forget_requests();
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(MOMENT).await;
    harness.api.forget_requests();
    for number in 0..20 {
        harness.api.edit_slice("web", |slice| {
            slice.metadata.annotations.get_or_insert_default().insert("turn".into(), number.to_string());
        });
        if number == 0 {
            harness.api.pod(pod("db-2", "10.0.1.2", true));
        }
        harness.api.advance(Duration::from_millis(500)).await;
    }
    assert_eq!(harness.api.requests().len(), 1);
    assert_eq!(harness.api.addresses("db"), ["10.0.1.1", "10.0.1.2"]);
    assert_eq!(*transitions.lock(), [Transition::Acts, yields()]);
}

/// While this controller yields, nothing is left to write for a Service that is deleted, and no sync comes to forget it.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_deleted_meanwhile_is_forgotten() {
    let (harness, transitions) = start();
    harness.api.advance(2 * GRACE).await;
    let desired = || harness.metric("endpoint_slice_controller_endpoints_desired");
    assert_eq!(desired(), 2);
    harness.api.edit_slice("db", |slice| {
        slice.metadata.annotations.get_or_insert_default().insert("turn".into(), "1".into());
    });
    harness.api.remove::<Service>("web");
    harness.api.delete_slice("web");
    harness.api.advance(MOMENT).await;
    assert_eq!(*transitions.lock(), [Transition::Acts, yields()]);
    assert_eq!(desired(), 1);
}

/// Counted without the gate too: creates and updates by other field managers, and nothing else.
#[tokio::test(start_paused = true)]
async fn foreign_writes_are_counted() {
    let harness = Harness::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
        cache.put(slice("web-before", &json!({})));
    });
    harness.api.settle().await;
    assert_eq!(harness.foreign_writes(), 0, "neither what was there nor our own writes");
    let mut expected = 0;
    for (what, counts, change) in [
        (
            "a create",
            1,
            &(|harness: &Harness| harness.api.put(slice("web-other", &json!({})))) as &dyn Fn(&Harness),
        ),
        ("a change of an annotation", 1, &|harness: &Harness| {
            harness.api.edit_slice("web", |slice| {
                slice.metadata.annotations.get_or_insert_default().insert("a".into(), "b".into());
            });
        }),
        ("a slice that is given away", 1, &|harness: &Harness| {
            harness.api.edit_slice("web", |slice| {
                slice.metadata.labels.get_or_insert_default().insert(MANAGED_BY.into(), "other".into());
            });
        }),
        ("a slice of another controller", 0, &|harness: &Harness| {
            harness.api.put(slice("web-foreign", &json!({"metadata": {"labels": {MANAGED_BY: "other"}}})));
        }),
        ("a deletion", 0, &|harness: &Harness| harness.api.delete_slice("web")),
        ("a change of a pod", 0, &|harness: &Harness| harness.api.pod(pod("web-1", "10.0.0.1", true))),
        ("a relist without a change", 0, &|harness: &Harness| harness.api.relist()),
    ] {
        change(&harness);
        harness.api.settle().await;
        expected += counts;
        assert_eq!(harness.foreign_writes(), expected, "{what}");
    }
}

/// A write that only removes fields of others leaves no entry of its own, so that its version tells that it is ours. The watch
/// shows it before the response does.
#[tokio::test(start_paused = true)]
async fn removing_a_label_that_another_client_set_is_no_foreign_write() {
    let labelled = |labels: Value| service("web", json!({"metadata": {"labels": labels}}));
    let fill = |api: &TestApi| {
        api.node("node-1", "zone-a");
        api.pod(pod("web-1", "10.0.0.1", true));
        api.service(labelled(json!({"team": "a"})));
    };
    let first = Harness::start(Duration::ZERO, fill);
    first.api.settle().await;
    let mut slice = first.ours().remove(0);
    slice.metadata.managed_fields = None;
    let harness = Harness::start(Duration::ZERO, |api| {
        fill(api);
        api.put(slice);
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), [""; 0]);
    harness.api.service(labelled(json!({})));
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 1);
    let managers = harness.ours().remove(0).metadata.managed_fields.unwrap_or_default();
    assert_eq!(managers.len(), 1, "{managers:?}");
    assert_eq!(harness.foreign_writes(), 0);
}

fn slice(name: &str, more: &Value) -> EndpointSlice {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: ENDPOINTSLICE_CONTROLLER});
    let slice = json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": []});
    object(merged(slice, more.clone()))
}

/// The event of our own write is no foreign one: nothing else queues a change that comes between the write and its event.
#[tokio::test(start_paused = true)]
async fn a_change_that_comes_before_the_event_of_our_write_is_not_lost() {
    let (harness, _) = start();
    harness.api.advance(2 * GRACE).await;
    harness.api.forget_requests();
    for number in 0..9 {
        harness.api.edit_slice("web", |slice| {
            slice.metadata.annotations.get_or_insert_default().insert("turn".into(), number.to_string());
        });
        if number == 0 {
            harness.api.pod(pod("db-2", "10.0.1.2", true));
        }
        harness.api.advance(GRACE / 10).await;
    }
    harness.api.hold_events();
    harness.api.advance(GRACE / 10 + MOMENT).await;
    assert_eq!(harness.api.requests().len(), 1, "db was passed over");
    harness.api.pod(pod("db-3", "10.0.1.3", true));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests().len(), 1, "the cache does not show the first write");
    harness.api.release_events();
    harness.api.advance(3 * GRACE).await;
    assert_eq!(harness.api.addresses("db"), ["10.0.1.1", "10.0.1.2", "10.0.1.3"]);
}
