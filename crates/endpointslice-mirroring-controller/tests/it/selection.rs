//! The Endpoints that are mirrored, and the slices of those that no longer are.

use controller_harness::{TestApi, merged};
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Service;
use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, LEADER, SKIP_MIRROR};
use serde_json::{Value, json};

use crate::NONE;
use crate::harness::{Harness, endpoints, service, slice};

#[tokio::test(start_paused = true)]
async fn which_endpoints_are_mirrored() {
    let labelled = |value: &str| json!({"metadata": {"labels": {SKIP_MIRROR: value}}});
    let selector = json!({"spec": {"selector": {"app": "web"}}});
    for (what, service_changes, endpoints_changes, mirrored) in [
        ("ordinary", Some(json!({})), json!({}), true),
        ("skip-mirror=true", Some(json!({})), labelled("true"), false),
        ("skip-mirror=false", Some(json!({})), labelled("false"), true),
        ("skip-mirror=invalid", Some(json!({})), labelled("invalid"), true),
        ("leader election", Some(json!({})), json!({"metadata": {"annotations": {LEADER: ""}}}), false),
        ("no Service", None, json!({}), false),
        ("with a selector", Some(selector), json!({}), false),
        ("an empty selector is none", Some(json!({"spec": {"selector": {}}})), json!({}), true),
        ("headless", Some(json!({"spec": {"clusterIP": "None"}})), json!({}), true),
        ("the type doesn't matter", Some(json!({"spec": {"type": "ExternalName"}})), json!({}), true),
    ] {
        let harness = Harness::start(|api| {
            if let Some(changes) = service_changes {
                api.service(service("web", changes));
            }
            api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], endpoints_changes));
        })
        .await;
        assert_eq!(harness.api.requests(), if mirrored { vec!["POST web-"] } else { vec![] }, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn slices_follow_the_opt_out_of_their_endpoints() {
    for metadata in [json!({"labels": {SKIP_MIRROR: "true"}}), json!({"annotations": {LEADER: "{}"}})] {
        let harness = Harness::mirroring(&["10.0.0.1"]).await;
        let opting_out = endpoints("web", &["10.0.0.1"], json!({"metadata": metadata}));
        harness.api.upsert::<CachedEndpoints>(opting_out.clone());
        assert_eq!(harness.writes().await, ["DELETE web-1"]);
        let syncs = harness.syncs();
        harness.api.upsert::<CachedEndpoints>(opting_out);
        assert_eq!(harness.writes().await, NONE);
        assert_eq!(
            harness.syncs(),
            syncs,
            "a change of Endpoints that opted out before and after causes no sync"
        );
        harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
        assert_eq!(harness.writes().await, ["POST web-"]);
    }
}

#[tokio::test(start_paused = true)]
async fn slices_follow_the_selector_of_the_service() {
    let harness = Harness::mirroring(&["10.0.0.1"]).await;
    let with = |selector: Value| service("web", json!({"spec": {"selector": selector}}));
    for (selector, expected) in [
        (json!({"app": "web"}), vec!["DELETE web-1"]),
        (json!({"app": "other"}), vec![]),
        (json!(null), vec!["POST web-"]),
        (json!({}), vec![]),
        (json!({"app": "web"}), vec!["DELETE web-2"]),
        (json!({}), vec!["POST web-"]),
    ] {
        let syncs = harness.syncs();
        harness.api.service(with(selector.clone()));
        assert_eq!(harness.writes().await, expected, "{selector}");
        let more = harness.syncs() - syncs;
        assert_eq!(more, u64::from(!expected.is_empty()), "{selector}: one sync if it matters");
    }
}

#[tokio::test(start_paused = true)]
async fn slices_follow_endpoints_and_service() {
    let harness =
        Harness::start(|api| api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})))).await;
    assert_eq!(harness.writes().await, NONE);
    harness.api.service(service("web", json!({})));
    assert_eq!(harness.writes().await, ["POST web-"], "the Service appears later");
    harness.api.remove::<Service>("web");
    assert_eq!(harness.writes().await, ["DELETE web-1"]);
    harness.api.service(service("web", json!({})));
    assert_eq!(harness.writes().await, ["POST web-"]);
    harness.api.remove::<CachedEndpoints>("web");
    assert_eq!(harness.writes().await, ["DELETE web-2"]);
    harness.api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
    assert_eq!(harness.writes().await, ["POST web-"]);
    harness.api.upsert::<CachedEndpoints>(endpoints(
        "web",
        &["10.0.0.1"],
        json!({"metadata": {"uid": "another"}}),
    ));
    assert_eq!(harness.writes().await, ["PUT web-3"], "created again before the garbage collector ran");
    let owner = harness.api.slices("web")[0].metadata.owner_references.clone().unwrap().remove(0);
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Endpoints", "another"));
}

