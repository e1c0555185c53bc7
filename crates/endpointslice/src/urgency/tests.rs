use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::EndpointConditions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;
use crate::plan::{AddressTypePlan, PlanStatistics};

/// An endpoint `NAME:CONDITIONS`, or `NAME@HOSTNAME:CONDITIONS`: `r` is ready, `s` serving, `t` terminating.
fn endpoint(text: &str) -> Endpoint {
    let (name, conditions) = text.split_once(':').unwrap();
    let (name, hostname) = name.split_once('@').map_or((name, None), |(name, host)| (name, Some(host)));
    let has = |condition| Some(conditions.contains(condition));
    let target_ref = ObjectReference { name: Some(name.into()), ..ObjectReference::default() };
    Endpoint {
        addresses: vec![format!("10.0.0.{name}")],
        conditions: Some(EndpointConditions { ready: has('r'), serving: has('s'), terminating: has('t') }),
        hostname: hostname.map(Into::into),
        target_ref: Some(target_ref),
        ..Endpoint::default()
    }
}

/// A slice `NAME PORT ENDPOINT...`, or `NAME/UID PORT ENDPOINT...` with the uid of its owner.
fn slice(text: &str) -> EndpointSlice {
    let mut words = text.split_whitespace();
    let mut slice = EndpointSlice { address_type: "IPv4".into(), ..EndpointSlice::default() };
    let name = words.next().unwrap();
    let (name, uid) = name.split_once('/').map_or((name, None), |(name, uid)| (name, Some(uid)));
    slice.metadata.name = Some(name.into());
    slice.metadata.owner_references = uid.map(|uid| {
        vec![OwnerReference { controller: Some(true), uid: uid.into(), ..OwnerReference::default() }]
    });
    if text.starts_with("headless") {
        slice.metadata.labels = Some(BTreeMap::from([(HEADLESS.to_owned(), String::new())]));
    }
    let port = words.next().map(|port| SlicePort { port: port.parse().ok(), ..SlicePort::default() });
    slice.ports = port.map(|port| vec![port]);
    slice.endpoints = Some(words.map(endpoint).collect());
    slice
}

/// The urgency of a change from `stored` to `wanted`, both lists of slices: those of a new name are created.
fn of(stored: &[&str], wanted: &[&str]) -> Urgency {
    let (plan, stored) = planned(stored, wanted);
    let up_to_date = [PortSet::of(&slice("up-to-date 9"))];
    urgency(&plan, &stored, |_| &up_to_date)
}

/// The plan of that change, and the slices `stored`.
fn planned(stored: &[&str], wanted: &[&str]) -> (SlicePlan, Vec<EndpointSlice>) {
    let (stored, wanted) = (stored.iter().copied().map(slice), wanted.iter().copied().map(slice));
    let (stored, wanted): (Vec<_>, Vec<_>) = (stored.collect(), wanted.collect());
    let find = |list: &[EndpointSlice], it: &EndpointSlice| {
        list.iter().find(|other| name_of(other) == name_of(it)).cloned()
    };
    let is_new = |slice: &&EndpointSlice| find(&stored, slice).is_none();
    let changes = |slice: &&EndpointSlice| find(&stored, slice).is_some_and(|old| old != **slice);
    let plan = AddressTypePlan {
        address_type: AddressType::Ipv4,
        create: wanted.iter().filter(is_new).cloned().collect(),
        update: wanted.iter().filter(changes).cloned().collect(),
        delete: stored.iter().filter(|slice| find(&wanted, slice).is_none()).cloned().collect(),
        withdrawals: BTreeSet::new(),
        creates_suppressed: false,
        statistics: PlanStatistics::default(),
        topology: None,
        tolerated: vec![],
    };
    (SlicePlan { types: vec![plan], delete_if_unchanged: vec![] }, stored)
}

