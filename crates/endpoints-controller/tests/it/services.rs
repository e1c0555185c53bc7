//! Services, their pods and their Endpoints.

use std::time::Duration;

use controller_harness::merged;
use endpoints_controller::CAPACITY;
use endpointslice::Pod;
use serde_json::json;

use crate::harness::{Harness, endpoints};
use crate::objects::{address, pod, service, stored};
use crate::{NONE, web};

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

/// The address of the new pod is the first by its text: another one, in one or two subsets, no longer fits.
#[tokio::test(start_paused = true)]
async fn an_address_that_no_longer_fits_is_no_withdrawal_and_a_dead_one_is() {
    let pod = |n: usize, address: &str, ready: bool| {
        let ports = json!([{"name": "http", "containerPort": 8000 + n % 2}]);
        let containers = json!({"spec": {"containers": [{"name": "web", "ports": ports}]}});
        merged(pod(&format!("web-{n}"), &[address], ready), containers)
    };
    for target in [json!(8080), json!("http")] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.limit(1000.0, 1000);
            let ports = json!([{"port": 80, "protocol": "TCP", "targetPort": target}]);
            api.service(service("web", json!({"spec": {"ports": ports}})));
            (0..CAPACITY).for_each(|n| api.pod(pod(n, &format!("10.1.{}.{}", n / 250, n % 250), true)));
        });
        harness.api.settle().await;
        harness.api.pod(pod(CAPACITY, "10.0.0.1", true));
        harness.api.settle().await;
        let subsets = harness.api.stored("web").unwrap().subsets.unwrap();
        let addresses = subsets.iter().flat_map(|subset| subset.addresses.iter().flatten());
        let addresses: Vec<&str> = addresses.map(|address| address.ip.as_str()).collect();
        assert!(addresses.contains(&"10.0.0.1") && addresses.len() == CAPACITY, "{target}");
        let writes = |urgency: &str| {
            let labels = format!("{{controller=\"endpoints-controller\",urgency=\"{urgency}\"}}");
            harness.metric(&format!("write_wait_duration_seconds_count{labels}"))
        };
        assert_eq!((writes("withdrawal"), writes("readiness")), (0, 1), "{target}");
        harness.api.pod(pod(CAPACITY, "10.0.0.1", false));
        harness.api.settle().await;
        assert_eq!((writes("withdrawal"), writes("readiness")), (1, 1), "{target}");
    }
}

/// Requests that take a minute, and five workers.
#[tokio::test(start_paused = true)]
async fn writes_of_different_services_overlap() {
    for (in_flight, overlap) in [(0, 5), (8, 8)] {
        let harness = Harness::start(Duration::ZERO, |api| {
            api.overlap(in_flight);
            (0..20).for_each(|n| api.service(service(&format!("web{n}"), json!({}))));
            api.delay_requests(Duration::from_mins(1));
        });
        harness.api.advance(Duration::from_secs(61)).await;
        assert_eq!(harness.api.requests().len(), overlap);
        harness.api.advance(Duration::from_hours(1)).await;
        assert_eq!(harness.api.requests().len(), 20, "one of each");
    }
}

/// The watch event arrives before the response to the write, as it often does.
#[tokio::test(start_paused = true)]
async fn the_event_of_our_own_write_causes_no_sync() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.service(web());
        api.pod(pod("web-1", &["10.0.0.1"], true));
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    let syncs = || harness.metric("workqueue_adds_total{name=\"endpoint\"}");
    let before = syncs();
    harness.api.advance(Duration::from_hours(25)).await;
    assert_eq!(syncs(), before);
    harness.edit("web", |endpoints| endpoints.subsets = None);
    harness.api.advance(Duration::from_hours(25)).await;
    assert_eq!(syncs(), before + 1, "another client's change causes one");
    assert_eq!(harness.addresses("web"), ["10.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn services_that_we_do_not_manage_cause_no_request() {
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
async fn a_pod_change_syncs_the_services_that_select_it_or_did() {
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
    assert_eq!(harness.api.requests(), NONE, "changes that affect no endpoint");
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

/// Upstream sends the address, and the API server refuses the whole object at every retry.
#[tokio::test(start_paused = true)]
async fn a_refused_address_is_left_out_and_named_in_an_event() {
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

/// The rate limit makes the second one wait for its turn.
#[tokio::test(start_paused = true)]
async fn a_sync_that_waits_for_its_turn_names_no_refused_address() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.limit(0.05, 1);
        for name in ["web", "db"] {
            api.service(service(name, json!({})));
            api.pod(pod(&format!("{name}-1"), &["127.0.0.1"], true));
        }
    });
    harness.api.settle().await;
    assert_eq!(harness.api.requests().len(), 1);
    harness.api.advance(Duration::from_mins(5)).await;
    assert_eq!(harness.api.requests().len(), 2);
    assert_eq!(harness.api.events().len(), 2, "{:?}", harness.api.events());
}

/// The API server validates subsets only if they change.
#[tokio::test(start_paused = true)]
async fn an_object_with_a_refused_address_is_left_alone_until_its_addresses_change() {
    let addresses = json!([address("web-1", "169.254.0.1"), address("web-2", "10.0.0.2")]);
    let old = json!([{"addresses": addresses, "ports": [{"port": 8080, "protocol": "TCP"}]}]);
    let harness = Harness::start(Duration::ZERO, |api| {
        api.put_unchecked(endpoints(stored("web", old.clone(), json!({}))));
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
