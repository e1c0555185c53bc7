//! Services with many writes, low-priority keys, and failures of a part of a Service.

use std::collections::BTreeSet;
use std::time::Duration;

use controller_harness::{TestApi, merged};
use endpointslice::Pod;
use endpointslice::well_known::{LAST_CHANGE_TRIGGER_TIME, MANAGED_BY};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::MOMENT;
use crate::harness::{Harness, pod, service, set_label};

const MANY: usize = 120;
const SECOND: Duration = Duration::from_secs(1);

/// A Service `big` with many pods, each in a slice of its own.
fn big(api: &TestApi) {
    api.node("node-1", "zone-a");
    api.service(service("big", json!({})));
    (0..MANY).for_each(|n| api.pod(pod(&format!("big-{n}"), &format!("10.0.1.{n}"), true)));
}

/// The Service `big` in sync, under the default rate limit or none, and an empty list of writes.
async fn big_in_sync(is_limited: bool) -> Harness {
    let api = TestApi::default();
    if is_limited {
        api.limit(20.0, 30);
    }
    big(&api);
    let harness = Harness::start_small(&api);
    harness.api.advance(60 * SECOND).await;
    harness.api.forget_requests();
    harness
}

fn count(requests: &[String], request: &str) -> usize {
    requests.iter().filter(|seen| *seen == request).count()
}

/// With one worker: a sync makes fifty writes, and then other keys are synced.
#[tokio::test(start_paused = true)]
async fn a_service_with_many_slices_lets_others_pass_and_writes_nothing_twice() {
    let api = TestApi::default();
    big(&api);
    (0..20).for_each(|n| api.service(service(&format!("small{n}"), json!({}))));
    let harness = Harness::start_small(&api);
    harness.api.settle().await;
    let requests = harness.api.requests();
    let is_big = |request: &&String| request.ends_with("big-");
    let last_of_others = requests.iter().rposition(|request| !is_big(&request)).unwrap();
    let before_others = requests[..last_of_others].iter().filter(is_big).count();
    // The order of initial keys is random: `big` may be last.
    assert!([0, 50].contains(&before_others), "{requests:?}");
    assert_eq!((requests.len(), harness.slice_count("big")), (MANY + 20, MANY), "no other request");
    let time = |slice: &EndpointSlice| {
        slice.metadata.annotations.clone().unwrap_or_default().get(LAST_CHANGE_TRIGGER_TIME).cloned()
    };
    let slices = harness.api.slices("big");
    assert!(slices.iter().all(|slice| time(slice).is_some() && time(slice) == time(&slices[0])));
    let added = harness.metric("endpoint_slice_controller_endpoints_added_per_sync_sum");
    assert_eq!(added, MANY as u64, "counted once");
    assert_eq!(harness.changed_per_sync(), [20 + 3, (MANY + 20) as u64], "in three syncs");
}

/// Pods of a Service, each with an address of its own.
fn pods(api: &TestApi, service: &str, count: usize) {
    for n in 0..count {
        api.pod(pod(&format!("{service}-{n}"), &format!("10.1.{}.{}", n / 250, n % 250), true));
    }
}

/// Five Services need as many writes as the rate allows in half a minute. They take turns of five writes, after which another
/// Service is written whose change is as urgent, one more ready endpoint: 25 writes at 20 a second are 1.25 s.
#[tokio::test(start_paused = true)]
async fn under_a_rate_limit_a_service_waits_for_one_turn_of_each_large_one() {
    let api = TestApi::default();
    api.limit(20.0, 30);
    api.node("node-1", "zone-a");
    for n in 0..5 {
        let name = format!("big{n}");
        api.service(service(&name, json!({})));
        pods(&api, &name, MANY);
    }
    for round in 0..3 {
        let name = format!("small{round}");
        api.service(service(&name, json!({})));
        api.pod(pod(&format!("{name}-0"), &format!("10.9.{round}.0"), true));
    }
    let harness = Harness::start_small(&api);
    for round in 0..3 {
        harness.api.advance(5 * SECOND).await;
        let (name, addresses) = (format!("small{round}"), [0, 1].map(|n| format!("10.9.{round}.{n}")));
        assert_eq!(harness.api.addresses(&name), addresses[..1]);
        harness.api.pod(pod(&format!("{name}-1"), &addresses[1], true));
        harness.api.advance(2 * SECOND).await;
        assert_eq!(harness.api.addresses(&name), addresses);
    }
    let written: usize = (0..5).map(|n| harness.slice_count(&format!("big{n}"))).sum();
    assert!(written < 5 * MANY, "{written}: nothing had to wait");
}

