//! The rows and the latest change of each Service.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::{EndpointCounts, ServiceReport};
use jiff::Timestamp;

use crate::row::Row;

/// The number of removed Services that are remembered for clients that have not heard of it.
const REMEMBERED: usize = 10_000;

/// Invariant: `changes` has exactly the revisions of `services`, each with its key.
#[derive(Default)]
pub(super) struct State {
    services: BTreeMap<ObjectKey, Entry>,
    changes: BTreeMap<u64, ObjectKey>,
    revision: u64,
    /// The time of the newest rows, in milliseconds since the epoch.
    pub(super) now: i64,
    /// The number of entries without a row.
    removed: usize,
    /// The revision up to which removals are forgotten.
    forgotten: u64,
}

/// A Service, or the memory of a removed one.
struct Entry {
    revision: u64,
    fingerprint: u64,
    row: Option<Arc<Row>>,
}

/// A number that differs if reports or rows differ, but for one case in 2^64.
pub(super) fn fingerprint(report: &ServiceReport, row: &Row, newest: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(newest);
    // Reports have string keys only, so that this can't fail.
    hasher.write(&serde_json::to_vec(&(report, row)).unwrap_or_default());
    hasher.finish()
}

impl State {
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn rows(&self) -> Vec<Arc<Row>> {
        self.services.values().filter_map(|entry| entry.row.clone()).collect()
    }

    pub(super) fn row(&self, key: &ObjectKey) -> Option<&Arc<Row>> {
        self.services.get(key)?.row.as_ref()
    }

    /// Puts a row, whose trend goes on from that of the row before.
    pub(super) fn put(&mut self, key: ObjectKey, fingerprint: u64, mut row: Row, now: Timestamp) {
        let before = self.services.get(&key);
        if before.is_some_and(|entry| entry.row.is_some() && entry.fingerprint == fingerprint) {
            return;
        }
        let trend = before.and_then(|entry| Some(&entry.row.as_ref()?.trend));
        let EndpointCounts { ready, serving, not_ready, .. } = row.traffic;
        row.trend = trend.unwrap_or(&row.trend).after(now, ready, ready + serving + not_ready);
        self.change(key, fingerprint, Some(Arc::new(row)));
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if self.services.get(key).is_none_or(|entry| entry.row.is_none()) {
            return;
        }
        self.change(key.clone(), 0, None);
        if self.removed > REMEMBERED {
            self.forget_oldest();
        }
    }

    fn change(&mut self, key: ObjectKey, fingerprint: u64, row: Option<Arc<Row>>) {
        self.revision += 1;
        let revision = self.revision;
        self.removed += usize::from(row.is_none());
        self.changes.insert(revision, key.clone());
        if let Some(before) = self.services.insert(key, Entry { revision, fingerprint, row }) {
            self.removed -= usize::from(before.row.is_none());
            self.changes.remove(&before.revision);
        }
    }

    fn forget_oldest(&mut self) {
        let is_removed = |key: &ObjectKey| self.services.get(key).is_some_and(|entry| entry.row.is_none());
        let oldest = self.changes.iter().find(|(_, key)| is_removed(key));
        let Some((revision, key)) = oldest.map(|(revision, key)| (*revision, key.clone())) else { return };
        self.changes.remove(&revision);
        self.services.remove(&key);
        self.removed -= 1;
        self.forgotten = revision;
    }

    /// The revision of the last, and the rows and removals of the first `limit` changes after a revision. None if some of
    /// them are forgotten, or the revision is not one of ours.
    pub(super) fn after(
        &self,
        revision: u64,
        limit: usize,
    ) -> Option<(u64, Vec<Arc<Row>>, Vec<(String, String)>)> {
        if revision < self.forgotten || revision > self.revision {
            return None;
        }
        let (mut last, mut rows, mut removed) = (revision, Vec::new(), Vec::new());
        for (revision, key) in self.changes.range(revision + 1..).take(limit) {
            last = *revision;
            match self.services.get(key).and_then(|entry| entry.row.clone()) {
                Some(row) => rows.push(row),
                None => removed.push((key.namespace.to_string(), key.name.to_string())),
            }
        }
        Some((last, rows, removed))
    }
}
