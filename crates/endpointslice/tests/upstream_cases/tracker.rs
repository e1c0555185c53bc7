//! Counterparts of `util/endpointslice_tracker_test.go`.

use endpointslice::well_known::SERVICE_NAME;
use endpointslice::{SliceState, SliceTracker};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A slice of a Service, as the API server returns it.
#[derive(Clone, Copy)]
struct Slice {
    namespace: &'static str,
    service: &'static str,
    uid: &'static str,
    generation: i64,
}

const SLICE: Slice = Slice { namespace: "shop", service: "web", uid: "a", generation: 3 };
const NEWER: Slice = Slice { generation: 4, ..SLICE };
const ELSEWHERE: Slice = Slice { namespace: "elsewhere", uid: "b", ..SLICE };
const OTHER_SERVICE: Slice = Slice { service: "other", uid: "c", ..SLICE };

impl Slice {
    fn object(self) -> EndpointSlice {
        EndpointSlice {
            metadata: ObjectMeta {
                namespace: Some(self.namespace.to_owned()),
                labels: Some([(SERVICE_NAME.to_owned(), self.service.to_owned())].into()),
                uid: Some(self.uid.to_owned()),
                generation: Some(self.generation),
                ..ObjectMeta::default()
            },
            ..EndpointSlice::default()
        }
    }

    fn state(self) -> SliceState {
        SliceState { generation: self.generation, version: 0 }
    }

    fn known(self, tracker: &SliceTracker) -> bool {
        tracker.has(self.namespace, self.service, self.uid)
    }

    fn asks_for_sync(self, tracker: &SliceTracker) -> bool {
        tracker.should_sync(self.namespace, self.service, self.uid, self.state())
    }

    fn gone(self, tracker: &mut SliceTracker) -> bool {
        tracker.gone(self.namespace, self.service, self.uid)
    }
}

fn after_write(slice: Slice) -> SliceTracker {
    let mut tracker = SliceTracker::default();
    tracker.written(&slice.object());
    tracker
}

fn is_stale(tracker: &SliceTracker, cached: &[Slice]) -> bool {
    tracker.is_stale("shop", "web", 0, cached.iter().map(|slice| (slice.uid, slice.state())))
}

#[test]
fn the_echo_of_a_write_asks_for_no_sync() {
    let tracker = after_write(SLICE);
    for (what, slice, known, sync) in [
        ("our own write", SLICE, true, false),
        ("an older state", Slice { generation: 2, ..SLICE }, true, false),
        ("somebody's later write", NEWER, true, true),
        ("another namespace", ELSEWHERE, false, true),
        ("another Service", OTHER_SERVICE, false, true),
    ] {
        assert_eq!((slice.known(&tracker), slice.asks_for_sync(&tracker)), (known, sync), "{what}");
    }
}

#[test]
fn when_the_cache_is_stale() {
    let deleted = || {
        let mut tracker = after_write(SLICE);
        tracker.deleted(&SLICE.object());
        tracker
    };
    let forgotten = {
        let mut tracker = after_write(SLICE);
        SLICE.gone(&mut tracker);
        tracker
    };
    for (what, tracker, cached, stale) in [
        ("nothing written, nothing cached", SliceTracker::default(), &[][..], false),
        ("a slice we never wrote", SliceTracker::default(), &[SLICE], false),
        ("the slice went, as noticed", forgotten, &[], false),
        ("cached as written", after_write(SLICE), &[SLICE], false),
        ("cached before our write", after_write(NEWER), &[SLICE], true),
        ("cached after somebody's write", after_write(SLICE), &[NEWER], false),
        ("still cached although deleted", deleted(), &[SLICE], true),
        ("deleted and gone", deleted(), &[], false),
        ("written but not cached", after_write(SLICE), &[], true),
        ("another one is cached", after_write(SLICE), &[OTHER_SERVICE], true),
        ("written for another Service", after_write(OTHER_SERVICE), &[], false),
    ] {
        assert_eq!(is_stale(&tracker, cached), stale, "{what}");
    }
}