/// With one worker, and requests that take a minute.
#[tokio::test(start_paused = true)]
async fn writes_of_different_services_overlap_and_those_of_one_do_not() {
    let api = TestApi::default();
    api.node("node-1", "zone-a");
    for n in 0..20 {
        let service_name = format!("web{n}");
        api.service(service(&service_name, json!({})));
        pods(&api, &service_name, 3);
    }
    api.delay_requests(60 * SECOND);
    api.overlap(8);
    let harness = Harness::start_small(&api);
    harness.api.advance(61 * SECOND).await;
    let first = harness.api.requests();
    let services: std::collections::BTreeSet<&String> = first.iter().collect();
    assert_eq!((first.len(), services.len()), (8, 8), "{first:?}");
    harness.api.advance(120 * SECOND).await;
    assert_eq!(harness.api.requests().len(), 3 * 8, "three slices of each");
    harness.api.advance(3600 * SECOND).await;
    assert_eq!(harness.api.requests().len(), 3 * 20);
    assert!((0..20).all(|n| harness.slice_count(&format!("web{n}")) == 3));
}

/// Fifty plans of thousands of endpoints would take hundreds of megabytes.
#[tokio::test(start_paused = true)]
async fn a_large_plan_is_written_before_the_next_one_is_made() {
    for (count, overlap) in [(1000, 3), (1001, 1)] {
        let api = TestApi::default();
        api.node("node-1", "zone-a");
        for name in ["web", "shop", "blog"] {
            api.service(service(name, json!({})));
            pods(&api, name, count);
        }
        api.delay_requests(60 * SECOND);
        api.overlap(8);
        let harness = Harness::start_small(&api);
        harness.api.advance(61 * SECOND).await;
        assert_eq!(harness.api.requests().len(), overlap, "{count} endpoints");
    }
}

/// The service `big` with the first part of its plan written, which the cache does not show.
async fn with_a_part_written() -> Harness {
    let api = TestApi::default();
    big(&api);
    api.hold_events();
    let harness = Harness::start_small(&api);
    harness.api.advance(Duration::from_secs(3600)).await;
    assert_eq!(harness.api.requests().len(), 50);
    harness
}

/// The next sync plans on the cache, so it waits until the cache shows all writes.
#[tokio::test(start_paused = true)]
async fn the_next_part_of_a_plan_waits_for_the_cache_to_show_the_last_one() {
    let harness = with_a_part_written().await;
    harness.api.release_events();
    harness.api.settle().await;
    assert_eq!((harness.api.requests().len(), harness.slice_count("big")), (MANY, MANY));
}

/// A Service of type ExternalName keeps its slices, so the rest of its plan must be forgotten. Otherwise a later sync would leave
/// out the updates that it made.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_plan_is_forgotten_when_the_service_becomes_external() {
    let harness = with_a_part_written().await;
    harness.api.service(service("big", json!({"spec": {"type": "ExternalName"}})));
    harness.api.release_events();
    harness.api.settle().await;
    assert!(!harness.remembers("big").contains(&"unfinished"), "{:?}", harness.remembers("big"));
}

/// A webhook adds a label to every slice. Each sync writes each slice again, as upstream's does, but no sync causes the
/// next.
#[tokio::test(start_paused = true)]
async fn slices_that_a_webhook_mutates_cause_no_endless_syncs() {
    let api = TestApi::default();
    api.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
    big(&api);
    let harness = Harness::start_small(&api);
    harness.api.advance(Duration::from_secs(3600)).await;
    let requests = harness.api.requests();
    assert!(requests.len() <= 2 * MANY, "{} requests", requests.len());
    assert_eq!(count(&requests, "POST big-"), MANY);
}

