//! Tests of [`terms`](super::terms) with a made-up audit log.

use jiff::Timestamp;
use jiff::ToSpan as _;
use serde_json::Value;
use serde_json::json;
use tests::audit::Request;
use tests::manager::LeaderElection;

use super::fixture::LEASE_NAMESPACE;
use super::terms::of;

/// A write that takes 100 ms.
fn write(by: &str, second: i64, resource: &str, body: Value) -> Request {
    let received = Timestamp::from_second(second).unwrap();
    Request {
        verb: "update".to_owned(),
        resource: resource.to_owned(),
        namespace: String::new(),
        name: LeaderElection::LEASE.to_owned(),
        user: String::new(),
        user_agent: format!("{by}/1"),
        code: 200,
        body: Some(body),
        received,
        answered: received + 100.milliseconds(),
    }
}

fn record(holder: &str, seconds: i64, transitions: i64, acquired: i64, renewed: i64) -> Value {
    let time = |second| format!("{}", Timestamp::from_second(second).unwrap());
    json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": transitions,
        "acquireTime": time(acquired), "renewTime": time(renewed)}})
}

fn lease(by: &str, second: i64, transitions: i64, acquired: i64) -> Request {
    write(by, second, "leases", record(by, 7, transitions, acquired, second))
}

fn release(by: &str, second: i64, transitions: i64) -> Request {
    write(by, second, "leases", record("", 1, transitions, second, second))
}

fn slice(by: &str, second: i64) -> Request {
    write(by, second, "endpointslices", json!({}))
}

/// A write that the API server refuses, which is a breach as well.
fn refused_slice(by: &str, second: i64) -> Request {
    Request { code: 409, ..slice(by, second) }
}

fn event(by: &str, second: i64, namespace: &str) -> Request {
    Request { namespace: namespace.to_owned(), ..write(by, second, "events", json!({})) }
}

#[test]
fn terms_follow_each_other_after_a_crash_and_a_release() {
    // Broken off before its body was read, as when the process exits.
    let broken_off = Request { code: 500, body: None, ..slice("one", 16) };
    // Begun before the process froze, and completed when it continued.
    let completed_late = Request { answered: Timestamp::from_second(16).unwrap(), ..slice("one", 4) };
    let event = event("one", 16, LEASE_NAMESPACE);
    let refused = Request { code: 409, ..lease("one", 16, 0, 0) };
    let terms = of(&[
        lease("one", 0, 0, 0),
        slice("one", 1),
        lease("one", 2, 0, 0),
        slice("one", 3),
        completed_late,
        lease("two", 9, 1, 9),
        slice("two", 10),
        release("two", 11, 1),
        lease("three", 12, 2, 12),
        broken_off,
        event,
        refused,
    ])
    .unwrap();
    let seen: Vec<_> =
        terms.iter().map(|term| (term.by.as_str(), term.from.as_second(), term.released)).collect();
    let eleven = Timestamp::from_second(11).ok();
    assert_eq!(seen, [("one", 0, None), ("two", 9, eleven), ("three", 12, None)]);
    assert_eq!(terms[0].first_write.map(Timestamp::as_second), Some(1));
    assert_eq!(terms[2].first_write, None);
}

#[test]
fn every_breach_is_found() {
    let (one, two) = (lease("one", 0, 0, 0), lease("two", 8, 1, 8));
    let breaches = [
        (vec![slice("one", 0)], "did not lead"),
        (vec![one.clone(), slice("two", 1)], "did not lead"),
        (vec![one.clone(), event("two", 1, "shop")], "did not lead"),
        (vec![one.clone(), two.clone(), slice("one", 9)], "did not lead"),
        (vec![one.clone(), two.clone(), slice("one", 8)], "did not lead"),
        (vec![one.clone(), two.clone(), slice("two", 7)], "did not lead"),
        (vec![one.clone(), slice("one", 1), release("one", 1, 0)], "did not lead"),
        (vec![one.clone(), two.clone(), refused_slice("one", 9)], "did not lead"),
        (vec![one.clone(), lease("two", 6, 1, 6)], "might lead"),
        (vec![one.clone(), lease("one", 5, 0, 0), two], "might lead"),
        (vec![one.clone(), lease("two", 8, 0, 8)], "not how a term begins"),
        (vec![one.clone(), lease("two", 8, 1, 7)], "not how a term begins"),
        (vec![one.clone(), release("two", 1, 0)], "might lead"),
        (vec![one.clone(), lease("one", 1, 1, 0)], "not a renewal"),
        (vec![one.clone(), lease("one", 1, 0, 1)], "not a renewal"),
        (vec![one, release("one", 1, 1)], "not a release"),
    ];
    for (requests, expected) in breaches {
        let breach = of(&requests).unwrap_err();
        assert!(breach.contains(expected), "{expected}: {breach}");
    }
}
