use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn record(holder: &str, seconds: i32) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(seconds),
        acquire_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
        renew_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
        lease_transitions: Some(7),
        ..LeaseSpec::default()
    }
}

fn lease(spec: impl Into<Option<LeaseSpec>>) -> Lease {
    Lease { spec: spec.into(), ..Lease::default() }
}

const HOLD: Hold = Hold { annotation: "x/hold", released: "x/hold-released" };

fn observe(lease: &Lease, known: Option<&Observation>, now: Instant) -> Observation {
    Observation::new(lease.clone(), Some(HOLD), known, now)
}

/// A Lease with a record of 15 s and these annotations.
fn annotated(holder: &str, annotations: &[&str]) -> Lease {
    let annotations = annotations.iter().map(|&it| (it.to_owned(), "why".to_owned())).collect();
    let metadata = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
    Lease { metadata, ..lease(record(holder, 15)) }
}

fn later() -> Timestamp {
    Timestamp::from_microsecond(1_753_956_000_123_456).unwrap()
}

#[test]
fn renewing_keeps_the_term_and_taking_over_begins_one() {
    let renewed = held(Some(&record("a", 20)), "a", 15, later());
    let expected = LeaseSpec { renew_time: Some(MicroTime(later())), ..record("a", 15) };
    assert_eq!(renewed, expected);

    // The fields of coordinated leader election name the next holder; a takeover clears them.
    let assigned = LeaseSpec {
        strategy: Some("OldestEmulationVersion".to_owned()),
        preferred_holder: Some("c".to_owned()),
        ..record("b", 20)
    };
    let expected = LeaseSpec {
        acquire_time: Some(MicroTime(later())),
        renew_time: Some(MicroTime(later())),
        lease_transitions: Some(8),
        ..record("a", 15)
    };
    assert_eq!(held(Some(&assigned), "a", 15, later()), expected);
    let worn_out = LeaseSpec { lease_transitions: Some(i32::MAX), ..record("b", 1) };
    assert_eq!(held(Some(&worn_out), "a", 15, later()).lease_transitions, Some(i32::MAX));
    assert_eq!(held(Some(&LeaseSpec::default()), "a", 15, later()).lease_transitions, Some(1));
}

#[test]
fn a_lease_is_free_without_a_holder_and_ours_by_name() {
    let now = Instant::now();
    for (lease, claim) in [
        (lease(None), Claim::TakeOver),
        (lease(LeaseSpec::default()), Claim::TakeOver),
        (lease(record("", 15)), Claim::TakeOver),
        (lease(record("a", 15)), Claim::Renew),
        (lease(record("b", 15)), Claim::Wait(15 * SECOND)),
        (lease(record("b", 0)), Claim::Wait(SECOND)),
        (lease(record("b", i32::MIN)), Claim::Wait(SECOND)),
        (lease(record("b", i32::MAX)), Claim::Wait(Duration::from_secs(i32::MAX.unsigned_abs().into()))),
        (lease(LeaseSpec { lease_duration_seconds: None, ..record("b", 0) }), Claim::Wait(SECOND)),
    ] {
        assert_eq!(observe(&lease, None, now).claim("a", false, now), claim, "{lease:?}");
    }
    let ours = observe(&lease(record("a", 15)), None, now);
    assert_eq!(ours.claim("a", false, now + 100 * SECOND), Claim::Renew, "however old");
}

/// The age of a record begins when it is first seen; only the record counts, not the metadata.
#[test]
fn the_age_of_a_record_is_counted_by_our_clock() {
    let now = Instant::now();
    let first = observe(&lease(record("b", 15)), None, now);
    let mut labelled = lease(record("b", 15));
    labelled.metadata = ObjectMeta { resource_version: Some("9".to_owned()), ..ObjectMeta::default() };
    let second = observe(&labelled, Some(&first), now + 10 * SECOND);
    let claim = |known: &Observation, now| known.claim("a", false, now);
    assert_eq!(claim(&second, now + 10 * SECOND), Claim::Wait(5 * SECOND));
    assert_eq!(claim(&second, now + 15 * SECOND), Claim::TakeOver);
    assert_eq!(claim(&second, now - SECOND), Claim::Wait(15 * SECOND), "no panic");
    assert_eq!(
        second.lease().metadata.resource_version.as_deref(),
        Some("9"),
        "the version that an update must send"
    );

    let renewed = LeaseSpec { renew_time: Some(MicroTime(later())), ..record("b", 15) };
    let third = observe(&lease(renewed), Some(&second), now + 12 * SECOND);
    assert_eq!(claim(&third, now + 15 * SECOND), Claim::Wait(12 * SECOND));
}

