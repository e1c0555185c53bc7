//! Detects that the API server's storage went back in time, as after the restore of an etcd backup.
//!
//! A restored etcd counts its revisions on from those of the backup. A watch that is resumed from a later
//! resourceVersion is accepted, stays silent until the revisions have caught up, and then continues without an error,
//! while the cache keeps the changes that the restore has undone. No watch can show that, but other responses do: their
//! resourceVersion is lower than possible without a restore. After one such response, every list-watch relists. A
//! list-watch asks for one whenever it resumes a watch, because a restore ends all watches.
//!
//! # Which responses count
//!
//! A resourceVersion is the etcd revision of a change (comparable by KEP-5504). The rules hold for any number of API
//! servers, however far their watch caches lag, because they compare only responses that etcd has confirmed:
//!
//! | response | must be | why |
//! |---|---|---|
//! | a consistent read or a write of one object | not below any version of *that object* that was known before the request was sent | each change of an object, deletion and creation included, gets a higher revision |
//! | a write that changed something | above every version of *that resource* that was known before it was sent | a change that is committed later has a higher revision |
//! | a consistent list | not below any version of *that resource* that was known before it was asked for | a consistent list is of the current revision, or later |
//!
//! * Watch events and bookmarks raise the known version, because their changes are committed. They are never evidence
//!   themselves: the events of a lagging API server may be old.
//! * Reads and lists with `resourceVersion=0` would prove nothing. This program sends none.
//! * An update without a change is answered with the version of the stored object. It does not count, if that is the version
//!   that was sent; nor does any update that was sent without a version, of which nobody knows whether it changed something:
//!   a webhook may have taken its changes out, or another writer have made the same.
//! * Versions are compared within one resource only. `--etcd-servers-overrides` may keep others (Leases, Events) in an
//!   etcd of their own, with revisions of their own.
//! * After a restore, versions known before it do not count, nor do responses to requests that were sent before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tracing::warn;

/// The known resourceVersions of one API server. Cheap to clone; clones share it.
///
/// [`ApiClient::with_version_guard`](crate::ApiClient::with_version_guard) makes clients share one.
#[derive(Clone, Debug, Default)]
pub struct VersionGuard(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The highest version known of each subject: a resource by its plural name, or an object by its path.
    highest: Mutex<BTreeMap<String, u64>>,
    /// The number of restores. Changed with `highest` locked.
    restores: watch::Sender<u64>,
}

/// The version known of a subject before a request is sent.
#[derive(Debug)]
pub struct Baseline {
    subject: String,
    highest: u64,
    restores: u64,
}

impl VersionGuard {
    /// The number of detected restores. List-watches relist when it rises.
    pub fn restores(&self) -> watch::Receiver<u64> {
        self.0.restores.subscribe()
    }

    /// The baseline to check the response of a request with; to be called before the request is sent.
    pub fn baseline(&self, subject: &str) -> Baseline {
        let highest = self.0.highest.lock();
        let known = highest.get(subject).copied().unwrap_or_default();
        Baseline { subject: subject.to_owned(), highest: known, restores: *self.0.restores.borrow() }
    }

    /// Raises the known version after a watch event; `restores` is the number of restores when the watch was opened.
    /// Cost: a lock and a lookup.
    pub fn observe(&self, restores: u64, subject: &str, version: &str) {
        if let Ok(version) = version.parse() {
            let mut highest = self.0.highest.lock();
            if *self.0.restores.borrow() == restores {
                raise(&mut highest, subject, version);
            }
        }
    }

    /// Checks the version of a consistent read, or of a list. If it shows a restore, returns the new number of
    /// restores.
    pub fn check_read(&self, baseline: &Baseline, version: &str) -> Option<u64> {
        self.check(baseline, version, |version| version < baseline.highest)
    }

    /// Checks the version after a write; `sent` is the version that it replaced: empty if it was sent without one, `None` if
    /// it created the object.
    pub fn check_write(&self, baseline: &Baseline, sent: Option<&str>, version: &str) {
        if sent.is_none_or(|sent| !sent.is_empty() && sent != version) {
            self.check(baseline, version, |version| version <= baseline.highest);
        }
    }

