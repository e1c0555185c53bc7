//! Reports that follow changes of a cluster.
//!
//! ```text
//! changes ──> Snapshot
//!    ├──> seen: what happened, and how long the controllers took ──> History
//!    └──> touched: Services whose report may differ now ──> explain ──> Board
//! ```

mod seen;
mod touched;

use std::collections::BTreeSet;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::traffic::Traffic;
use endpoint_diagnostics::{
    EndpointCounts, Object, Picture, ServiceReport, Snapshot, explain, explain_with_differences,
};
use jiff::Timestamp;
use parking_lot::Mutex;

use self::seen::Seen;
use self::touched::{Reported, Touched};
use crate::board::{Board, Publication};
use crate::history::{Entry, IN_RESPONSE, PER_SERVICE, Timeline, recorded};
use crate::origin::Origin;
use crate::overview::{self, Facts, Overview};
use crate::search::{self, Found};
use crate::view::{Span, View};

/// Reports on the Services of a snapshot that follows a cluster.
///
/// It does no IO and reads no clock: [`Self::apply`] gets changes, [`Self::tick`] the time.
pub struct Follower {
    board: Board,
    followed: Mutex<Followed>,
}

/// A change of the cluster.
#[derive(Clone, Debug)]
pub enum Change {
    /// The objects of a kind, all of those that are followed.
    Listed(Kind, Vec<Object>),
    /// An object is new or different.
    Upserted(Object),
    /// An object is gone.
    Deleted {
        /// The kind.
        kind: Kind,
        /// The namespace; empty for cluster-wide kinds.
        namespace: String,
        /// The name.
        name: String,
    },
}

struct Followed {
    snapshot: Snapshot,
    reported: Reported,
    /// Services whose verdict changes as time passes.
    lagging: BTreeSet<ObjectKey>,
    /// The fact about the whole cluster that every report depends on.
    manages_endpoints: Option<bool>,
    seen: Seen,
    /// The time from which changes are seen.
    watched: Timestamp,
    facts: Facts,
}

impl Follower {
    /// Reports on the Services of a snapshot. `run` is a number that no other run of the program has, such as the time.
    pub fn new(snapshot: Snapshot, run: u64, origin: Origin) -> Self {
        let manages_endpoints = snapshot.manages_endpoints();
        let watched = snapshot.now();
        let (reported, lagging) = (Reported::new(), BTreeSet::new());
        let (seen, facts) = (Seen::default(), Facts::default());
        let followed = Followed { snapshot, reported, lagging, manages_endpoints, seen, watched, facts };
        let follower = Self { board: Board::new(run, origin), followed: Mutex::new(followed) };
        let mut followed = follower.followed.lock();
        followed.publish(Touched::all(), &follower.board);
        followed.look_around(&follower.board);
        drop(followed);
        follower
    }

    /// Notes facts that only the program knows.
    pub fn set_facts(&self, facts: Facts) {
        let mut followed = self.followed.lock();
        followed.facts = facts;
        followed.look_around(&self.board);
    }

    /// Applies changes that arrived together, each with the time of its arrival, in their order, and reports again on the
    /// Services that they may concern.
    pub fn apply(&self, changes: Vec<(Timestamp, Change)>, now: Timestamp) {
        let mut followed = self.followed.lock();
        let mut touched = Touched::default();
        followed.snapshot.set_now(now);
        for (at, change) in changes {
            followed.apply(at, change, &mut touched);
        }
        let manages_endpoints = followed.snapshot.manages_endpoints();
        if std::mem::replace(&mut followed.manages_endpoints, manages_endpoints) != manages_endpoints {
            touched.add_all();
        }
        followed.publish(touched, &self.board);
    }

    /// Reports again on the Services whose verdict depends on the time.
    pub fn tick(&self, now: Timestamp) {
        let mut followed = self.followed.lock();
        followed.snapshot.set_now(now);
        let touched = Touched::services(followed.lagging.clone());
        followed.publish(touched, &self.board);
        followed.look_around(&self.board);
    }

    /// The board, which this keeps up to date.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The report on a Service as of now; none if there is no such Service.
    pub fn report(&self, key: &ObjectKey) -> Option<ServiceReport> {
        explain(&self.followed.lock().snapshot, key)
    }

    /// All that is known of a Service; none if there is no such Service.
    pub fn view(&self, key: &ObjectKey) -> Option<View> {
        self.followed.lock().view(key)
    }

    /// The events of all Services, or of those of a namespace, in a span of time.
    pub fn timeline(&self, span: &Span) -> Timeline {
        self.followed.lock().timeline(span)
    }

    /// Services by a pod, an address, a node or a label.
    pub fn search(&self, query: &str) -> Found {
        search::search(&self.followed.lock().snapshot, query)
    }
}

