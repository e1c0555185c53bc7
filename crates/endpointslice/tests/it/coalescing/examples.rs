//! The rules one by one, and trigger times.

use std::time::Duration;

use endpointslice::coalescing::{HeldBack, Waiting};
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::api::core::v1::PodReadinessGate;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::LONGEST;
use crate::support::{Cluster, NO_WRITES, PodExt, pod, writes};

const AT: fn(u64) -> Duration = Duration::from_secs;

/// A cluster with one slice of two ready pods and one of two others, and nothing that waits.
fn two_slices() -> (Cluster, Waiting) {
    let mut cluster = Cluster::with_pods(4);
    cluster.place(0..2);
    cluster.place(2..4);
    cluster.trigger_time = None;
    assert_eq!(cluster.sync(), NO_WRITES);
    (cluster, Waiting::default())
}

fn sync_at(cluster: &mut Cluster, waiting: &mut Waiting, now: u64) -> (usize, HeldBack) {
    let (writes, held) = cluster.sync_deferring(waiting, AT(now));
    (writes.total(), held)
}

/// The trigger time of the slice that has a pod.
fn trigger_time(cluster: &Cluster, pod: &str) -> Option<String> {
    let has = |slice: &&EndpointSlice| {
        let targets =
            slice.endpoints.iter().flatten().filter_map(|it| it.target_ref.as_ref()?.name.as_deref());
        { targets }.any(|name| name == pod)
    };
    let slice = cluster.slices.iter().find(has).expect("the pod is published");
    slice.metadata.annotations.as_ref()?.get(LAST_CHANGE_TRIGGER_TIME).cloned()
}

#[test]
fn a_pod_that_is_replaced_costs_two_writes() {
    let (mut cluster, mut waiting) = two_slices();
    let mut total = 0;
    let mut step = |cluster: &mut Cluster, now| {
        let (writes, _) = sync_at(cluster, &mut waiting, now);
        total += writes;
        total
    };
    cluster.pods.push(pod(9).ready(false));
    assert_eq!(step(&mut cluster, 1), 0, "it appears");
    cluster.pods[4].set_ready(true);
    assert_eq!(step(&mut cluster, 2), 1, "it becomes ready");
    cluster.pods[0].set_terminating();
    assert_eq!(step(&mut cluster, 3), 2, "the old one is no longer ready");
    cluster.pods[0].set_ready(false);
    assert_eq!(step(&mut cluster, 4), 2, "the old one stops serving");
    cluster.pods.remove(0);
    assert_eq!(step(&mut cluster, 5), 2, "the old one is gone");
    cluster.pods[0].set_ready(false);
    assert_eq!(step(&mut cluster, 6), 3, "another pod of the slice");
    assert!(cluster.plan().is_empty(), "it was written along");
}

#[test]
fn a_change_that_finds_no_company_is_written_after_5_s() {
    let (mut cluster, mut waiting) = two_slices();
    cluster.pods[0].set_terminating();
    assert_eq!(sync_at(&mut cluster, &mut waiting, 0).0, 1);
    cluster.pods[0].set_ready(false);
    let (made, held) = sync_at(&mut cluster, &mut waiting, 1);
    assert_eq!((made, held.deferred, held.expired), (0, 1, 0));
    assert_eq!(waiting.deadline(LONGEST), Some(AT(6)));
    cluster.pods.remove(0);
    cluster.pods[1].set_terminating();
    cluster.pods[2].set_ready(false);
    let (made, held) = sync_at(&mut cluster, &mut waiting, 4);
    assert_eq!((made, held.deferred, held.expired), (1, 0, 0), "the other slice alone is urgent");
    assert_eq!(waiting.deadline(LONGEST), Some(AT(6)), "the first change decides");
    let (made, held) = sync_at(&mut cluster, &mut waiting, 6);
    assert_eq!((made, held.deferred, held.expired), (1, 0, 1));
    assert!(waiting.is_empty() && cluster.plan().is_empty());
}

/// Slices that would be created or deleted for soft changes alone.
#[test]
fn new_and_empty_slices_wait_too() {
    let (mut cluster, mut waiting) = two_slices();
    cluster.max = 2;
    cluster.pods.push(pod(9).ready(false));
    assert_eq!(sync_at(&mut cluster, &mut waiting, 0).0, 0);
    for old in &mut cluster.pods[..2] {
        old.set_terminating();
    }
    assert_eq!(cluster.sync_deferring(&mut waiting, AT(1)).0, writes(0, 1, 0));
    cluster.pods.drain(..2);
    assert_eq!(sync_at(&mut cluster, &mut waiting, 2).0, 0);
    assert_eq!(cluster.slices.len(), 2);
    cluster.pods.pop();
    assert_eq!(cluster.plan().types[0].delete.len(), 1);
    assert_eq!(sync_at(&mut cluster, &mut waiting, 3).0, 0);
    assert_eq!(cluster.sync_deferring(&mut waiting, AT(7)).0, writes(0, 0, 1));
}

