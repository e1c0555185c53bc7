//! A source that follows changes of a cluster.
//!
//! ```text
//! changes ──> Snapshot
//!    └──> touched: Services whose report may differ now ──> explain ──> Board
//! ```

mod touched;

use std::collections::BTreeSet;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{Object, ServiceReport, Snapshot, Verdict, explain};
use jiff::Timestamp;
use parking_lot::Mutex;

use self::touched::{Reported, Touched};
use crate::board::Board;
use crate::origin::Origin;
use crate::source::Source;

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
    keeps_endpoints: bool,
}

impl Follower {
    /// Reports on the Services of a snapshot. `run` is a number that no other run of the program has, such as the time.
    pub fn new(snapshot: Snapshot, run: u64, origin: Origin) -> Self {
        let keeps_endpoints = snapshot.keeps_endpoints();
        let followed =
            Followed { snapshot, reported: Reported::new(), lagging: BTreeSet::new(), keeps_endpoints };
        let follower = Self { board: Board::new(run, origin), followed: Mutex::new(followed) };
        follower.followed.lock().publish(Touched::all(), &follower.board);
        follower
    }

    /// Applies changes that arrived together, in their order, and reports again on the Services that they may concern.
    pub fn apply(&self, changes: Vec<Change>, now: Timestamp) {
        let mut followed = self.followed.lock();
        let mut touched = Touched::default();
        followed.snapshot.set_now(now);
        for change in changes {
            followed.apply(change, &mut touched);
        }
        let keeps_endpoints = followed.snapshot.keeps_endpoints();
        if std::mem::replace(&mut followed.keeps_endpoints, keeps_endpoints) != keeps_endpoints {
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
    }
}

impl Source for Follower {
    fn board(&self) -> &Board {
        &self.board
    }

    fn report(&self, key: &ObjectKey) -> Option<ServiceReport> {
        explain(&self.followed.lock().snapshot, key)
    }
}

impl Followed {
    fn apply(&mut self, change: Change, touched: &mut Touched) {
        match change {
            Change::Listed(kind, objects) => {
                let listed: BTreeSet<(&str, &str)> = objects.iter().map(Object::key).collect();
                let gone = touched::names(&self.snapshot, kind);
                let gone = gone.into_iter().filter(|(namespace, name)| !listed.contains(&(namespace, name)));
                for (namespace, name) in gone.collect::<Vec<_>>() {
                    self.snapshot.remove(kind, &namespace, &name);
                }
                for object in objects {
                    self.snapshot.upsert(object);
                }
                touched.add_all();
            }
            Change::Upserted(object) => {
                let (namespace, name) = object.key();
                let (kind, namespace, name) = (object.kind(), namespace.to_owned(), name.to_owned());
                let before = touched.before(&self.snapshot, kind, &namespace, &name);
                self.snapshot.upsert(object);
                touched.after(&self.snapshot, kind, &namespace, &name, before);
            }
            Change::Deleted { kind, namespace, name } => {
                let before = touched.before(&self.snapshot, kind, &namespace, &name);
                self.snapshot.remove(kind, &namespace, &name);
                touched.after(&self.snapshot, kind, &namespace, &name, before);
            }
        }
    }

    fn publish(&mut self, touched: Touched, board: &Board) {
        let (mut reports, mut gone) = (Vec::new(), Vec::new());
        for key in touched.into_keys(&self.snapshot, &self.reported) {
            let Some(report) = explain(&self.snapshot, &key) else {
                self.reported.remove(&key);
                self.lagging.remove(&key);
                gone.push(key);
                continue;
            };
            if report.verdict == Verdict::Lagging {
                self.lagging.insert(key.clone());
            } else {
                self.lagging.remove(&key);
            }
            // In order already, but a lookup relies on it.
            let mut pods: Vec<String> = report.pods.iter().map(|pod| pod.name.clone()).collect();
            pods.sort_unstable();
            self.reported.insert(key, pods);
            reports.push(report);
        }
        board.publish(&reports, gone);
    }
}

#[cfg(test)]
mod tests;
