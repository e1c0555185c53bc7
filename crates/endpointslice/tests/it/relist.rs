//! A complete list ends the wait for all writes acknowledged before it began. Upstream has no such end and waits for the
//! event of a write for ever.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::Expectations;
use endpointslice::expectations::{Difference, ObjectVersion};
use endpointslice::model::Uid;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const SERVICES: [&str; 2] = ["web", "db"];
const UIDS: [&str; 4] = ["a", "b", "c", "d"];

/// Service and uid of a slice.
type Slice = (&'static str, &'static str);

/// Generation and resourceVersion.
type Version = (i64, u64);

/// The slices that a list shows.
type Shown = BTreeMap<Slice, Version>;

#[derive(Clone, Copy, Debug)]
enum Step {
    Written(Slice, Version),
    Deleted(Slice),
    Observed(Slice, Version),
    Removed(Slice),
}

fn any_slice() -> impl Strategy<Value = Slice> {
    (prop::sample::select(&SERVICES[..]), prop::sample::select(&UIDS[..]))
}

fn any_version() -> impl Strategy<Value = Version> {
    (1..4_i64, 1..6_u64)
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any_slice(), any_version()).prop_map(|(slice, version)| Step::Written(slice, version)),
        2 => any_slice().prop_map(Step::Deleted),
        1 => (any_slice(), any_version()).prop_map(|(slice, version)| Step::Observed(slice, version)),
        1 => any_slice().prop_map(Step::Removed),
    ]
}

fn version((generation, number): Version) -> ObjectVersion {
    ObjectVersion { generation, resource_version: number.to_string().as_str().into() }
}

fn apply(expectations: &mut Expectations<&'static str>, step: Step) {
    match step {
        Step::Written((service, uid), written) => expectations.expect(service, uid.into(), version(written)),
        Step::Deleted((service, uid)) => expectations.expect_deleted(service, uid.into()),
        Step::Observed((service, uid), found) => expectations.observe(&service, uid.into(), version(found)),
        Step::Removed((service, uid)) => drop(expectations.removed(&service, &uid.into())),
    }
}

fn apply_all(expectations: &mut Expectations<&'static str>, steps: impl IntoIterator<Item = Step>) {
    for step in steps {
        apply(expectations, step);
    }
}

/// Completes a list, and gives the Services that differ from it.
fn complete(
    expectations: &mut Expectations<&'static str>,
    shown: &Shown,
) -> BTreeMap<&'static str, Difference> {
    let find = |service: &&str, uid: &Uid| {
        let mut slices = shown.iter().filter(|((of, other), _)| of == service && Uid::from(*other) == *uid);
        slices.next().map(|(_, found)| version(*found))
    };
    expectations.relist_completed(find).differing.into_iter().collect()
}

/// The Services for which a cache that shows these slices is stale.
fn stale(expectations: &Expectations<&'static str>, shown: &Shown) -> BTreeSet<&'static str> {
    let is_stale = |service: &&'static str| {
        let cached = shown.iter().filter(|((of, _), _)| of == service);
        expectations.is_stale(
            service,
            Some(0),
            cached.map(|((_, uid), found)| ((*uid).into(), version(*found))),
        )
    };
    SERVICES.into_iter().filter(is_stale).collect()
}

proptest! {
    /// Every expectation from before a list agrees with it, and the Services for which it didn't are named, once.
    #[test]
    fn nothing_from_before_a_complete_list_is_waited_for(
        before in vec(any_step(), 0..12),
        shown in btree_map(any_slice(), any_version(), 0..8),
    ) {
        let mut expectations = Expectations::default();
        apply_all(&mut expectations, before);
        let waiting = stale(&expectations, &shown);
        expectations.relist_begins();
        let named: BTreeSet<&str> = complete(&mut expectations, &shown).into_keys().collect();
        prop_assert!(named.is_superset(&waiting), "{waiting:?} wait, {named:?} are named");
        prop_assert_eq!(stale(&expectations, &shown), BTreeSet::new());
        expectations.relist_begins();
        prop_assert_eq!(complete(&mut expectations, &shown), BTreeMap::new(), "once");
    }

    /// A write during a list is waited for as if there were no list.
    #[test]
    fn a_write_during_a_list_outlives_it(
        before in vec(any_step(), 0..12),
        during in vec(any_step(), 1..12),
        shown in btree_map(any_slice(), any_version(), 0..8),
    ) {
        let during = || during.iter().copied().filter(|step| matches!(step, Step::Written(..) | Step::Deleted(_)));
        let mut alone = Expectations::default();
        apply_all(&mut alone, during());
        let mut expectations = Expectations::default();
        apply_all(&mut expectations, before);
        expectations.relist_begins();
        apply_all(&mut expectations, during());
        complete(&mut expectations, &shown);
        prop_assert_eq!(stale(&expectations, &shown), stale(&alone, &shown));
    }
}