#[test]
fn updates_that_withdraw_endpoints_come_first() {
    let stored = ["a 80 1:rs 2:rs", "b 80 3:rs", "c 80 4:rs", "d 80 5:rs", "e 80 6:rs"];
    // The endpoint 2 moves to another slice, which is not a withdrawal; 4 is not ready any more, and 6 is gone.
    let wanted = ["a 80 1:rs", "b 80 3:rs 2:rs", "c 80 4:", "d 80 5:rs 7:rs", "e 80 8:rs"];
    let (mut plan, stored) = planned(&stored, &wanted);
    withdrawals_first(&mut plan, &stored, false, |_| []);
    let order: Vec<&str> = plan.types[0].update.iter().map(name_of).collect();
    assert_eq!(order, ["c", "e", "a", "b", "d"]);
}

#[test]
fn withdrawals_that_depend_on_no_other_write_come_before_everything_else() {
    for (stored, wanted, expected) in [
        (&["a 80 1:rs", "b 80 2:rs"][..], &["a 80 1:", "b 80 2:rs 3:rs"][..], &["a"][..]),
        (&["a 80 1:rs", "b 80 2:rs"], &["b 80 2:rs 3:rs"], &["a"]),
        (&["a 80 1:rs 2:rs"], &["a 80 2:rs 3:rs", "new 80 4:rs"], &["a"]),
        // The endpoint 2 moves, so that its slice is written later.
        (&["a 80 1:rs 2:rs", "b 80 3:rs"], &["a 80 ", "b 80 3:rs 2:rs"], &[]),
        (&["a 80 1:rs 2:rs", "b 80 3:rs"], &["b 80 3:rs 2:rs"], &[]),
        // Another pod has its address.
        (&["a 80 1@x:rs", "b 80 2:rs"], &["b 80 2:rs 1@y:rs"], &[]),
        // The port changes.
        (&["a 80 1:rs", "b 80 2:rs"], &["c 81 1:rs", "d 81 2:rs"], &[]),
        // Consumers would see no ready endpoint before the new one.
        (&["a 80 1:rs"], &["a 80", "new 80 2:rs"], &[]),
        (&["a 80 1:rs", "b 80 2:"], &["b 80 2:rs"], &[]),
        // By the name of the port: its number differs.
        (&["a 80 1:rs", "b 81 2:"], &["b 81 2:rs"], &[]),
        (&["headless 80 1:rs", "b 81 2:"], &["b 81 2:rs"], &[]),
        // By the host name.
        (&["a 80 1@db:rs", "b 80 2:rs"], &["b 80 2:rs 3@db:rs"], &[]),
        (&["a 80 1:rs", "b 81 2:rs"], &["b 81 2:rs", "new 80 3:rs"], &["a"]),
        (&["a 80 1:rs", "b 80 2:rs"], &["b 80 2:"], &["a", "b"]),
    ] {
        let (mut plan, stored) = planned(stored, wanted);
        withdrawals_first(&mut plan, &stored, false, |_| []);
        let withdrawals: Vec<&String> = plan.types[0].withdrawals.iter().collect();
        assert_eq!(withdrawals, expected, "{plan:?}");
    }
    // A slice that was left out of `stored` has the port under another number.
    let (mut plan, stored) = planned(&["a 80 1:rs"], &["a 80", "new 80 2:rs"]);
    let up_to_date = [PortSet::of(&slice("up-to-date 81"))];
    withdrawals_first(&mut plan, &stored, false, |_| &up_to_date);
    assert_eq!(plan.types[0].withdrawals.len(), 1);
    withdrawals_first(&mut plan, &stored, true, |_| &up_to_date);
    assert!(plan.types[0].withdrawals.is_empty(), "of a Service with a local policy");
}

