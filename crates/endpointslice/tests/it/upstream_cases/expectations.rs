//! Counterparts of `util/endpointslice_tracker_test.go`.

use endpointslice::Expectations;
use endpointslice::expectations::{ObjectVersion, Removal};
use endpointslice::model::{ResourceVersion, Uid};

/// Namespace and name of a Service.
type Key = (&'static str, &'static str);

/// A slice of a Service, as the API server returns it.
#[derive(Clone, Copy)]
struct Slice {
    service: Key,
    uid: &'static str,
    generation: i64,
}

const WEB: Key = ("shop", "web");
const SLICE: Slice = Slice { service: WEB, uid: "a", generation: 3 };
const NEWER: Slice = Slice { generation: 4, ..SLICE };
const OTHER_NAMESPACE: Slice = Slice { service: ("elsewhere", "web"), uid: "b", ..SLICE };
const OTHER_SERVICE: Slice = Slice { service: ("shop", "other"), uid: "c", ..SLICE };

impl Slice {
    fn uid(self) -> Uid {
        self.uid.into()
    }

    fn version(self) -> ObjectVersion {
        ObjectVersion { generation: self.generation, resource_version: ResourceVersion::default() }
    }

    fn is_known(self, expectations: &Expectations<Key>) -> bool {
        expectations.contains(&self.service, &self.uid())
    }

    fn is_foreign(self, expectations: &Expectations<Key>) -> bool {
        expectations.is_foreign(&self.service, &self.uid(), self.version())
    }

    fn remove(self, expectations: &mut Expectations<Key>) -> Removal {
        expectations.removed(&self.service, &self.uid())
    }

    fn delete(self, expectations: &mut Expectations<Key>) {
        expectations.expect_deleted(self.service, self.uid());
    }
}

fn after_write(slice: Slice) -> Expectations<Key> {
    let mut expectations = Expectations::default();
    expectations.expect(slice.service, slice.uid(), slice.version());
    expectations
}

fn is_stale(expectations: &Expectations<Key>, cached: &[Slice]) -> bool {
    expectations.is_stale(&WEB, Some(0), cached.iter().map(|slice| (slice.uid(), slice.version())))
}

#[test]
fn the_event_of_our_own_write_is_not_foreign() {
    let expectations = after_write(SLICE);
    for (case, slice, known, foreign) in [
        ("our own write", SLICE, true, false),
        ("an older state", Slice { generation: 2, ..SLICE }, true, false),
        ("a later write of another client", NEWER, true, true),
        ("another namespace", OTHER_NAMESPACE, false, true),
        ("another Service", OTHER_SERVICE, false, true),
    ] {
        assert_eq!(
            (slice.is_known(&expectations), slice.is_foreign(&expectations)),
            (known, foreign),
            "{case}"
        );
    }
}

#[test]
fn a_cache_that_lacks_our_write_is_stale() {
    let deleted = || {
        let mut expectations = after_write(SLICE);
        SLICE.delete(&mut expectations);
        expectations
    };
    let removed = {
        let mut expectations = after_write(SLICE);
        SLICE.remove(&mut expectations);
        expectations
    };
    for (case, expectations, cached, stale) in [
        ("nothing written, nothing cached", Expectations::default(), &[][..], false),
        ("a slice we never wrote", Expectations::default(), &[SLICE], false),
        ("the slice was removed, as noticed", removed, &[], false),
        ("cached as written", after_write(SLICE), &[SLICE], false),
        ("cached before our write", after_write(NEWER), &[SLICE], true),
        ("cached after another client's write", after_write(SLICE), &[NEWER], false),
        ("still cached although deleted", deleted(), &[SLICE], true),
        ("deleted and no longer cached", deleted(), &[], false),
        ("written but not cached", after_write(SLICE), &[], true),
        ("another one is cached", after_write(SLICE), &[OTHER_SERVICE], true),
        ("written for another Service", after_write(OTHER_SERVICE), &[], false),
    ] {
        assert_eq!(is_stale(&expectations, cached), stale, "{case}");
    }
}

/// Of each deletion: is the slice asked about known, is it foreign, and was the removal of the first slice expected?
#[test]
fn the_removal_of_a_deleted_slice_is_expected() {
    use Removal::{Expected, Unexpected};
    for (case, deleted, asked, known, foreign, removal) in [
        ("the slice itself", SLICE, SLICE, true, true, Expected),
        ("another namespace", OTHER_NAMESPACE, OTHER_NAMESPACE, true, true, Unexpected),
        ("another namespace, first asked", OTHER_NAMESPACE, SLICE, true, false, Unexpected),
        ("another Service", OTHER_SERVICE, OTHER_SERVICE, true, true, Unexpected),
        ("another Service, first asked", OTHER_SERVICE, SLICE, true, false, Unexpected),
        ("a newer state", NEWER, NEWER, true, true, Expected),
        ("a newer state, first asked", NEWER, SLICE, true, true, Expected),
    ] {
        let mut expectations = after_write(SLICE);
        deleted.delete(&mut expectations);
        assert_eq!(
            (asked.is_known(&expectations), asked.is_foreign(&expectations)),
            (known, foreign),
            "{case}"
        );
        assert_eq!(SLICE.remove(&mut expectations), removal, "{case}");
        assert!(!SLICE.is_known(&expectations));
    }
    assert_eq!(
        SLICE.remove(&mut Expectations::default()),
        Expected,
        "nothing is expected of an unknown slice"
    );
}