/// The same under the default rate limit, by which a turn is for fewer writes than a sync without one.
#[tokio::test(start_paused = true)]
async fn slices_that_a_webhook_mutates_are_all_written_under_a_rate_limit() {
    let harness = big_in_sync(true).await;
    harness.api.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}})));
    harness.api.advance(Duration::from_secs(3600)).await;
    let requests = harness.api.requests();
    let different: BTreeSet<_> = requests.iter().collect();
    assert_eq!(different.len(), MANY, "each slice was updated");
    assert!(requests.len() <= 3 * MANY, "{} requests", requests.len());
}

/// Also for as long as the webhook keeps its plan from getting smaller.
#[tokio::test(start_paused = true)]
async fn a_large_service_that_a_webhook_mutates_lets_a_withdrawal_pass() {
    let api = TestApi::default();
    api.limit(20.0, 30);
    big(&api);
    api.service(service("small", json!({})));
    api.pod(pod("small-0", "10.9.0.0", true));
    let harness = Harness::start_small(&api);
    harness.api.advance(60 * SECOND).await;
    harness.api.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}})));
    harness.api.advance(4 * SECOND).await;
    assert_eq!(harness.api.addresses("small"), ["10.9.0.0"]);
    harness.api.remove::<Pod>("small-0");
    harness.api.advance(SECOND).await;
    assert!(harness.api.addresses("small").is_empty());
}

/// The labels of all slices change, and of those that are not written yet one pod is not ready any more, and one is gone.
#[tokio::test(start_paused = true)]
async fn a_withdrawal_comes_first_within_a_plan_of_many_turns() {
    let api = TestApi::default();
    api.limit(20.0, 30);
    api.node("node-1", "zone-a");
    let spec = json!({"ipFamilies": ["IPv4", "IPv6"]});
    api.service(service("big", json!({"spec": spec})));
    let with_both = |n: usize, ready| -> Value {
        controller_harness::pod(&format!("big-{n}"), &[&format!("10.0.1.{n}"), &format!("fd00::{n}")], ready)
    };
    (0..MANY).for_each(|n| api.pod(with_both(n, true)));
    let harness = Harness::start_small(&api);
    harness.api.advance(60 * SECOND).await;
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}, "spec": spec})));
    harness.api.advance(2 * SECOND).await;
    let waits = |slice: &EndpointSlice| {
        slice.metadata.labels.as_ref().is_none_or(|labels| !labels.contains_key("tier"))
    };
    let of_ipv4 = |slice: &EndpointSlice| waits(slice) && slice.address_type == "IPv4";
    let waiting: Vec<EndpointSlice> = harness.api.slices("big").into_iter().filter(of_ipv4).collect();
    let pod_of = |slice: &EndpointSlice| {
        let endpoint = slice.endpoints.as_deref().unwrap()[0].clone();
        endpoint.target_ref.unwrap().name.unwrap()
    };
    let [.., gone, unready] = waiting.as_slice() else { panic!("{waiting:?}") };
    harness.api.remove::<Pod>(&pod_of(gone));
    harness.api.pod(with_both(pod_of(unready).trim_start_matches("big-").parse().unwrap(), false));
    harness.api.advance(SECOND).await;
    assert_eq!(harness.api.slices("big").iter().filter(|slice| is_ready(slice)).count(), 2 * MANY - 4);
    assert!(harness.api.slices("big").iter().any(of_ipv4), "the others were not waited for");
}

/// All slices change each second, in which less than half of them can be written: none waits until the changes end, whatever is
/// refused.
#[tokio::test(start_paused = true)]
async fn slices_that_change_faster_than_they_can_be_written_are_all_written() {
    const BOTH: &[&str] = &["IPv4", "IPv6"];
    for (families, refused) in [
        (BOTH, "nothing"),
        (BOTH, "IPv4"),
        (BOTH, "IPv6"),
        // The sync that makes the write ends.
        (&["IPv4"], "each second"),
        // As in an outage, for two minutes.
        (BOTH, "before"),
    ] {
        assert_eq!(written_while_all_change(families, refused).await, 50, "{families:?}, {refused} refused");
    }
}