#[test]
fn a_list_names_the_services_with_differences() {
    use Difference::{Lost, Newer};
    let (slice, before) = (("web", "a"), Step::Written(("web", "a"), (3, 30)));
    for (case, step, shown, difference) in [
        ("as written", before, Some((3, 30)), None),
        ("missing", before, None, Some(Lost)),
        ("as it was before", before, Some((2, 20)), Some(Lost)),
        (
            "another client's, in the same generation, after ours was undone",
            before,
            Some((3, 40)),
            Some(Newer),
        ),
        ("as observed", Step::Observed(slice, (3, 30)), Some((3, 30)), None),
        ("older than observed", Step::Observed(slice, (3, 30)), Some((2, 20)), Some(Lost)),
        ("deleted and missing", Step::Deleted(slice), None, None),
        ("deleted and there", Step::Deleted(slice), Some((3, 30)), Some(Newer)),
    ] {
        let mut expectations = Expectations::default();
        apply(&mut expectations, step);
        expectations.relist_begins();
        let shown: Shown = shown.map(|found| (slice, found)).into_iter().collect();
        assert_eq!(complete(&mut expectations, &shown).get("web"), difference.as_ref(), "{case}");
        assert_eq!(
            expectations.contains(&"web", &"a".into()),
            !shown.is_empty(),
            "{case}: from now on, the list is expected"
        );
        assert_eq!(expectations.keys().count(), shown.len(), "{case}");
    }
}

#[test]
fn removal_with_consent_is_no_difference() {
    let mut expectations = Expectations::default();
    apply(&mut expectations, Step::Written(("web", "a"), (3, 30)));
    expectations.allow_removal(&"web");
    expectations.relist_begins();
    assert_eq!(complete(&mut expectations, &Shown::new()), BTreeMap::new());
}

#[test]
fn a_list_ends_every_wait_once() {
    let mut expectations = Expectations::default();
    expectations.wait("web");
    expectations.wait("db");
    assert!(expectations.wake(&"db") && !expectations.wake(&"db"));
    expectations.relist_begins();
    assert_eq!(expectations.relist_completed(|_, _| None).waiting, ["web"]);
    assert!(!expectations.wake(&"web"));
}

/// The watch event of the accepted version is not a foreign change, and a list that lost it is noticed.
#[test]
fn an_accepted_version_is_expected_like_a_written_one() {
    let mut expectations = Expectations::default();
    let uid = Uid::from("a");
    assert!(!expectations.accept(&"web", &uid, version((1, 1)), version((1, 2))), "nothing is known");
    expectations.expect("web", uid.clone(), version((1, 1)));
    assert!(!expectations.accept(&"web", &uid, version((1, 2)), version((1, 3))), "version 2 was not seen");
    assert!(expectations.accept(&"web", &uid, version((1, 1)), version((1, 2))));
    assert!(!expectations.is_foreign(&"web", &uid, version((1, 2))));
    assert!(expectations.is_foreign(&"web", &uid, version((1, 3))));
    assert!(expectations.is_stale(&"web", Some(0), [(uid.clone(), version((1, 1)))]));
    expectations.relist_begins();
    let relisted = expectations.relist_completed(|_, _| Some(version((1, 1))));
    assert_eq!(relisted.differing, [("web", Difference::Lost)]);
}