/// A case in which everything is written at once, and the change that makes it so.
type Case = (&'static str, fn(&mut Cluster));

#[test]
fn what_may_decide_about_traffic_is_written_at_once() {
    let cases: [Case; 11] = [
        ("headless", |it| it.spec().cluster_ip = Some("None".into())),
        ("not-ready addresses are published", |it| it.spec().publish_not_ready_addresses = Some(true)),
        ("the Service is being deleted", |it| {
            it.service.metadata.deletion_timestamp.clone_from(&it.pods[0].metadata.deletion_timestamp);
        }),
        ("no other endpoint is ready", |it| it.pods.iter_mut().skip(1).for_each(|pod| pod.set_ready(false))),
        ("another pod has the address", |it| {
            let mut twin = pod(7);
            twin.set_addresses(&["10.1.0.0"]);
            it.pods.push(twin);
        }),
        ("pods have readiness gates", |it| {
            it.pods[3].edit().1.readiness_gates =
                Some(vec![PodReadinessGate { condition_type: "lb".into() }]);
        }),
        ("Local", |it| it.spec().internal_traffic_policy = Some("Local".into())),
        ("Local from outside", |it| it.spec().external_traffic_policy = Some("Local".into())),
        ("zones", |it| it.spec().traffic_distribution = Some("PreferSameZone".into())),
        ("UDP", |it| it.spec().ports.as_mut().unwrap()[0].protocol = Some("UDP".into())),
        ("the node of a pod is unknown", |it| it.pods.push(pod(8).on_node("node-x"))),
    ];
    for (case, change) in cases {
        let (mut cluster, mut waiting) = two_slices();
        cluster.pods[0].set_terminating();
        change(&mut cluster);
        cluster.sync();
        cluster.pods[0].set_ready(false);
        assert_eq!(sync_at(&mut cluster, &mut waiting, 0).0, 1, "{case}");
        assert!(waiting.is_empty(), "{case}");
    }
}

#[test]
fn a_change_that_waited_dates_the_write_that_carries_it() {
    let time = |second: u32| Some(format!("2026-01-01T00:00:{second:02}Z"));
    let (mut cluster, mut waiting) = two_slices();
    let mut step = |cluster: &mut Cluster, now: u32| {
        cluster.trigger_time = time(now);
        sync_at(cluster, &mut waiting, now.into()).0
    };
    cluster.pods[0].set_terminating();
    assert_eq!(step(&mut cluster, 10), 1);
    cluster.pods[0].set_ready(false);
    assert_eq!(step(&mut cluster, 11), 0);
    cluster.pods[3].set_ready(false);
    assert_eq!(step(&mut cluster, 12), 1);
    assert_eq!(trigger_time(&cluster, "pod-3"), time(12), "nothing has waited for this slice");
    cluster.pods[1].set_ready(false);
    assert_eq!(step(&mut cluster, 13), 1);
    assert_eq!(trigger_time(&cluster, "pod-0"), time(11), "the change of pod-0 has waited");
}

#[test]
fn a_change_that_became_urgent_has_its_own_time() {
    let time = |second: u32| Some(format!("2026-01-01T00:00:{second:02}Z"));
    let (mut cluster, mut waiting) = two_slices();
    cluster.pods.push(pod(9).ready(false));
    cluster.trigger_time = time(10);
    assert_eq!(sync_at(&mut cluster, &mut waiting, 10).0, 0);
    cluster.pods[4].set_ready(true);
    cluster.trigger_time = time(12);
    assert_eq!(sync_at(&mut cluster, &mut waiting, 12).0, 1);
    assert_eq!(trigger_time(&cluster, "pod-9"), time(12), "the pod is ready since then");
}

#[test]
fn the_times_of_a_plan_that_failed_are_kept() {
    let (mut cluster, waiting) = two_slices();
    cluster.pods[0].set_terminating();
    cluster.sync();
    cluster.pods[0].set_ready(false);
    let hold = |cluster: &Cluster, waiting: &Waiting, now| {
        let mut plan = cluster.plan();
        let writes = cluster.planned_writes(&plan);
        waiting.hold_back(&mut plan, writes, AT(now), LONGEST, None)
    };
    let first = hold(&cluster, &waiting, 0).waiting;
    let due = hold(&cluster, &first, 5);
    assert!(due.waiting.is_empty() && due.expired == 1);
    let kept = due.waiting.or_earlier(first.clone());
    assert_eq!(kept, first, "the write failed");
    assert_eq!(hold(&cluster, &kept, 6).expired, 1, "the next sync tries again at once");
}