/// The number of slices that are written while all 50 change each second, in which 20 writes can be made. All writes of a family
/// are `refused` in one of the seconds, or one write in each, or all before.
async fn written_while_all_change(families: &[&str], refused: &'static str) -> usize {
    let api = TestApi::default();
    api.limit(20.0, 20);
    api.node("node-1", "zone-a");
    let spec = json!({"ipFamilies": families});
    api.service(service("web", json!({"spec": spec})));
    for n in 0..50 / families.len() {
        let addresses = [format!("10.0.0.{n}"), format!("fd00::{n}")];
        let addresses = addresses.each_ref().map(String::as_str);
        api.pod(dual(&format!("web-{n}"), &addresses[..families.len()]));
    }
    let harness = Harness::start_small(&api);
    harness.api.advance(10 * SECOND).await;
    if refused == "before" {
        harness.api.refuse_if(|_| true);
        harness
            .api
            .service(service("web", json!({"metadata": {"labels": {"change": "first"}}, "spec": spec})));
        harness.api.advance(130 * SECOND).await;
    }
    for change in 0..40 {
        match change {
            5 => harness.api.refuse_if(move |slice: &EndpointSlice| slice.address_type == refused),
            6 => {
                harness.api.refuse_if(|_| false);
                harness.api.forget_requests();
            }
            _ => {}
        }
        let labels = json!({"labels": {"change": change.to_string()}});
        harness.api.service(service("web", json!({"metadata": labels, "spec": spec})));
        harness.api.advance(SECOND / 2).await;
        harness.api.refuse(usize::from(refused == "each second"));
        harness.api.advance(SECOND / 2).await;
    }
    harness.api.requests().into_iter().collect::<BTreeSet<_>>().len()
}

/// Upstream deletes slices after all updates, and not at all while one of these is refused.
#[tokio::test(start_paused = true)]
async fn a_refused_slice_does_not_keep_an_endpoint_in_a_slice_that_is_to_be_deleted() {
    let harness = Harness::start_small(&TestApi::filled(|api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..3).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    }));
    harness.api.settle().await;
    let of_first =
        |slice: &EndpointSlice| slice.endpoints.iter().flatten().any(|it| it.addresses == ["10.0.0.0"]);
    harness.api.refuse_if(of_first);
    harness.api.pod(pod("web-0", "10.0.0.0", false));
    harness.api.remove::<Pod>("web-1");
    harness.api.advance(10 * SECOND).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.0", "10.0.0.2"]);
}

/// Upstream creates slices first. The update also has the endpoint that fits in its slice.
#[tokio::test(start_paused = true)]
async fn withdrawals_come_before_creates_without_a_rate_limit() {
    let harness = Harness::start_coalescing(false, 2, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..2).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    });
    harness.api.settle().await;
    harness.api.forget_requests();
    harness.api.remove::<Pod>("web-0");
    (2..4).for_each(|n| harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    harness.api.advance(MOMENT).await;
    assert_eq!(harness.api.requests(), ["PUT web-1", "POST web-"]);
}

/// Upstream creates slices before all updates, and updates none while a quota keeps it from that.
#[tokio::test(start_paused = true)]
async fn a_quota_does_not_keep_an_endpoint() {
    let harness = Harness::start_coalescing(false, 2, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..4).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    });
    harness.api.settle().await;
    harness.api.refuse_if(|slice: &EndpointSlice| slice.metadata.name.is_none());
    harness.api.remove::<Pod>("web-0");
    harness.api.remove::<Pod>("web-1");
    (4..8).for_each(|n| harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    harness.api.advance(10 * SECOND).await;
    let addresses = harness.api.addresses("web");
    assert!(!addresses.contains(&"10.0.0.0".to_owned()), "a pod that is gone: {addresses:?}");
    harness.api.refuse_if(|_| false);
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.addresses("web").len(), 6);
}