/// A hold keeps a process from beginning to lead, whatever the record says, and ends no term.
#[test]
fn a_held_lease_is_acquired_by_no_process_and_kept_by_its_leader() {
    let now = Instant::now();
    let later = now + 100 * SECOND;
    for (holder, of_standby, of_leader) in [
        ("", Claim::Held, Claim::TakeOver),
        ("a", Claim::Renew, Claim::Renew),
        ("b", Claim::Held, Claim::TakeOver),
    ] {
        let held = observe(&annotated(holder, &["x/hold"]), None, now);
        assert_eq!(held.hold(), Some("why"));
        assert_eq!(held.claim("a", false, later), of_standby, "{holder:?}");
        assert_eq!(held.claim("a", true, later), of_leader, "{holder:?}");
        for annotations in [&["x/hold", "x/hold-released"][..], &["x/hold-released"], &["other"], &[]] {
            let released = observe(&annotated(holder, annotations), None, now);
            assert_eq!(
                (released.hold(), released.claim("a", false, later)),
                (None, of_leader),
                "{annotations:?}"
            );
        }
    }
    let other = observe(&annotated("b", &["x/hold"]), None, now);
    assert_eq!(other.claim("a", true, now), Claim::Wait(15 * SECOND), "another leads already");
    let unaware = Observation::new(annotated("", &["x/hold"]), None, None, now);
    assert_eq!(unaware.claim("a", false, now), Claim::TakeOver, "an election without holds");
}

/// The program for which the Lease is held may write until the release: only since then does no other.
#[test]
fn a_held_lease_is_not_vacant() {
    let now = Instant::now();
    let at = |seconds: u32| now + seconds * SECOND;
    let held = observe(&annotated("", &["x/hold"]), None, now);
    assert_eq!(held.vacant_since(at(1)), None);
    let held = observe(&annotated("", &["x/hold"]), Some(&held), at(20));
    let released = observe(&annotated("", &["x/hold", "x/hold-released"]), Some(&held), at(22));
    assert_eq!(released.vacant_since(at(22)), Some(at(22)));
    let same = observe(&annotated("", &["x/hold", "x/hold-released"]), Some(&released), at(24));
    assert_eq!(same.vacant_since(at(24)), Some(at(22)));
    let expired = observe(&annotated("b", &["x/hold"]), None, now);
    let released = observe(&annotated("b", &[]), Some(&expired), at(40));
    assert_eq!(released.vacant_since(at(40)), Some(at(40)), "it expired before");
    assert_eq!(released.claim("a", false, at(40)), Claim::TakeOver, "and is not waited for again");
}

prop_compose! {
    fn any_record()(
        holder in proptest::option::of("[ab]?"),
        seconds in proptest::option::of(-2..20),
        renewed in proptest::option::of(0..3_i64),
        transitions in proptest::option::of(any::<i32>()),
    ) -> LeaseSpec {
        LeaseSpec {
            holder_identity: holder,
            lease_duration_seconds: seconds,
            renew_time: renewed.map(|second| MicroTime(Timestamp::from_second(second).unwrap())),
            lease_transitions: transitions,
            ..LeaseSpec::default()
        }
    }
}

proptest! {
    /// A Lease of another holder is taken only after it was seen unchanged for its whole duration.
    #[test]
    fn a_held_lease_is_taken_only_after_its_duration(
        reads in proptest::collection::vec((any_record(), 0..12_000_u64), 1..20),
    ) {
        let mut now = Instant::now();
        let mut known: Option<Observation> = None;
        let (mut unchanged_since, mut last) = (now, None);
        for (spec, wait) in reads {
            now += Duration::from_millis(wait);
            if last.as_ref() != Some(&spec) {
                (unchanged_since, last) = (now, Some(spec.clone()));
            }
            let observation = observe(&lease(spec.clone()), known.as_ref(), now);
            let claim = observation.claim("a", false, now);
            let holder = spec.holder_identity.as_deref().unwrap_or_default();
            let duration = u64::try_from(spec.lease_duration_seconds.unwrap_or(1)).unwrap_or(1).max(1) * 1000;
            let age = u64::try_from((now - unchanged_since).as_millis()).unwrap();
            let expected = match holder {
                "" => Claim::TakeOver,
                "a" => Claim::Renew,
                _ if age >= duration => Claim::TakeOver,
                _ => Claim::Wait(Duration::from_millis(duration - age)),
            };
            prop_assert_eq!(claim, expected);
            known = Some(observation);
        }
    }
}