    fn check(&self, baseline: &Baseline, version: &str, went_back: impl FnOnce(u64) -> bool) -> Option<u64> {
        let version = version.parse().ok()?;
        let mut highest = self.0.highest.lock();
        if *self.0.restores.borrow() != baseline.restores {
            return None;
        }
        let went_back = went_back(version);
        if went_back {
            warn!(
                subject = baseline.subject,
                version,
                known = baseline.highest,
                "resourceVersion went back, as after a restored backup; relisting all resources"
            );
            highest.clear();
            self.0.restores.send_modify(|restores| *restores += 1);
        }
        raise(&mut highest, &baseline.subject, version);
        went_back.then(|| baseline.restores + 1)
    }
}

fn raise(highest: &mut BTreeMap<String, u64>, subject: &str, version: u64) {
    match highest.get_mut(subject) {
        Some(known) => *known = version.max(*known),
        None => drop(highest.insert(subject.to_owned(), version)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn restores(guard: &VersionGuard) -> u64 {
        *guard.restores().borrow()
    }

    #[test]
    fn a_lower_version_of_the_same_object_counts_once() {
        let guard = VersionGuard::default();
        for (version, expected) in
            [("10", 0), ("10", 0), ("12", 0), ("11", 1), ("11", 1), ("13", 1), ("x", 1)]
        {
            guard.check_read(&guard.baseline("/lease"), version);
            assert_eq!(restores(&guard), expected, "{version}");
        }
        guard.check_read(&guard.baseline("/other"), "1");
        assert_eq!(restores(&guard), 1, "another object");
    }

    #[test]
    fn a_write_must_be_later_than_everything_known_of_its_resource() {
        let guard = VersionGuard::default();
        guard.check_write(&guard.baseline("endpointslices"), None, "10");
        guard.observe(0, "endpointslices", "20");
        guard.observe(0, "pods", "90");
        guard.check_write(&guard.baseline("endpointslices"), Some("15"), "15");
        assert_eq!(restores(&guard), 0, "a write that changed nothing");
        guard.check_write(&guard.baseline("endpointslices"), Some(""), "15");
        assert_eq!(restores(&guard), 0, "the same, sent without a version");
        guard.check_write(&guard.baseline("endpointslices"), Some(""), "15");
        assert_eq!(restores(&guard), 0, "the same, sent without a version");
        guard.check_write(&guard.baseline("endpointslices"), Some("15"), "21");
        assert_eq!(restores(&guard), 0, "pods may be in another etcd");
        guard.check_write(&guard.baseline("endpointslices"), Some("15"), "21");
        assert_eq!(restores(&guard), 1, "the same revision twice");
    }

    #[test]
    fn versions_from_before_a_restore_do_not_count() {
        let guard = VersionGuard::default();
        guard.observe(0, "pods", "90");
        guard.observe(0, "endpointslices", "90");
        let (slow, slices) = (guard.baseline("pods"), guard.baseline("endpointslices"));
        guard.check_write(&slices, None, "50");
        assert_eq!(restores(&guard), 1);
        guard.check_read(&slow, "51");
        guard.check_write(&guard.baseline("pods"), None, "52");
        guard.observe(0, "pods", "91");
        guard.check_read(&guard.baseline("pods"), "53");
        assert_eq!(restores(&guard), 1, "lists of other kinds, and events of old watches");
    }

    proptest! {
        /// A storage whose revisions only grow, API servers whose watches lag, and requests that overlap.
        #[test]
        fn a_storage_that_never_goes_back_is_never_reported(
            steps in vec((0..5_u8, any::<prop::sample::Index>()), 1..200),
        ) {
            let guard = VersionGuard::default();
            let (mut revision, mut object, mut history) = (1_u64, 1_u64, vec![1_u64]);
            let mut under_way: Vec<(u8, Baseline)> = Vec::new();
            for (step, index) in steps {
                match step {
                    0 => {
                        revision += 1;
                        object = revision;
                        history.push(revision);
                    }
                    1 => revision += 1,
                    2 => guard.observe(0, "slices", &index.get(&history).to_string()),
                    3 => under_way.extend([(0, guard.baseline("slices")), (1, guard.baseline("/slice")), (2, guard.baseline("slices"))]),
                    _ if under_way.is_empty() => {}
                    _ => {
                        let (kind, before) = under_way.swap_remove(index.index(under_way.len()));
                        if kind == 0 {
                            revision += 1;
                            history.push(revision);
                            guard.check_write(&before, None, &revision.to_string());
                        } else if kind == 1 {
                            guard.check_read(&before, &object.to_string());
                        } else {
                            // An update without a version that changes nothing.
                            guard.check_write(&before, Some(""), &object.to_string());
                        }
                    }
                }
            }
            prop_assert_eq!(restores(&guard), 0);
        }
    }
}
