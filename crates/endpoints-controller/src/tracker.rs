//! What we wrote, and the cache may not show yet.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::ResourceVersion;
use tokio::time::Instant;

/// How long an object may take to appear in the cache after a create of it: longer than any request, and than most gaps
/// of a watch.
pub(crate) const LATE: Duration = Duration::from_secs(600);

/// Knows the last version of each object that this process wrote, and which keys wait for the cache to catch up.
///
/// A sync on a cache that is behind our own write would undo or repeat it (`endpoints_tracker.go`; upstream compares
/// with the version *before* an update and doesn't track creates, hence a Warning for each create that is repeated).
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    written: HashMap<ObjectKey, Write>,
    /// How many lists have begun.
    lists: u64,
    waiting: HashSet<ObjectKey>,
    /// Keys whose Service was seen to go, or missing at the start, and that were not synced since.
    orphaned: HashMap<ObjectKey, Orphan>,
    /// Creates that failed, though they may have been stored: the object may yet appear.
    unanswered: HashMap<ObjectKey, Unanswered>,
}

#[derive(Debug)]
struct Unanswered {
    /// How many lists had begun when the create failed.
    lists: u64,
    /// When the Service was first found to be gone.
    gone_since: Option<Instant>,
}

#[derive(Debug)]
struct Write {
    uid: String,
    version: ResourceVersion,
    /// How many lists had begun when it was acknowledged.
    lists: u64,
}

/// What a Service leaves behind when it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orphan {
    /// The one object that goes with it; if none was seen, the one that shows first.
    pub(crate) uid: Option<Box<str>>,
    /// The Service had a selector when it was last seen.
    pub(crate) selected: bool,
}

impl Tracker {
    /// The API server stored our write of this object in this version.
    pub(crate) fn wrote(&mut self, key: &ObjectKey, uid: String, version: ResourceVersion) {
        self.written.insert(key.clone(), Write { uid, version, lists: self.lists });
    }

    /// A create failed, perhaps after it was stored.
    pub(crate) fn unanswered(&mut self, key: &ObjectKey) {
        self.unanswered.insert(key.clone(), Unanswered { lists: self.lists, gone_since: None });
    }

    /// The object is as the Service wants it.
    pub(crate) fn settled(&mut self, key: &ObjectKey) {
        self.unanswered.remove(key);
    }

    /// Whether an object of this key may be a create of ours whose answer was lost.
    pub(crate) fn may_be_late(&self, key: &ObjectKey) -> bool {
        self.unanswered.contains_key(key)
    }

    /// True if the cache shows an older object than we wrote, or none, and has not seen that it is gone either.
    ///
    /// `observed` is the resourceVersion up to which everything that happened is in the cache. Versions that aren't
    /// numbers can't be ordered; then the API server decides, by a conflict.
    pub(crate) fn is_behind(&self, key: &ObjectKey, cached: Option<ResourceVersion>, observed: u64) -> bool {
        let shown = cached.and_then(ResourceVersion::number).unwrap_or_default().max(observed);
        let written = self.written.get(key).and_then(|written| written.version.number());
        written.is_some_and(|written| shown < written)
    }

    /// The object is gone; this is the last version the cache showed. If that was as new as our write, there is nothing
    /// to wait for.
    pub(crate) fn gone(&mut self, key: &ObjectKey, last: ResourceVersion) {
        if !self.is_behind(key, Some(last), 0) {
            self.written.remove(key);
        }
    }

    /// True unless this version is our own write coming back, or older than that.
    pub(crate) fn is_foreign(&self, key: &ObjectKey, version: ResourceVersion) -> bool {
        self.written.get(key).is_none_or(|written| match (written.version.number(), version.number()) {
            (Some(written), Some(version)) => written < version,
            _ => written.version != version,
        })
    }

    /// The next event of the object shall wake this key.
    pub(crate) fn wait(&mut self, key: &ObjectKey) {
        self.waiting.insert(key.clone());
    }

    /// There was an event of the object; returns whether it was waited for.
    pub(crate) fn wake(&mut self, key: &ObjectKey) -> bool {
        self.waiting.remove(key)
    }