#[tokio::test(start_paused = true)]
async fn endpoints_being_deleted_get_no_new_slices() {
    let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let harness = Harness::start(|api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], deleting));
    })
    .await;
    assert_eq!(harness.api.requests(), NONE);
}

#[tokio::test(start_paused = true)]
async fn orphaned_slices_are_deleted_at_start_up() {
    let harness = Harness::start(|api| {
        api.put(slice("without-endpoints", "gone", "10.0.0.1", json!({})));
        api.service(service("skipped", json!({})));
        let skip = json!({"metadata": {"labels": {SKIP_MIRROR: "true"}}});
        api.upsert::<CachedEndpoints>(endpoints("skipped", &["10.0.0.2"], skip));
        api.put(slice("of-skipped", "skipped", "10.0.0.2", json!({})));
        api.service(service("selecting", json!({"spec": {"selector": {"app": "web"}}})));
        api.upsert::<CachedEndpoints>(endpoints("selecting", &["10.0.0.3"], json!({})));
        api.put(slice("of-selecting", "selecting", "10.0.0.3", json!({})));
    })
    .await;
    let mut requests = harness.api.requests();
    requests.sort();
    assert_eq!(requests, ["DELETE of-selecting", "DELETE of-skipped", "DELETE without-endpoints"]);
    assert_eq!(harness.syncs(), 3 + 1, "one asks about a Service; expected deletions cause none");
    assert_eq!(harness.metric("changes{operation=\"delete\"}"), 0, "not counted, as upstream");
}

/// Services are not listed again at a takeover: the watch of them may be behind that of Endpoints and slices.
#[tokio::test(start_paused = true)]
async fn a_takeover_deletes_no_slice_of_a_service_that_the_cache_does_not_show_yet() {
    let without = || json!({"spec": {"selector": null}});
    let delegated = merged(without(), json!({"metadata": {"labels": {ENDPOINT_CONTROLLER_NAME: "other"}}}));
    for (stored, may_be_delegated, is_kept) in [
        (Some(without()), false, true),
        (None, false, false),
        (Some(json!({})), false, false),
        (Some(delegated.clone()), true, false),
        (Some(delegated), false, true),
    ] {
        let what = format!("{stored:?} {may_be_delegated}");
        let fill = |api: &TestApi| {
            api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
            api.put(slice("web-x", "web", "10.0.0.1", json!({})));
            if let Some(changes) = stored {
                api.has_service_like("web", changes);
            }
        };
        let harness =
            if may_be_delegated { Harness::start_delegating(fill).await } else { Harness::start(fill).await };
        let expected: &[&str] = if is_kept { &[] } else { &["DELETE web-x"] };
        assert_eq!(harness.api.requests(), expected, "{what}");
    }
}

/// Whatever comes before the cache shows the Service.
#[tokio::test(start_paused = true)]
async fn slices_of_a_service_that_the_cache_does_not_show_yet_follow_their_endpoints() {
    let changed = |changes: Value| endpoints("web", &["10.0.0.2"], changes);
    let opting_out = changed(json!({"metadata": {"labels": {SKIP_MIRROR: "true"}}}));
    for (change, is_kept) in [(Some(changed(json!({}))), true), (Some(opting_out), false), (None, false)] {
        let what = format!("{change:?}");
        let harness = Harness::start(|api| {
            api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
            api.put(slice("web-x", "web", "10.0.0.1", json!({})));
            api.has_service_like("web", json!({"spec": {"selector": null}}));
        })
        .await;
        assert_eq!(harness.writes().await, NONE);
        match change {
            Some(change) => harness.api.upsert::<CachedEndpoints>(change),
            None => harness.api.remove::<CachedEndpoints>("web"),
        }
        let expected: &[&str] = if is_kept { &[] } else { &["DELETE web-x"] };
        assert_eq!(harness.writes().await, expected, "{what}");
        if is_kept {
            harness.api.service(service("web", json!({})));
            assert_eq!(harness.writes().await, ["PUT web-x"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_writes_nothing() {
    let harness = Harness::start(|api| {
        api.service(service("web", json!({})));
        api.upsert::<CachedEndpoints>(endpoints("web", &["10.0.0.1"], json!({})));
        api.put(slice("web-x", "web", "10.0.0.1", json!({})));
    })
    .await;
    assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 1));
    let harness = harness.restart().await;
    assert_eq!((harness.api.requests(), harness.syncs()), (vec![], 1));
    // Upstream tracks the first slice of each group, and overlooks the deletion of others.
    harness.api.delete_slice("web");
    assert_eq!(harness.writes().await, ["POST web-"]);
}