/// Upstream creates slices first.
#[tokio::test(start_paused = true)]
async fn refused_withdrawals_do_not_keep_new_endpoints() {
    let harness = Harness::start_coalescing(false, 2, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..14).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    });
    harness.api.settle().await;
    let names: BTreeSet<_> = harness.api.slices("web").into_iter().map(|slice| slice.metadata.name).collect();
    harness.api.refuse_if(move |slice: &EndpointSlice| names.contains(&slice.metadata.name));
    (0..7).for_each(|n| harness.api.pod(pod(&format!("web-{}", 2 * n), &format!("10.0.0.{}", 2 * n), false)));
    harness.api.advance(2000 * SECOND).await;
    for n in [20, 22, 24, 26, 28] {
        let addresses = [n, n + 1].map(|n| format!("10.0.0.{n}"));
        for (n, address) in [n, n + 1].iter().zip(&addresses) {
            harness.api.pod(pod(&format!("web-{n}"), address, true));
        }
        harness.api.advance(SECOND / 2).await;
        let published = harness.api.addresses("web");
        assert!(addresses.iter().all(|address| published.contains(address)), "{n}: {published:?}");
    }
}

/// Upstream tries the updates in a random order, and ends at the first that is refused.
#[tokio::test(start_paused = true)]
async fn a_refused_slice_does_not_keep_an_endpoint_in_another_one() {
    let harness = Harness::start_small(&TestApi::filled(|api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        (0..5).for_each(|n| api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
    }));
    harness.api.settle().await;
    for refused in harness.api.slices("web").into_iter().map(|slice| slice.metadata.name) {
        (0..5).for_each(|n| harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true)));
        harness.api.advance(2000 * SECOND).await;
        let is_refused = refused.clone();
        harness.api.refuse_if(move |slice: &EndpointSlice| slice.metadata.name == is_refused);
        (0..5).for_each(|n| harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), false)));
        harness.api.advance(30 * SECOND).await;
        let ready: Vec<_> = harness.api.slices("web").into_iter().filter(is_ready).collect();
        assert_eq!(ready.len(), 1, "all but {refused:?} are written");
        harness.api.refuse_if(|_| false);
    }
}

/// The plan of a Service whose slices a webhook mutates has all updates again and again, also of those that are not refused.
#[tokio::test(start_paused = true)]
async fn a_refused_slice_among_mutated_ones_backs_off() {
    let harness = big_in_sync(false).await;
    harness.api.mutate(|slice: &mut EndpointSlice| set_label(slice, "team", "a"));
    let refused = harness.api.slices("big").remove(0).metadata.name;
    harness.api.refuse_if(move |slice: &EndpointSlice| slice.metadata.name == refused);
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}})));
    harness.api.advance(3600 * SECOND).await;
    let requests = harness.api.requests();
    let different: BTreeSet<_> = requests.iter().collect();
    assert_eq!(different.len(), MANY);
    assert!(requests.len() < MANY + 20, "{} requests in an hour", requests.len());
}

/// Another client has changed the slice of the withdrawal.
#[tokio::test(start_paused = true)]
async fn a_withdrawal_that_met_a_conflict_still_comes_first() {
    let harness = big_in_sync(true).await;
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}})));
    harness.api.advance(2 * SECOND).await;
    let waits = |slice: &EndpointSlice| {
        slice.metadata.labels.as_ref().is_none_or(|labels| !labels.contains_key("tier"))
    };
    let waiting: Vec<EndpointSlice> = harness.api.slices("big").into_iter().filter(waits).collect();
    let last = waiting.last().unwrap();
    let endpoint = last.endpoints.as_deref().unwrap()[0].clone();
    let mut newer = last.clone();
    newer.metadata.annotations.get_or_insert_default().insert("note".into(), "theirs".into());
    let newer = harness.api.put_without_event(newer);
    harness.api.pod(pod(&endpoint.target_ref.unwrap().name.unwrap(), &endpoint.addresses[0], false));
    harness.api.advance(SECOND / 2).await;
    harness.api.put(newer);
    harness.api.advance(SECOND).await;
    assert_eq!(harness.api.slices("big").iter().filter(|slice| is_ready(slice)).count(), MANY - 1);
    assert!(harness.api.slices("big").iter().any(waits), "the others were not waited for");
}