/// Not upstream's, which forgets such a Service: it may have been given to another controller, and then its slices are to
/// be deleted in the version that was written.
#[test]
fn slices_that_may_be_removed_are_still_expected() {
    let mut expectations = after_write(NEWER);
    expectations.allow_removal(&WEB);
    assert!(is_stale(&expectations, &[SLICE]) && !NEWER.is_foreign(&expectations));
    assert_eq!(NEWER.remove(&mut expectations), Removal::Expected);
    assert!(!NEWER.is_known(&expectations));
    let mut expectations = after_write(NEWER);
    expectations.allow_removal(&WEB);
    expectations.observe(&WEB, NEWER.uid(), NEWER.version());
    assert_eq!(NEWER.remove(&mut expectations), Removal::Unexpected, "it was observed again");
}

#[test]
fn only_the_given_service_is_forgotten() {
    for (service, known) in [(WEB, false), (("elsewhere", "web"), true), (("shop", "other"), true)] {
        let mut expectations = after_write(SLICE);
        expectations.wait(WEB);
        expectations.forget(&service);
        assert_eq!(
            (SLICE.is_known(&expectations), SLICE.is_foreign(&expectations), expectations.wake(&WEB)),
            (known, !known, known),
            "{service:?}"
        );
    }
}

/// Not upstream's: annotations, owner references and finalizers change without a new generation.
#[test]
fn a_change_without_a_new_generation_is_noticed() {
    let mut expectations = Expectations::default();
    let version = |number: u64| ObjectVersion {
        resource_version: number.to_string().as_str().into(),
        ..SLICE.version()
    };
    expectations.expect(WEB, SLICE.uid(), version(70));
    let foreign = |expectations: &Expectations<Key>, number| {
        expectations.is_foreign(&WEB, &SLICE.uid(), version(number))
    };
    assert_eq!([69, 70, 71].map(|number| foreign(&expectations, number)), [false, false, true]);
    let stale = |number| expectations.is_stale(&WEB, Some(0), [(SLICE.uid(), version(number))]);
    assert_eq!([69, 70, 71].map(stale), [true, false, false]);
    expectations.observe(&WEB, SLICE.uid(), version(71));
    assert_eq!(
        [71, 72].map(|number| foreign(&expectations, number)),
        [false, true],
        "a sync has observed 71"
    );
}

/// Not upstream's: a write that the cache must have seen is not waited for, whatever became of its slice.
#[test]
fn a_cache_that_has_seen_the_version_written_is_never_stale() {
    let mut expectations = Expectations::default();
    expectations.expect(WEB, SLICE.uid(), ObjectVersion { resource_version: "70".into(), ..SLICE.version() });
    let stale = |observed| expectations.is_stale(&WEB, Some(observed), []);
    assert!(stale(0) && stale(69), "the event may still arrive");
    assert!(!stale(70) && !stale(71), "another client deleted the slice");
}

/// Not upstream's: after a restore, the versions of the cache are those of another history, and may be higher.
#[test]
fn after_a_restore_only_the_version_written_will_do() {
    let mut expectations = Expectations::default();
    let version = |number: u64| ObjectVersion {
        resource_version: number.to_string().as_str().into(),
        ..SLICE.version()
    };
    expectations.expect(WEB, SLICE.uid(), version(70));
    let stale = |number| expectations.is_stale(&WEB, None, [(SLICE.uid(), version(number))]);
    assert_eq!([69, 70, 71].map(stale), [true, false, true]);
    assert!(expectations.is_stale(&WEB, None, []));
}

/// Not upstream's: such versions don't come from an API server.
#[test]
fn versions_that_are_no_numbers_are_foreign_if_they_differ_and_never_waited_for() {
    let mut expectations = Expectations::default();
    let version = |text: &str| ObjectVersion { generation: 0, resource_version: text.into() };
    expectations.expect(WEB, SLICE.uid(), version("b"));
    let foreign = |text| expectations.is_foreign(&WEB, &SLICE.uid(), version(text));
    assert_eq!(["a", "b", "7"].map(foreign), [true, false, true]);
    assert!(!expectations.is_stale(&WEB, Some(0), [(SLICE.uid(), version("a"))]));
}