    /// A list is going to be asked for. It will hold what was written until now.
    pub(crate) fn list_begins(&mut self) {
        self.lists += 1;
    }

    /// The list that began last is complete: what it does not show, although it was written before it began, will never
    /// be shown. Returns the keys that waited, and those whose object is gone or older than it was written, of which no
    /// event may tell. Something newer is somebody else's, and its event has told of it.
    pub(crate) fn listed(&mut self, shown: impl Fn(&ObjectKey) -> Option<ResourceVersion>) -> Vec<ObjectKey> {
        let mut due: Vec<ObjectKey> = self.waiting.drain().collect();
        self.unanswered.retain(|_, create| create.lists == self.lists);
        self.written.retain(|key, written| {
            if written.lists == self.lists {
                return true;
            }
            let shown = shown(key);
            if shown.is_none_or(|shown| shown.number() < written.version.number()) {
                due.push(key.clone());
            }
            shown == Some(written.version)
        });
        due
    }

    /// The Service is gone: what it leaves behind goes too, whoever made it.
    pub(crate) fn orphan(&mut self, key: &ObjectKey, orphan: Orphan) {
        self.orphaned.insert(key.clone(), orphan);
    }

    /// The Service is there.
    pub(crate) fn adopt(&mut self, key: &ObjectKey) {
        self.orphaned.remove(key);
    }

    /// The object of this uid is there and its Service is not; returns what is known of it if it goes with the Service:
    /// the object that was there then, or one that we wrote for the Service. What comes later under that name is not
    /// ours to delete.
    pub(crate) fn take_orphan(&mut self, key: &ObjectKey, uid: &str) -> Option<Orphan> {
        let ours = self.written.get(key).is_some_and(|written| written.uid == uid);
        let orphan = self.orphaned.remove(key)?;
        (ours || orphan.uid.as_deref().is_none_or(|orphan| orphan == uid)).then_some(orphan)
    }