/// Neither family can be written, and one request at a time may be made.
#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_is_not_asked_again_and_again() {
    let api = TestApi::filled(dual_stack);
    api.limit(20.0, 1);
    let harness = Harness::start_small(&api);
    harness.api.advance(10 * SECOND).await;
    harness.api.terminate_namespace();
    harness.api.forget_requests();
    (0..2).for_each(|_| harness.api.delete_slice("web"));
    harness.api.advance(600 * SECOND).await;
    let posts = count(&harness.api.requests(), "POST web-");
    assert!((2..10).contains(&posts), "{posts}");
}

/// True if the endpoint of a slice is ready.
fn is_ready(slice: &EndpointSlice) -> bool {
    let endpoint = slice.endpoints.iter().flatten().next();
    endpoint.and_then(|endpoint| endpoint.conditions.as_ref()?.ready) == Some(true)
}

/// The slice of a terminating namespace can't be created again, and its refusal is not an error.
#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_does_not_keep_an_endpoint_of_the_other_family() {
    let api = TestApi::filled(dual_stack);
    api.limit(20.0, 1);
    let harness = Harness::start_small(&api);
    harness.api.advance(10 * SECOND).await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "fd00::1"]);
    harness.api.terminate_namespace();
    let of_ipv4 = harness.api.slices("web").into_iter().find(|slice| slice.address_type == "IPv4").unwrap();
    harness.api.delete(&of_ipv4.metadata.name.unwrap());
    harness.api.remove::<Pod>("web-1");
    harness.api.pod(dual("web-2", &["10.0.0.2"]));
    harness.api.advance(60 * SECOND).await;
    assert!(!harness.api.addresses("web").contains(&"fd00::1".to_owned()), "a pod that is gone");
}

/// Slices that another client changes during the plan are repaired with the rest of it.
#[tokio::test(start_paused = true)]
async fn an_edit_of_what_an_unfinished_plan_has_written_is_undone() {
    let harness = big_in_sync(true).await;
    harness.api.service(service("big", json!({"metadata": {"labels": {"tier": "front"}}})));
    harness.api.advance(3 * SECOND).await;
    let tier = |slice: &EndpointSlice| slice.metadata.labels.clone().unwrap_or_default().get("tier").cloned();
    let mut edited = harness.api.slices("big").into_iter().find(|slice| tier(slice).is_some()).unwrap();
    let written = harness.api.slices("big").iter().filter(|slice| tier(slice).is_some()).count();
    assert!(written < MANY, "{written}");
    edited.metadata.labels.get_or_insert_default().insert("tier".into(), "back".into());
    harness.api.put(edited);
    harness.api.advance(60 * SECOND).await;
    assert!(harness.api.slices("big").iter().all(|slice| tier(slice).as_deref() == Some("front")));
}

/// Tokens that a sync took and did not use.
#[tokio::test(start_paused = true)]
async fn a_plan_takes_no_more_tokens_than_its_sync_may_write() {
    let api = TestApi::default();
    api.limit(0.000_1, u32::try_from(MANY).unwrap());
    big(&api);
    let harness = Harness::start_small(&api);
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.requests().len(), MANY);
}

/// However many slices a plan needs. What was published before is still kept up to date.
#[tokio::test(start_paused = true)]
async fn many_slices_that_a_policy_takes_are_not_created_one_after_the_other() {
    let harness = big_in_sync(false).await;
    harness.api.mutate(|slice: &mut EndpointSlice| set_label(slice, MANAGED_BY, "them"));
    (0..MANY).for_each(|n| harness.api.pod(pod(&format!("big-{}", MANY + n), &format!("10.0.2.{n}"), true)));
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.requests().len(), 3);
    harness.api.mutate(|_| ());
    harness.api.remove::<Pod>("big-0");
    harness.api.advance(3 * SECOND).await;
    assert!(!harness.api.addresses("big").contains(&"10.0.1.0".to_owned()), "a pod that is gone");
    harness.api.advance(1000 * SECOND).await;
    assert_eq!(harness.api.addresses("big").len(), 2 * MANY - 1);
}

