use super::*;

/// Counterpart of upstream's `TestStaleEndpointsTracker`, by the version written instead of the one replaced.
#[test]
fn a_cache_is_behind_until_it_shows_what_was_written() {
    let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "db"));
    let mut tracker = Tracker::default();
    assert!(!tracker.is_behind(&key, Some("7".into()), Some(0)), "nothing was written");
    tracker.wrote(&key, "uid".into(), "8".into(), false);
    assert!(tracker.is_behind(&key, Some("7".into()), Some(0)), "the version before");
    assert!(tracker.is_behind(&key, None, Some(7)), "not even created");
    assert!(!tracker.is_behind(&key, Some("8".into()), Some(0)), "ours");
    assert!(!tracker.is_behind(&key, Some("9".into()), Some(0)), "another client's after ours");
    assert!(!tracker.is_behind(&key, None, Some(8)), "created and gone again");
    assert!(!tracker.is_behind(&other, Some("7".into()), Some(0)), "another object");
    let after_a_restore = |shown: &str| tracker.is_behind(&key, Some(shown.into()), None);
    assert_eq!(["7", "8", "9"].map(after_a_restore), [true, false, true]);
    assert_eq!(["7", "8", "9"].map(|version| tracker.is_foreign(&key, version.into())), [false, false, true]);
    tracker.gone(&key, "7".into());
    assert!(tracker.is_behind(&key, None, Some(7)), "that was the one before ours");
    tracker.gone(&key, "8".into());
    assert!(!tracker.is_behind(&key, None, Some(7)), "ours is gone");
    tracker.wrote(&key, "uid".into(), "9".into(), false);
    assert_eq!(tracker.forget(&key, Instant::now()), None);
    assert!(!tracker.is_behind(&key, Some("7".into()), Some(0)), "forgotten");
}

/// Reads and removes the record of a deleted Service, as a sync does.
fn take_orphan(tracker: &mut Tracker, key: &ObjectKey, uid: &Uid) -> Option<Orphan> {
    let found = tracker.orphan_of(key, Some((uid, "1".into())), Some(1), Instant::now());
    let orphan = found.and_then(|(orphan, verdict)| (verdict == Verdict::Delete).then(|| orphan.clone()));
    tracker.adopt(key);
    orphan
}

/// Endpoints are deleted with their Service, a deposed leader creates them again, and only then the response to our
/// deletion of the first arrives: a conflict.
#[test]
fn a_failed_deletion_replaces_no_newer_record() {
    let key = ObjectKey::new("ns", "web");
    let of = |uid: &str| Orphan { uid: Some(uid.into()), ..Orphan::default() };
    let mut tracker = Tracker::default();
    tracker.orphan(&key, of("first"));
    let taken = take_orphan(&mut tracker, &key, &"first".into()).unwrap();
    tracker.orphan(&key, of("second"));
    tracker.put_back(&key, taken.clone());
    assert_eq!(take_orphan(&mut tracker, &key, &"second".into()), Some(of("second")));
    tracker.put_back(&key, taken);
    assert_eq!(
        take_orphan(&mut tracker, &key, &"first".into()),
        Some(of("first")),
        "nothing else was recorded"
    );
}

#[test]
fn a_deleted_service_leaves_no_record_but_a_late_create() {
    let key = ObjectKey::new("ns", "web");
    let (mut tracker, now) = (Tracker::default(), Instant::now());
    tracker.wait(&key);
    assert!(tracker.forget(&key, now).is_none() && !tracker.wake(&key));
    tracker.unanswered(&key);
    tracker.wait(&key);
    assert_eq!(tracker.forget(&key, now), Some(LATE), "it may appear");
    let second = Duration::from_secs(1);
    assert_eq!(
        tracker.forget(&key, now + second),
        Some(Duration::from_secs(599)),
        "whatever wakes the key meanwhile"
    );
    assert!(tracker.waiting.contains(&key));
    assert!(tracker.forget(&key, now + LATE).is_none() && !tracker.wake(&key), "it has not");
    tracker.unanswered(&key);
    tracker.synced(&key);
    assert_eq!(tracker.forget(&key, now), None, "another write was answered");
    let Tracker { written, lists: _, waiting, unanswered, orphaned, deleted, started_at: _ } = tracker;
    assert!(written.is_empty() && waiting.is_empty() && unanswered.is_empty());
    assert!(orphaned.is_empty() && deleted.is_empty());
}

/// The state of an object that was written in version 8, in a list.
#[test]
fn a_completed_list_ends_the_expectations_of_earlier_writes() {
    let key = ObjectKey::new("ns", "web");
    for (shown, due, what) in [
        (None, true, "gone, or undone"),
        (Some("7"), true, "undone"),
        (Some("8"), false, "ours"),
        (Some("9"), false, "another client's after ours, which had its event"),
    ] {
        let mut tracker = Tracker::default();
        tracker.wrote(&key, "uid".into(), "8".into(), false);
        tracker.list_begins();
        let keys = tracker.listed(|_| shown.map(ResourceVersion::from));
        assert_eq!(
            (keys.contains(&key), tracker.is_behind(&key, shown.map(ResourceVersion::from), Some(0))),
            (due, false),
            "{what}"
        );
        assert_eq!(tracker.is_foreign(&key, "8".into()), shown != Some("8"), "{what}");
    }
}

#[test]
fn a_completed_list_wakes_all_keys_and_keeps_expectations_of_later_writes() {
    let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "db"));
    let mut tracker = Tracker::default();
    tracker.list_begins();
    tracker.wrote(&key, "uid".into(), "8".into(), false);
    tracker.wait(&key);
    tracker.wait(&other);
    let mut woken = tracker.listed(|_| None);
    woken.sort();
    assert_eq!(woken, [other, key.clone()], "to look");
    assert!(tracker.is_behind(&key, None, Some(7)) && !tracker.wake(&key));
    tracker.list_begins();
    tracker.list_begins();
    assert_eq!(tracker.listed(|_| None), std::slice::from_ref(&key), "the next one ends it");
    assert!(!tracker.is_behind(&key, None, Some(7)));
}

/// A deletion whose event never comes, because a restored backup has undone it.
#[test]
fn a_deleted_object_that_a_later_list_shows_is_to_be_deleted_again() {
    let key = ObjectKey::new("ns", "web");
    let mut tracker = Tracker::default();
    tracker.list_begins();
    tracker.deleted(&key, "a".into());
    assert!(tracker.listed(|_| Some("7".into())).is_empty(), "the list may be older");
    tracker.list_begins();
    assert_eq!(tracker.listed(|_| Some("7".into())), std::slice::from_ref(&key));
    assert!(take_orphan(&mut tracker, &key, &"a".into()).is_some_and(|orphan| orphan.listed));
    for event in [true, false] {
        tracker.deleted(&key, "a".into());
        if event {
            tracker.gone(&key, "7".into());
        }
        tracker.list_begins();
        assert!(tracker.listed(|_| event.then(|| "9".into())).is_empty(), "it is gone: {event}");
    }
    assert!(tracker.deleted.is_empty() && tracker.orphaned.is_empty());
}

#[test]
fn versions_that_cannot_be_ordered_are_never_stale() {
    let key = ObjectKey::new("ns", "web");
    let mut tracker = Tracker::default();
    tracker.wrote(&key, "uid".into(), "b".into(), false);
    assert!(!tracker.is_behind(&key, Some("a".into()), Some(0)));
}