    /// Forgets a Service that is gone, and that it waits for an event. A create that may have been stored is remembered for
    /// [`LATE`], in which its event still wakes the key. True the first time: the key is to be looked at again after that.
    #[must_use]
    pub(crate) fn forget(&mut self, key: &ObjectKey, now: Instant) -> bool {
        self.written.remove(key);
        if let Some(create) = self.unanswered.get_mut(key) {
            let first = create.gone_since.is_none();
            let since = *create.gone_since.get_or_insert(now);
            if now.saturating_duration_since(since) < LATE {
                return first;
            }
        }
        self.unanswered.remove(key);
        self.waiting.remove(key);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counterpart of upstream's `TestStaleEndpointsTracker`, by the version written instead of the one replaced.
    #[test]
    fn a_cache_is_behind_until_it_shows_what_was_written() {
        let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "db"));
        let mut tracker = Tracker::default();
        assert!(!tracker.is_behind(&key, Some("7".into()), 0), "nothing was written");
        tracker.wrote(&key, "uid".to_owned(), "8".into());
        assert!(tracker.is_behind(&key, Some("7".into()), 0), "the version before");
        assert!(tracker.is_behind(&key, None, 7), "not even created");
        assert!(!tracker.is_behind(&key, Some("8".into()), 0), "ours");
        assert!(!tracker.is_behind(&key, Some("9".into()), 0), "somebody's after ours");
        assert!(!tracker.is_behind(&key, None, 8), "created and gone again");
        assert!(!tracker.is_behind(&other, Some("7".into()), 0), "another object");
        assert_eq!(
            ["7", "8", "9"].map(|version| tracker.is_foreign(&key, version.into())),
            [false, false, true]
        );
        tracker.gone(&key, "7".into());
        assert!(tracker.is_behind(&key, None, 7), "that was the one before ours");
        tracker.gone(&key, "8".into());
        assert!(!tracker.is_behind(&key, None, 7), "ours is gone");
        tracker.wrote(&key, "uid".to_owned(), "9".into());
        assert!(!tracker.forget(&key, Instant::now()));
        assert!(!tracker.is_behind(&key, Some("7".into()), 0), "forgotten");
    }

    #[test]
    fn a_service_that_is_gone_leaves_nothing_waiting_but_a_late_create() {
        let key = ObjectKey::new("ns", "web");
        let (mut tracker, now) = (Tracker::default(), Instant::now());
        tracker.wait(&key);
        assert!(!tracker.forget(&key, now) && !tracker.wake(&key));
        tracker.unanswered(&key);
        tracker.wait(&key);
        assert!(tracker.forget(&key, now) && tracker.waiting.contains(&key), "it may appear");
        assert!(
            !tracker.forget(&key, now) && tracker.waiting.contains(&key),
            "whatever else wakes the key meanwhile"
        );
        assert!(!tracker.forget(&key, now + LATE) && !tracker.wake(&key), "it has not");
        tracker.unanswered(&key);
        tracker.settled(&key);
        assert!(!tracker.forget(&key, now), "another write was answered");
        let Tracker { written, lists: _, waiting, unanswered, orphaned } = tracker;
        assert!(written.is_empty() && waiting.is_empty() && unanswered.is_empty() && orphaned.is_empty());
    }

    /// What a list shows of an object that was written in version 8.
    #[test]
    fn a_list_ends_the_waiting_for_what_was_written_before_it() {
        let key = ObjectKey::new("ns", "web");
        for (shown, due, what) in [
            (None, true, "gone, or undone"),
            (Some("7"), true, "undone"),
            (Some("8"), false, "ours"),
            (Some("9"), false, "somebody's after ours, of which an event has told"),
        ] {
            let mut tracker = Tracker::default();
            tracker.wrote(&key, "uid".to_owned(), "8".into());
            tracker.list_begins();
            let keys = tracker.listed(|_| shown.map(ResourceVersion::from));
            assert_eq!(
                (keys.contains(&key), tracker.is_behind(&key, shown.map(ResourceVersion::from), 0)),
                (due, false),
                "{what}"
            );
            assert_eq!(tracker.is_foreign(&key, "8".into()), shown != Some("8"), "{what}");
        }
    }

    #[test]
    fn a_list_wakes_all_who_wait_and_ends_nothing_that_was_written_during_it() {
        let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "db"));
        let mut tracker = Tracker::default();
        tracker.list_begins();
        tracker.wrote(&key, "uid".to_owned(), "8".into());
        tracker.wait(&key);
        tracker.wait(&other);
        let mut woken = tracker.listed(|_| None);
        woken.sort();
        assert_eq!(woken, [other, key.clone()], "to look");
        assert!(tracker.is_behind(&key, None, 7) && !tracker.wake(&key));
        tracker.list_begins();
        tracker.list_begins();
        assert_eq!(tracker.listed(|_| None), std::slice::from_ref(&key), "the next one ends it");
        assert!(!tracker.is_behind(&key, None, 7));
    }

    #[test]
    fn only_what_was_there_or_is_ours_goes_with_its_service() {
        let key = ObjectKey::new("ns", "web");
        for (known, written, shown, goes, what) in [
            (Some("a"), None, "a", true, "what was there"),
            (Some("a"), None, "b", false, "what came later"),
            (None, None, "b", true, "the first that shows"),
            (Some("a"), Some("b"), "b", true, "what we wrote instead, and the cache did not show yet"),
        ] {
            let mut tracker = Tracker::default();
            if let Some(uid) = written {
                tracker.wrote(&key, uid.to_owned(), "8".into());
            }
            tracker.orphan(&key, Orphan { uid: known.map(Into::into), selected: true });
            assert_eq!(tracker.take_orphan(&key, shown).is_some(), goes, "{what}");
            assert_eq!(tracker.take_orphan(&key, shown), None, "{what}: once");
        }
    }

    #[test]
    fn versions_that_cannot_be_ordered_are_never_waited_for() {
        let key = ObjectKey::new("ns", "web");
        let mut tracker = Tracker::default();
        tracker.wrote(&key, "uid".to_owned(), "b".into());
        assert!(!tracker.is_behind(&key, Some("a".into()), 0));
    }
}
