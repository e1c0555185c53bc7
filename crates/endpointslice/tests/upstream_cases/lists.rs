//! Not upstream's: what a tracker makes of a list. Upstream waits for the event of a write for ever.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::well_known::SERVICE_NAME;
use endpointslice::{SliceState, SliceTracker};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const SERVICES: [&str; 2] = ["web", "db"];
const UIDS: [&str; 4] = ["a", "b", "c", "d"];

type Uid = (&'static str, &'static str);

/// Generation and version of each slice that a list shows.
type Shown = BTreeMap<Uid, (i64, u64)>;

#[derive(Clone, Copy, Debug)]
enum Note {
    Written(Uid, i64, u64),
    Deleted(Uid),
    Seen(Uid, i64, u64),
    Gone(Uid),
}

fn any_uid() -> impl Strategy<Value = Uid> {
    (prop::sample::select(&SERVICES[..]), prop::sample::select(&UIDS[..]))
}

fn any_note() -> impl Strategy<Value = Note> {
    let state = || (any_uid(), 1..4_i64, 1..6_u64);
    prop_oneof![
        3 => state().prop_map(|(uid, generation, version)| Note::Written(uid, generation, version)),
        2 => any_uid().prop_map(Note::Deleted),
        1 => state().prop_map(|(uid, generation, version)| Note::Seen(uid, generation, version)),
        1 => any_uid().prop_map(Note::Gone),
    ]
}

fn slice((service, uid): Uid, generation: i64, version: u64) -> EndpointSlice {
    let metadata = ObjectMeta {
        namespace: Some("shop".to_owned()),
        labels: Some([(SERVICE_NAME.to_owned(), service.to_owned())].into()),
        uid: Some(uid.to_owned()),
        generation: Some(generation),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    EndpointSlice { metadata, ..EndpointSlice::default() }
}

fn state_of((generation, version): (i64, u64)) -> SliceState {
    SliceState { generation, version }
}

fn apply(tracker: &mut SliceTracker, note: Note) {
    match note {
        Note::Written(uid, generation, version) => tracker.written(&slice(uid, generation, version)),
        Note::Deleted(uid) => tracker.deleted(&slice(uid, 0, 0)),
        Note::Seen((service, uid), generation, version) => {
            tracker.seen("shop", service, uid, SliceState { generation, version });
        }
        Note::Gone((service, uid)) => drop(tracker.gone("shop", service, uid)),
    }
}

fn apply_all(tracker: &mut SliceTracker, notes: impl IntoIterator<Item = Note>) {
    for note in notes {
        apply(tracker, note);
    }
}

fn listed(tracker: &mut SliceTracker, shown: &Shown) -> BTreeSet<String> {
    let find = |_: &str, service: &str, uid: &str| {
        shown.iter().find(|((s, u), _)| (*s, *u) == (service, uid)).map(|(_, state)| state_of(*state))
    };
    tracker.listed(find).into_iter().map(|(_, service)| service).collect()
}

/// The Services for which the cache, showing this, counts as behind.
fn stale(tracker: &SliceTracker, shown: &Shown) -> BTreeSet<String> {
    let is_stale = |service: &&str| {
        let cached = shown.iter().filter(|((s, _), _)| s == service);
        tracker.is_stale("shop", service, 0, cached.map(|((_, uid), state)| (*uid, state_of(*state))))
    };
    SERVICES.into_iter().filter(is_stale).map(ToOwned::to_owned).collect()
}

proptest! {
    /// Whatever was noted before a list is level with it, and the Services for which it was not are named, once.
    #[test]
    fn after_a_list_nothing_that_was_noted_before_it_is_waited_for(
        before in vec(any_note(), 0..12),
        shown in btree_map(any_uid(), (1..4_i64, 1..6_u64), 0..8),
    ) {
        let mut tracker = SliceTracker::default();
        apply_all(&mut tracker, before);
        let behind = stale(&tracker, &shown);
        tracker.list_begins();
        let named = listed(&mut tracker, &shown);
        prop_assert!(named.is_superset(&behind), "{behind:?} wait, {named:?} are named");
        prop_assert_eq!(stale(&tracker, &shown), BTreeSet::new());
        tracker.list_begins();
        prop_assert_eq!(listed(&mut tracker, &shown), BTreeSet::new(), "once");
    }

    /// What is written while a list is under way is waited for as if there were no list.
    #[test]
    fn what_is_written_during_a_list_outlives_it(
        before in vec(any_note(), 0..12),
        during in vec(any_note(), 1..12),
        shown in btree_map(any_uid(), (1..4_i64, 1..6_u64), 0..8),
    ) {
        let during = || during.iter().copied().filter(|note| matches!(note, Note::Written(..) | Note::Deleted(_)));
        let mut alone = SliceTracker::default();
        apply_all(&mut alone, during());
        let mut tracker = SliceTracker::default();
        apply_all(&mut tracker, before);
        tracker.list_begins();
        apply_all(&mut tracker, during());
        listed(&mut tracker, &shown);
        prop_assert_eq!(stale(&tracker, &shown), stale(&alone, &shown));
    }
}

#[test]
fn which_services_a_list_concerns() {
    let (uid, before) = (("web", "a"), Note::Written(("web", "a"), 3, 30));
    for (what, note, shown, named) in [
        ("as written", before, Some((3, 30)), false),
        ("not there", before, None, true),
        ("as it was before", before, Some((2, 20)), true),
        ("somebody's, in the same generation, after ours was undone", before, Some((3, 40)), true),
        ("as it was found", Note::Seen(uid, 3, 30), Some((3, 30)), false),
        ("older than it was found", Note::Seen(uid, 3, 30), Some((2, 20)), true),
        ("deleted and gone", Note::Deleted(uid), None, false),
        ("deleted and there", Note::Deleted(uid), Some((3, 30)), true),
    ] {
        let mut tracker = SliceTracker::default();
        apply(&mut tracker, note);
        tracker.list_begins();
        let shown: Shown = shown.map(|state| (uid, state)).into_iter().collect();
        assert_eq!(listed(&mut tracker, &shown).contains("web"), named, "{what}");
        assert_eq!(
            tracker.has("shop", "web", "a"),
            !shown.is_empty(),
            "{what}: as the list has it from now on"
        );
        assert_eq!(tracker.services().count(), shown.len(), "{what}");
    }
}
