//! The latest changes around each Service, from the watch alone.
//!
//! ```text
//! object before and after ──> change ──> Event ──> History ──┬─> one Service: a timeline
//!   (pods, writes, nodes)                                └─> a time: "what happened at 14:03"
//! ```
//!
//! The memory is bounded: [`PER_SERVICE`] entries of each Service and [`TOTAL`] of all are kept, the newest; what one namespace
//! has more than the others is forgotten first, so that no tenant makes those of others go. What happened before the watch began is in the objects to some extent: `recorded` reads it there.

mod change;
mod endpoints;
mod event;
mod pods;
pub(crate) mod recorded;
mod slices;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use jiff::Timestamp;
use serde::{Serialize, Serializer};

pub(crate) use self::change::of_change;
pub use self::event::{Event, Kind, Tone};

/// Entries of one Service.
pub const PER_SERVICE: usize = 200;
/// Entries of all Services together: about ten megabytes at most.
pub const TOTAL: usize = 20_000;
/// Entries in one response.
pub const IN_RESPONSE: usize = 1_000;

/// Something that happened.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The place in the sequence of all entries; 0 if it was read from an object.
    pub sequence: u64,
    /// The time at which it was seen, or which an object records, in milliseconds since the epoch.
    #[serde(serialize_with = "jiff::fmt::serde::timestamp::millisecond::required::serialize")]
    pub time: Timestamp,
    /// The Service that it concerns; none for all.
    #[serde(serialize_with = "key")]
    pub service: Option<ObjectKey>,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// Of a write by a controller, the milliseconds since the change that it answers was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
}

#[expect(clippy::ref_option, reason = "the form of serde")]
fn key<S: Serializer>(key: &Option<ObjectKey>, serializer: S) -> Result<S::Ok, S::Error> {
    let parts = key.as_ref().map(|key| [&*key.namespace, &*key.name]);
    parts.serialize(serializer)
}

/// Entries of a span of time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The entries, the newest first.
    pub entries: Vec<Arc<Entry>>,
    /// True if there are more than a response holds.
    pub more: bool,
    /// The time from which changes were seen, in milliseconds since the epoch; what is older is recorded by objects.
    pub watched: i64,
}

/// The latest entries.
#[derive(Default)]
pub(crate) struct History {
    sequence: u64,
    entries: BTreeMap<u64, Arc<Entry>>,
    /// The sequences of the entries of each Service.
    of_service: BTreeMap<ObjectKey, VecDeque<u64>>,
    /// The same by namespace; an empty one for what concerns all.
    of_namespace: BTreeMap<Arc<str>, BTreeSet<u64>>,
}

impl History {
    /// Adds an entry, and forgets the oldest if there are too many.
    pub(crate) fn push(
        &mut self,
        time: Timestamp,
        service: Option<ObjectKey>,
        event: Event,
        took: Option<u64>,
    ) {
        self.sequence += 1;
        if let Some(key) = &service {
            let own = self.of_service.entry(key.clone()).or_default();
            own.push_back(self.sequence);
            if own.len() > PER_SERVICE
                && let Some(oldest) = own.front().copied()
            {
                self.forget(oldest);
            }
        }
        self.of_namespace.entry(namespace_of(service.as_ref())).or_default().insert(self.sequence);
        let entry = Entry { sequence: self.sequence, time, service, event, took };
        self.entries.insert(self.sequence, Arc::new(entry));
        if self.entries.len() > TOTAL {
            self.make_room();
        }
    }

    /// Forgets the oldest entries of the namespace that has most.
    fn make_room(&mut self) {
        /// At a time, because the namespace is looked for among all.
        const BATCH: usize = 100;
        let Some(largest) = self.of_namespace.values().max_by_key(|own| own.len()) else { return };
        let oldest: Vec<u64> = largest.iter().take(BATCH.min(largest.len().div_ceil(2))).copied().collect();
        for sequence in oldest {
            self.forget(sequence);
        }
    }

    /// Forgets an entry that is the oldest of its Service.
    fn forget(&mut self, sequence: u64) {
        let Some(entry) = self.entries.remove(&sequence) else { return };
        let namespace = namespace_of(entry.service.as_ref());
        if let Some(own) = self.of_namespace.get_mut(&namespace) {
            own.remove(&sequence);
            if own.is_empty() {
                self.of_namespace.remove(&namespace);
            }
        }
        let Some(key) = &entry.service else { return };
        if let Some(own) = self.of_service.get_mut(key) {
            own.pop_front();
            if own.is_empty() {
                self.of_service.remove(key);
            }
        }
    }

    /// The entries of a Service, the newest first.
    pub(crate) fn of(&self, key: &ObjectKey) -> impl Iterator<Item = Arc<Entry>> {
        let own = self.of_service.get(key).into_iter().flatten().rev();
        own.filter_map(|sequence| self.entries.get(sequence).cloned())
    }

    /// All entries, the newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values().rev()
    }
}

fn namespace_of(service: Option<&ObjectKey>) -> Arc<str> {
    service.map_or_else(|| Arc::from(""), |key| Arc::clone(&key.namespace))
}

#[cfg(test)]
mod tests;
