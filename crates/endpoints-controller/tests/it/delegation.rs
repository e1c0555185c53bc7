//! Services of another controller. Two watches fill the cache, of our Services and of the labelled ones, and neither
//! waits for the other.

use controller_harness::TestApi;
use endpointslice::Service;
use endpointslice::well_known::{
    ENDPOINT_CONTROLLER_NAME, ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, LEADER,
};
use k8s_openapi::api::core::v1::Endpoints;
use serde_json::{Value, json};

use crate::NONE;
use crate::harness::{Harness, endpoints};
use crate::objects::{pod, service, stored};

fn delegated(api: &TestApi<Endpoints>, name: &str) {
    api.delegate(name);
    api.has_service_like(name, json!({"metadata": {"labels": {ENDPOINT_CONTROLLER_NAME: "them"}}}));
}

/// The Endpoints `name`, written by this controller or another client.
fn object(name: &str, managed_by: Option<&str>) -> Endpoints {
    let labels: Value = managed_by.map(|value| json!({ENDPOINTS_MANAGED_BY: value})).unwrap_or_default();
    let subsets = json!([{"addresses": [{"ip": "192.0.2.1"}]}]);
    endpoints(stored(name, subsets, json!({"metadata": {"labels": labels}})))
}

/// Values of the label `managed-by`, and whether they are ours.
const OWNERS: [(Option<&str>, bool); 4] =
    [(Some(ENDPOINTS_CONTROLLER), true), (Some("them"), false), (Some(""), false), (None, false)];