impl Followed {
    fn apply(&mut self, at: Timestamp, change: Change, touched: &mut Touched) {
        match change {
            Change::Listed(kind, objects) => {
                // The first list of ResourceClaims follows the first Service that needs them.
                if self.snapshot.can_read(kind) {
                    self.seen.gap(at, kind);
                }
                for (namespace, name) in self.snapshot.missing_in(kind, &objects) {
                    self.seen.change(at, &self.snapshot, kind, (&namespace, &name), None);
                }
                for object in &objects {
                    self.seen.change(at, &self.snapshot, kind, object.key(), Some(object));
                }
                self.snapshot.replace(kind, objects);
                touched.add_all();
            }
            Change::Upserted(object) => {
                let (namespace, name) = object.key();
                let (kind, namespace, name) = (object.kind(), namespace.to_owned(), name.to_owned());
                let before = touched.before(&self.snapshot, kind, &namespace, &name);
                self.seen.change(at, &self.snapshot, kind, (&namespace, &name), Some(&object));
                self.snapshot.upsert(object);
                touched.after(&self.snapshot, kind, &namespace, &name, before);
            }
            Change::Deleted { kind, namespace, name } => {
                let before = touched.before(&self.snapshot, kind, &namespace, &name);
                self.seen.change(at, &self.snapshot, kind, (&namespace, &name), None);
                self.snapshot.remove(kind, &namespace, &name);
                touched.after(&self.snapshot, kind, &namespace, &name, before);
            }
        }
    }

    fn publish(&mut self, touched: Touched, board: &Board) {
        let now = self.snapshot.now();
        let (mut publications, mut gone) = (Vec::new(), Vec::new());
        for key in touched.into_keys(&self.snapshot, &self.reported) {
            let traffic = EndpointCounts::of(&self.snapshot, &key.namespace, &key.name);
            let Some((report, traffic)) = explain(&self.snapshot, &key).zip(traffic) else {
                self.reported.remove(&key);
                self.lagging.remove(&key);
                self.seen.gone(&key);
                gone.push(key);
                continue;
            };
            if report.depends_on_time() {
                self.lagging.insert(key.clone());
            } else {
                self.lagging.remove(&key);
            }
            self.seen.report(now, &key, board.row(&key).as_deref(), &report, &traffic);
            let newest = self.seen.history.of(&key).next().map(|entry| (entry.sequence, entry.time));
            // In order already, but a lookup relies on it.
            let mut pods: Vec<String> = report.pods.iter().map(|pod| pod.name.clone()).collect();
            pods.sort_unstable();
            self.reported.insert(key, pods);
            publications.push(Publication { report, traffic, newest });
        }
        board.publish(publications, gone, now);
    }

    /// Publishes the cluster as a whole.
    fn look_around(&mut self, board: &Board) {
        self.seen.writes.advance(self.snapshot.now());
        board.set_overview(Overview {
            facts: self.facts.clone(),
            disruptions: self.snapshot.disruptions(),
            zones: overview::zones(&self.snapshot),
            writes: self.seen.writes.clone(),
            watched: self.watched.as_millisecond(),
        });
    }

    fn view(&self, key: &ObjectKey) -> Option<View> {
        let (report, differences, omitted) = explain_with_differences(&self.snapshot, key)?;
        let picture = Picture::of(&self.snapshot, &key.namespace, &key.name)?;
        let mut older = recorded::of_service(&self.snapshot, key, Timestamp::MIN..=self.watched);
        older.sort_by_key(|entry| std::cmp::Reverse(entry.time));
        let timeline = self.seen.history.of(key).chain(older).take(PER_SERVICE).collect();
        let (watched, now) = (self.watched.as_millisecond(), self.snapshot.now().as_millisecond());
        let traffic = Traffic::of(&report);
        Some(View { report, traffic, differences, omitted, picture, timeline, watched, now })
    }

    fn timeline(&self, span: &Span) -> Timeline {
        let range = span.since..=span.until;
        let is_asked = |namespace: &str| span.namespace.as_deref().is_none_or(|asked| asked == namespace);
        let seen = self.seen.history.all().filter(|entry| {
            range.contains(&entry.time) && entry.service.as_ref().is_none_or(|key| is_asked(&key.namespace))
        });
        let mut entries: Vec<_> = seen.take(IN_RESPONSE + 1).cloned().collect();
        if span.since <= self.watched {
            let range = span.since..=span.until.min(self.watched);
            for key in self.snapshot.services().filter(|key| is_asked(&key.namespace)) {
                entries.extend(recorded::of_service(&self.snapshot, &key, range.clone()));
                // Not all of those of many Services with the same pods at a time.
                if entries.len() > 4 * IN_RESPONSE {
                    keep_newest(&mut entries, IN_RESPONSE + 1);
                }
            }
        }
        keep_newest(&mut entries, IN_RESPONSE + 1);
        let more = entries.len() > IN_RESPONSE;
        entries.truncate(IN_RESPONSE);
        Timeline { entries, more, watched: self.watched.as_millisecond() }
    }
}

/// Sorts entries, the newest first, and drops the oldest beyond a number.
fn keep_newest(entries: &mut Vec<Arc<Entry>>, number: usize) {
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.time, entry.sequence)));
    entries.truncate(number);
}

#[cfg(test)]
mod tests;