/// All refused deletions are retried with the back-off.
#[tokio::test(start_paused = true)]
async fn refused_deletions_back_off_and_stop_no_other_deletion() {
    let harness = big_in_sync(false).await;
    harness.api.refuse(usize::MAX);
    harness.api.remove::<endpointslice::Service>("big");
    harness.api.delegate("big");
    harness.api.advance(Duration::from_secs(60)).await;
    let requests = harness.api.requests();
    assert!(requests.len() <= 8 * MANY, "{} requests in a minute", requests.len());
    let different: BTreeSet<_> = requests.iter().collect();
    assert_eq!(different.len(), MANY, "each deletion was sent");
}

/// A sync deletes at most fifty slices of a delegated Service.
#[tokio::test(start_paused = true)]
async fn many_slices_of_a_delegated_service_are_deleted_in_several_syncs() {
    let harness = big_in_sync(false).await;
    harness.api.remove::<endpointslice::Service>("big");
    harness.api.delegate("big");
    harness.api.settle().await;
    assert_eq!((harness.api.requests().len(), harness.slice_count("big")), (MANY, 0));
}

/// A pod of a dual-stack Service with some of the families.
fn dual(name: &str, addresses: &[&str]) -> Value {
    controller_harness::pod(name, addresses, true)
}

fn dual_stack(api: &TestApi) {
    api.node("node-1", "zone-a");
    let families = json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}});
    api.service(service("web", families));
    api.pod(dual("web-1", &["10.0.0.1", "fd00::1"]));
}

/// Upstream doubles one delay for the whole Service, and drops the key after 15 retries.
#[tokio::test(start_paused = true)]
async fn a_refused_address_family_does_not_delay_the_other() {
    let harness = Harness::start(Duration::ZERO, dual_stack);
    harness.api.refuse_if(|slice| slice.address_type == "IPv4");
    harness.api.advance(Duration::from_secs(10_000)).await;
    assert_eq!(harness.api.addresses("web"), ["fd00::1"]);
    harness.api.refuse_if(|_| true);
    harness.api.pod(dual("web-2", &["fd00::2"]));
    harness.api.advance(Duration::from_millis(500)).await;
    harness.api.refuse_if(|slice| slice.address_type == "IPv4");
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["fd00::1", "fd00::2"]);
    harness.api.forget_requests();
    harness.api.advance(Duration::from_secs(10_000)).await;
    let again = count(&harness.api.requests(), "POST web-");
    assert!((9..=11).contains(&again), "{again} tries of the family that is refused, every 1000 s");
}

/// No turn of the family that is written is a failure of the one that is refused.
#[tokio::test(start_paused = true)]
async fn a_refused_address_family_comes_back_soon_though_the_other_takes_many_turns() {
    let api = TestApi::default();
    api.limit(20.0, 1);
    api.node("node-1", "zone-a");
    api.service(service("web", json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}})));
    for n in 0..MANY {
        api.pod(dual(&format!("web-{n}"), &[&format!("10.0.0.{n}"), &format!("fd00::{n}")]));
    }
    api.refuse_if(|slice: &EndpointSlice| slice.address_type == "IPv4");
    let harness = Harness::start_small(&api);
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.addresses("web").len(), MANY);
    harness.api.refuse_if(|_| false);
    harness.api.advance(60 * SECOND).await;
    assert_eq!(harness.api.addresses("web").len(), 2 * MANY);
}