#[tokio::test(start_paused = true)]
async fn our_endpoints_are_deleted_and_created_again_with_the_label() {
    let web = || service("web", json!({}));
    for delegated_is_seen_first in [true, false] {
        let harness = Harness::start_delegating(|api| {
            api.service(web());
            api.pod(pod("web-1", &["10.0.0.1"], true));
        });
        harness.api.settle().await;
        if delegated_is_seen_first {
            delegated(&harness.api, "web");
            harness.api.settle().await;
            assert_eq!(harness.api.requests(), ["POST web"], "our watch still shows the Service");
        }
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        delegated(&harness.api, "web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["POST web", "DELETE web"]);
        harness.api.service(web());
        harness.api.settle().await;
        assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
        assert_eq!(harness.api.service_lookups(), NONE, "the label is enough to decide");
    }
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_others_wrote_stay_and_the_service_is_looked_up_only_in_doubt() {
    for (managed_by, is_ours) in OWNERS {
        for in_doubt in [false, true] {
            let harness = Harness::start_delegating(|api| {
                api.service(service("web", json!({"spec": {"type": "ExternalName"}})));
                api.put(object("web", managed_by));
                api.has_service("web");
            });
            harness.api.settle().await;
            if !in_doubt {
                delegated(&harness.api, "web");
            }
            harness.api.remove::<Service>("web");
            harness.api.settle().await;
            assert_eq!(harness.api.stored("web").is_none(), is_ours, "{managed_by:?}");
            assert_eq!(
                harness.api.service_lookups().len(),
                usize::from(in_doubt && !is_ours),
                "{managed_by:?}"
            );
        }
    }
}

/// They may have been ours while the Service had a selector, and still carry our label.
#[tokio::test(start_paused = true)]
async fn the_endpoints_of_a_service_without_a_selector_stay_whatever_their_labels() {
    for (managed_by, _) in OWNERS {
        for in_doubt in [false, true] {
            let fill = |api: &TestApi<Endpoints>| {
                api.put(object("web", managed_by));
                api.has_service("web");
            };
            let harness = Harness::start_delegating(|api| {
                fill(api);
                api.service(service("web", json!({"spec": {"selector": null}})));
            });
            harness.api.settle().await;
            if !in_doubt {
                harness.api.delegate_selecting("web", Value::Null);
            }
            harness.api.remove::<Service>("web");
            harness.api.settle().await;
            assert_eq!(harness.api.requests(), NONE, "{managed_by:?}");
            assert_eq!(harness.api.service_lookups().len(), usize::from(in_doubt), "{managed_by:?}");
            // The same after a restart.
            let harness = Harness::start_delegating(|api| {
                fill(api);
                if !in_doubt {
                    api.delegate_selecting("web", Value::Null);
                }
            });
            harness.api.settle().await;
            assert_eq!(harness.api.requests(), NONE, "{managed_by:?}");
        }
    }
}

/// A Service that loses its selector keeps its Endpoints, as upstream; from then on they belong to its users.
#[tokio::test(start_paused = true)]
async fn endpoints_edited_after_their_service_lost_its_selector_outlive_the_label() {
    let harness = Harness::start_delegating(|api| api.service(service("web", json!({}))));
    harness.api.settle().await;
    harness.api.service(service("web", json!({"spec": {"selector": null}})));
    harness.edit("web", |endpoints| endpoints.subsets = object("web", None).subsets);
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.has_service("web");
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    harness.api.delegate_selecting("web", Value::Null);
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), harness.addresses("web")), (vec![], vec!["192.0.2.1".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn the_endpoints_of_a_deleted_service_are_deleted_whichever_client_wrote_them() {
    for (managed_by, _) in OWNERS {
        let harness = Harness::start_delegating(|api| {
            api.service(service("web", json!({"spec": {"selector": null}})));
            api.put(object("web", managed_by));
        });
        harness.api.settle().await;
        harness.api.remove::<Service>("web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["DELETE web"], "{managed_by:?}");
        assert_eq!(harness.api.service_lookups(), ["web"], "{managed_by:?}");
    }
}

/// A sync has undone another client's edit after the label was set, because the cache still showed the Service without it.
#[tokio::test(start_paused = true)]
async fn endpoints_that_a_late_sync_made_ours_again_are_deleted_unless_they_were_edited_since() {
    for is_edited_again in [false, true] {
        let harness = Harness::start_delegating(|api| {
            api.service(service("web", json!({})));
            api.put(object("web", Some(ENDPOINTS_CONTROLLER)));
        });
        harness.api.settle().await;
        let mut edited = harness.api.stored("web").unwrap();
        edited.metadata.labels = None;
        harness.api.put_without_event(edited);
        let delegated_at = harness.api.version().to_string();
        harness.api.deliver("web");
        harness.api.settle().await;
        assert_eq!(harness.api.requests(), ["PUT web", "PUT web"]);
        if is_edited_again {
            harness.api.hold_events();
            harness.edit("web", |endpoints| endpoints.subsets = object("web", None).subsets);
        }
        delegated(&harness.api, "web");
        harness.api.remove_at::<Service>("web", &delegated_at);
        if is_edited_again {
            harness.api.release_events();
        }
        harness.api.settle().await;
        assert_eq!(harness.api.stored("web").is_some(), is_edited_again);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_lookup_of_the_service_is_retried_and_nothing_is_deleted() {
    let harness = Harness::start_delegating(|api| {
        api.service(service("web", json!({"spec": {"selector": null}})));
        api.put(object("web", None));
        api.has_service("web");
    });
    harness.api.settle().await;
    harness.api.refuse(3);
    harness.api.remove::<Service>("web");
    harness.api.settle().await;
    assert_eq!((harness.api.service_lookups().len(), harness.api.requests()), (4, vec![]));
}

#[tokio::test(start_paused = true)]
async fn only_our_endpoints_of_delegated_services_are_deleted_at_start_up() {
    let harness = Harness::start_delegating(|api| {
        for name in ["unseen", "leader"] {
            api.has_service(name);
        }
        for name in ["ours", "theirs"] {
            delegated(api, name);
        }
        api.put(object("ours", Some(ENDPOINTS_CONTROLLER)));
        api.put(object("theirs", None));
        api.put(object("unseen", None));
        api.put(object("orphan", None));
        let annotations = json!({"metadata": {"annotations": {LEADER: ""}}});
        api.put(endpoints(stored("leader", json!([]), annotations)));
    });
    harness.api.settle().await;
    let mut requests = harness.api.requests();
    requests.sort();
    assert_eq!(requests, ["DELETE orphan", "DELETE ours"]);
    let mut asked = harness.api.service_lookups();
    asked.sort();
    assert_eq!(asked, ["orphan", "ours", "unseen"]);
}

/// The watch of labelled Services is behind: the label was removed.
#[tokio::test(start_paused = true)]
async fn our_endpoints_of_a_service_that_is_ours_again_stay_at_start_up() {
    let harness = Harness::start_delegating(|api| {
        api.delegate("web");
        api.has_service("web");
        api.put(object("web", Some(ENDPOINTS_CONTROLLER)));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), NONE);
    assert_eq!(harness.api.service_lookups(), ["web"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_endpoints_that_others_wrote_cause_no_request() {
    let harness = Harness::start_delegating(|api| {
        delegated(api, "web");
        api.pod(pod("web-1", &["10.0.0.1"], true));
        api.put(object("web", None));
    });
    harness.api.settle().await;
    harness.api.put(object("web", Some("them")));
    harness.api.pod(pod("web-2", &["10.0.0.2"], true));
    delegated(&harness.api, "web");
    harness.api.delete("web");
    harness.api.settle().await;
    assert_eq!((harness.api.service_lookups(), harness.api.requests()), (vec![], vec![]));
}