#[test]
fn the_most_urgent_change_of_a_plan_counts() {
    use Urgency::{First, Metadata, Name, Readiness, Soft, Withdrawal};
    for (stored, wanted, expected) in [
        // An endpoint that had traffic.
        (&["a 80 1:rs 2:rs"][..], &["a 80 1:rs 2:"][..], Withdrawal),
        (&["a 80 1:rs 2:rs"], &["a 80 1:rs 2:st"], Withdrawal),
        (&["a 80 1:rs 2:st"], &["a 80 1:rs 2:t"], Withdrawal),
        (&["a 80 1:rs 2:st"], &["a 80 1:rs"], Withdrawal),
        (&["a 80 1:rs 2:rs"], &["a 80 1:rs 3:rs"], Withdrawal),
        (&["a 80 1:rs"], &[], Withdrawal),
        (&["a 80 1:rs"], &["a 81 1:rs"], Withdrawal),
        // It moves to another slice.
        (&["a 80 1:rs 2:rs", "b 80 3:rs"], &["a 80 1:rs", "b 80 3:rs 2:rs"], Metadata),
        (&["a 80 1:rs 2:rs"], &["a 80 1:rs", "b 80 2:rs"], Metadata),
        (&["a 80 1:rs", "b 80 2:rs"], &["a 80 1:rs 2:rs"], Metadata),
        // The first of its port set.
        (&[], &["a 80 1:rs"], First),
        (&["a 80 1:"], &["a 80 1:rs"], First),
        (&["a 80 1:rs"], &["a 80 1:rs", "b 81 1:rs"], First),
        (&["a 80 1:rs", "b 80 2:"], &["a 80 1:rs", "b 80 2:rs"], Readiness),
        (&["a 80 1:rs"], &["a 80 1:rs 2:rs"], Readiness),
        (&["b 9 2:"], &["b 9 2:rs"], Readiness),
        // The first of its name.
        (&["a 80 1@etcd-0:rs"], &["a 80 1@etcd-0:rs 2@etcd-1:rs"], Name),
        (&["a 80 1@etcd-0:rs"], &["a 80 1@etcd-0:rs 2@etcd-0:rs"], Readiness),
        (&["headless 80 1:"], &["headless 80 1:rs"], Name),
        (&["headless 80 1:rs"], &["headless 80 1:rs 2:rs"], Readiness),
        // The garbage collector deletes the slices of the owner A, also one that has not been updated yet.
        (&["a/A 80 1:rs"], &["b/B 80 1:rs"], First),
        (&["a/A 80 1:rs"], &["a/B 80 1:rs"], First),
        (&["a/A 80 1@etcd-0:rs"], &["b/B 80 1@etcd-0:rs"], Name),
        (&["a/A 80 1:rs", "b/B 80 2:rs"], &["b/B 80 1:rs 2:rs"], Readiness),
        (&["a/A 80 1:rs 2:rs"], &["b/B 80 1:rs"], Withdrawal),
        (&["a/A 80 1:"], &["b/B 80 1:"], Soft),
        (&["a/A 80"], &["b/B 80"], Metadata),
        // No traffic.
        (&["a 80 1:rs"], &["a 80 1:rs 2:"], Soft),
        (&["a 80 1:rs 2:"], &["a 80 1:rs"], Soft),
        (&["a 80 1:rs 2:t"], &["a 80 1:rs"], Soft),
        (&[], &["a 80"], Metadata),
        (&["a 80"], &[], Metadata),
    ] {
        assert_eq!(of(stored, wanted), expected, "{stored:?} -> {wanted:?}");
    }
}

#[test]
fn slices_of_another_address_type_are_soft() {
    let delete_if_unchanged = vec![slice("a 80 1:rs")];
    let plan = SlicePlan { types: vec![], delete_if_unchanged };
    assert_eq!(urgency(&plan, &[] as &[EndpointSlice], |_| []), Urgency::Soft);
}

#[test]
fn urgencies_are_named_in_their_order() {
    let all = [
        Urgency::Withdrawal,
        Urgency::Name,
        Urgency::First,
        Urgency::Readiness,
        Urgency::Soft,
        Urgency::Metadata,
    ];
    assert!(all.is_sorted());
    let names = all.map(|urgency| Urgency::NAMES[urgency.level()]);
    assert_eq!(names, all.map(|urgency| format!("{urgency:?}").to_lowercase()));
}