/// What is deleted, what is asked about: is it known, does it ask for a sync, and was the end of the first slice
/// expected?
#[test]
fn an_expected_deletion() {
    for (what, deleted, asked, known, sync, expected) in [
        ("the slice itself", SLICE, SLICE, true, true, true),
        ("another namespace", ELSEWHERE, ELSEWHERE, true, true, false),
        ("another namespace, first asked", ELSEWHERE, SLICE, true, false, false),
        ("another Service", OTHER_SERVICE, OTHER_SERVICE, true, true, false),
        ("another Service, first asked", OTHER_SERVICE, SLICE, true, false, false),
        ("a newer state", NEWER, NEWER, true, true, true),
        ("a newer state, first asked", NEWER, SLICE, true, true, true),
    ] {
        let mut tracker = after_write(SLICE);
        tracker.deleted(&deleted.object());
        assert_eq!((asked.known(&tracker), asked.asks_for_sync(&tracker)), (known, sync), "{what}");
        assert_eq!(SLICE.gone(&mut tracker), expected, "{what}");
        assert!(!SLICE.known(&tracker));
    }
    assert!(SLICE.gone(&mut SliceTracker::default()), "the end of an unknown slice surprises nobody");
}

/// Not upstream's, which forgets such a Service: it may have been given to another controller, and then its slices are to
/// be deleted in the version that was written.
#[test]
fn slices_that_may_go_are_still_known() {
    let mut tracker = after_write(NEWER);
    tracker.let_go("shop", "web");
    assert!(is_stale(&tracker, &[SLICE]) && !NEWER.asks_for_sync(&tracker));
    assert!(NEWER.gone(&mut tracker) && !NEWER.known(&tracker), "its end is expected");
    let mut tracker = after_write(NEWER);
    tracker.let_go("shop", "web");
    tracker.seen("shop", "web", NEWER.uid, NEWER.state());
    assert!(!NEWER.gone(&mut tracker), "found again, its end is not");
}

#[test]
fn a_service_is_forgotten() {
    for (namespace, service, known) in
        [("shop", "web", false), ("elsewhere", "web", true), ("shop", "other", true)]
    {
        let mut tracker = after_write(SLICE);
        tracker.forget_service(namespace, service);
        assert_eq!(
            (SLICE.known(&tracker), SLICE.asks_for_sync(&tracker)),
            (known, !known),
            "{namespace}/{service}"
        );
    }
}

/// Not upstream's: annotations, owner references and finalizers change without a new generation.
#[test]
fn a_change_that_leaves_the_generation_alone_is_noticed() {
    let mut tracker = SliceTracker::default();
    let mut written = SLICE.object();
    written.metadata.resource_version = Some("70".into());
    tracker.written(&written);
    let state = |version| SliceState { version, ..SLICE.state() };
    let sync = |tracker: &SliceTracker, version| tracker.should_sync("shop", "web", "a", state(version));
    assert_eq!([69, 70, 71].map(|version| sync(&tracker, version)), [false, false, true]);
    let stale = |version| tracker.is_stale("shop", "web", 0, [("a", state(version))]);
    assert_eq!([69, 70, 71].map(stale), [true, false, false]);
    tracker.seen("shop", "web", "a", state(71));
    assert_eq!([71, 72].map(|version| sync(&tracker, version)), [false, true], "a sync has looked at 71");
}

/// Not upstream's: a write that the cache must have seen is not waited for, whatever became of its slice.
#[test]
fn a_cache_that_has_seen_the_write_is_never_stale() {
    let mut tracker = SliceTracker::default();
    let mut written = SLICE.object();
    written.metadata.resource_version = Some("70".into());
    tracker.written(&written);
    let stale = |observed| tracker.is_stale("shop", "web", observed, []);
    assert!(stale(0) && stale(69), "it may still come");
    assert!(!stale(70) && !stale(71), "somebody deleted it meanwhile");
}
