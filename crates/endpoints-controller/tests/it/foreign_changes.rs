//! Changes of our Endpoints by other clients.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Endpoints;
use serde_json::json;

use crate::harness::{Harness, endpoints};
use crate::objects::{pod, service, stored};
use crate::{MOMENT, web};

/// Starts with a Service, one pod and its Endpoints, and an empty list of writes.
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

#[tokio::test(start_paused = true)]
async fn endpoints_that_another_client_deletes_are_created_again() {
    let harness = settled().await;
    harness.api.delete("web");
    harness.api.settle().await;
    assert_eq!(
        (harness.api.requests(), harness.addresses("web")),
        (vec!["POST web".to_owned()], vec!["10.0.0.1".to_owned()])
    );
}

/// Upstream repairs such Endpoints at its resync, 12 to 24 hours later.
#[tokio::test(start_paused = true)]
async fn changes_that_upstream_repairs_at_a_resync_are_repaired_within_two_seconds() {
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
async fn changes_that_upstream_ignores_cause_no_write() {
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

/// The changes of a quarter of an hour.
const CHANGES: usize = 15 * 60 * 1000 / 470;

/// The first edit is free, then ten repairs at once, then one a minute, because upstream repairs edits at its resync; what
/// was deleted is created again at once, and from then on a second later, each time. Changes of pods, and other Services, don't wait.
#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_changing_an_object_costs_one_write_a_minute() {
    type ForeignChange = fn(&Harness);
    let edit: ForeignChange = |harness| {
        if harness.api.stored("web").is_some() {
            harness.edit("web", |endpoints| {
                for address in
                    endpoints.subsets.iter_mut().flatten().flat_map(|subset| &mut subset.addresses).flatten()
                {
                    address.ip = "10.0.0.99".to_owned();
                }
            });
        }
    };
    let take: ForeignChange = |harness| {
        if harness.api.stored("web").is_some() {
            harness.api.delete("web");
        }
    };
    let replace: ForeignChange = |harness| {
        harness.api.delete("web");
        harness.api.put(endpoints(stored("web", json!([]), json!({}))));
    };
    for (what, change, author, expected) in [
        ("edits", edit, "field manager \"other-client\"", 20..=26),
        ("deletes", take, "an unknown client", 300..=920),
        ("replaces", replace, "field manager \"other-client\"", 300..=920),
    ] {
        let harness = settled().await;
        harness.api.service(service("db", json!({})));
        harness.api.settle().await;
        harness.api.forget_requests();
        for _ in 0..CHANGES {
            change(&harness);
            harness.api.advance(Duration::from_millis(470)).await;
        }
        let writes = harness.api.requests().len();
        assert!(expected.contains(&writes), "{what}: {writes} writes in a quarter of an hour");
        let [(reason, message)] = &harness.api.events()[..] else {
            panic!("{what}: {:?}", harness.api.events())
        };
        assert_eq!(reason, "EndpointsContested");
        assert!(message.contains(author), "{what}: {message}");
        harness.api.forget_requests();
        harness.api.pod(pod("db-1", &["10.0.0.8"], true));
        harness.api.pod(pod("web-2", &["10.0.0.2"], true));
        harness.api.advance(MOMENT).await;
        assert_eq!(harness.api.requests().len(), 2, "{what}: changes of pods don't wait");
        assert_eq!((harness.addresses("web").len(), harness.addresses("db").len()), (2, 1), "{what}");
        harness.api.advance(Duration::from_secs(20 * 60)).await;
        harness.api.forget_requests();
        change(&harness);
        harness.api.advance(Duration::from_secs(2)).await;
        assert_eq!(harness.addresses("web").len(), 2, "{what}: forgiven after a while");
    }
}

/// The Endpoints change before each write.
#[tokio::test(start_paused = true)]
async fn conflicts_with_a_client_that_keeps_changing_an_object_count_as_writes() {
    let harness = settled().await;
    harness.api.conflict(usize::MAX);
    for _ in 0..2 * 60 * 30 {
        harness.edit("web", |endpoints| endpoints.subsets = None);
        harness.api.advance(Duration::from_millis(500)).await;
    }
    let writes = harness.api.requests().len();
    assert!(writes <= 60, "{writes} tries in half an hour");
}

/// Creates and updates by other field managers count, also those that are left alone, and nothing else.
#[tokio::test(start_paused = true)]
async fn foreign_writes_are_counted() {
    let harness = settled().await;
    assert_eq!(harness.foreign_writes(), 0, "our own");
    harness.edit("web", |endpoints| {
        annotations(endpoints).insert("example.com/note".into(), "a".into());
    });
    harness.api.settle().await;
    assert_eq!(harness.foreign_writes(), 1, "a change that is left alone");
    harness.edit("web", |endpoints| endpoints.subsets = None);
    harness.api.settle().await;
    assert_eq!((harness.foreign_writes(), harness.addresses("web").len()), (2, 1), "one that is repaired");
    harness.api.delete("web");
    harness.api.settle().await;
    harness.api.put(endpoints(stored("custom", json!([]), json!({}))));
    harness.api.relist();
    harness.api.settle().await;
    assert_eq!(harness.foreign_writes(), 2, "a deletion, a user's Endpoints, a relist");
}