/// The back-off belongs to the content that failed.
#[tokio::test(start_paused = true)]
async fn new_content_does_not_wait_for_the_backoff_of_the_old() {
    let harness = Harness::with_web(0).await;
    harness.api.refuse_if(|_| true);
    harness.api.pod(pod("web-1", "10.0.0.1", true));
    harness.api.advance(Duration::from_secs(10_000)).await;
    harness.api.pod(pod("web-2", "10.0.0.2", true));
    harness.api.advance(Duration::from_millis(500)).await;
    harness.api.refuse_if(|_| false);
    harness.api.settle().await;
    assert_eq!(harness.api.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

/// A slow watch of half a minute must not delay the retry of the next failure by 1000 s.
#[tokio::test(start_paused = true)]
async fn a_stale_cache_does_not_count_as_a_failure() {
    let harness = Harness::with_web(0).await;
    harness.api.hold_events();
    for n in 0..20 {
        harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true));
        harness.api.advance(Duration::from_secs(100)).await;
    }
    assert_eq!(count(&harness.api.requests(), "PUT web-1"), 1, "the cache doesn't show it");
    harness.api.refuse(1);
    harness.api.release_events();
    harness.api.advance(Duration::from_secs(2)).await;
    assert_eq!(harness.api.addresses("web").len(), 20);
    let syncs = harness.syncs();
    harness.api.advance(Duration::from_secs(5000)).await;
    assert_eq!(harness.syncs(), syncs, "the fallback requeues are cancelled");
}

/// A conflict waits for the event of the newer slice.
#[tokio::test(start_paused = true)]
async fn a_conflict_ends_with_the_event_of_the_newer_slice() {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.node("node-1", "zone-a");
        api.service(service("web", json!({})));
        api.pod(pod("web-0", "10.0.0.0", true));
    });
    harness.api.settle().await;
    for n in 1..12 {
        let mut newer = harness.api.slices("web").remove(0);
        newer.metadata.labels.get_or_insert_default().insert("round".to_owned(), n.to_string());
        let newer = harness.api.put_without_event(newer);
        harness.api.pod(pod(&format!("web-{n}"), &format!("10.0.0.{n}"), true));
        harness.api.advance(Duration::from_secs(100)).await;
        assert_eq!(harness.api.addresses("web").len(), n, "conflicts only");
        harness.api.put(newer);
        harness.api.advance(MOMENT).await;
        assert_eq!(harness.api.addresses("web").len(), n + 1, "round {n}");
    }
    assert_eq!(harness.api.events(), vec![]);
}

/// Services in sync, each with a pod on `node-1`, and one worker that syncs the initial keys.
async fn restarted(services: usize) -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| {
        api.node("node-1", "zone-a");
        for n in 0..services {
            api.service(service(&format!("web{n}"), json!({})));
            api.pod(pod(&format!("web{n}-1"), &format!("10.0.0.{n}"), true));
        }
    });
    harness.api.settle().await;
    Harness::start_small(&harness.end().await)
}

/// The Services of the updates, in order.
fn updated(harness: &Harness) -> Vec<String> {
    let slices = (0..100).flat_map(|n| {
        let service = format!("web{n}");
        let slices = harness.api.slices(&service).into_iter();
        slices.map(move |slice| (format!("PUT {}", slice.metadata.name.unwrap_or_default()), service.clone()))
    });
    let slices: std::collections::HashMap<String, String> = slices.collect();
    harness.api.requests().iter().filter_map(|request| slices.get(request).cloned()).collect()
}

#[tokio::test(start_paused = true)]
async fn readiness_changes_overtake_zone_changes_of_nodes() {
    let harness = restarted(40).await;
    harness.api.settle().await;
    harness.api.node("node-1", "zone-b");
    harness.api.pod(merged(pod("web7-1", "10.0.0.7", false), json!({})));
    harness.api.settle().await;
    let updated = updated(&harness);
    assert_eq!(updated.len(), 40);
    assert_eq!(updated[0], "web7");
}

/// The change is late already.
#[tokio::test(start_paused = true)]
async fn a_change_from_a_relist_is_synced_before_the_initial_keys() {
    let harness = restarted(40).await;
    tokio::task::yield_now().await; // the controller is attached, and no worker has begun
    harness.api.node("node-1", "zone-b"); // gives every Service something to write
    harness.api.upsert_listed::<Pod>(pod("web7-1", "10.0.0.7", false));
    harness.api.settle().await;
    let updated = updated(&harness);
    assert_eq!(updated.len(), 40);
    let at = updated.iter().position(|service| service == "web7").unwrap();
    assert!(at < 5, "web7 is number {at} of {updated:?}");
}
