//! The list of Services, and its changes by number.
//!
//! Every change of a Service gets the next revision, and of each Service only the latest change is kept. So what a client
//! has missed since a revision is one lookup, as large as the list at most, and no client needs a buffer of its own: a
//! slow one reads fewer, merged changes.

mod cursor;
mod state;

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::{EndpointCounts, ServiceReport};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

pub use cursor::Cursor;

use self::state::State;
use crate::origin::Origin;
use crate::overview::Overview;
use crate::row::Row;

/// The list of Services that a page shows.
pub struct Board {
    /// Distinguishes this board from those of earlier runs of the program, whose cursors clients may still have.
    run: u64,
    state: Mutex<State>,
    revision: watch::Sender<u64>,
    origin: watch::Sender<Origin>,
    overview: watch::Sender<Arc<Overview>>,
}

/// A report on a Service, as it is published.
#[derive(Debug)]
pub struct Publication {
    /// The report.
    pub report: ServiceReport,
    /// The endpoints in numbers.
    pub traffic: EndpointCounts,
    /// The sequence and the time of the newest change that was seen.
    pub newest: Option<(u64, Timestamp)>,
}

/// All rows.
#[derive(Debug, Serialize)]
pub struct List {
    /// The cursor for the changes after this list.
    pub cursor: Cursor,
    /// The origin of the rows.
    pub source: Origin,
    /// The cluster as a whole.
    pub overview: Arc<Overview>,
    /// The time of the newest rows, in milliseconds since the epoch.
    pub now: i64,
    /// The rows, by namespace and name.
    pub services: Vec<Arc<Row>>,
}

/// Changes since a cursor.
#[derive(Debug, Serialize)]
pub struct Changes {
    /// The cursor after them.
    #[serde(skip)]
    pub cursor: Cursor,
    /// Services that are new or different.
    pub services: Vec<Arc<Row>>,
    /// Namespaces and names of Services that are gone.
    pub removed: Vec<(String, String)>,
}

impl Board {
    /// An empty board. `run` is a number that no other run of the program has, such as the time.
    pub fn new(run: u64, origin: Origin) -> Self {
        let (revision, origin) = (watch::Sender::new(0), watch::Sender::new(origin));
        let overview = watch::Sender::new(Arc::default());
        Self { run, state: Mutex::default(), revision, origin, overview }
    }

    /// Replaces the reports on these Services, and removes those that are gone. A report that is equal to the one before is
    /// no change.
    pub fn publish(
        &self,
        publications: impl IntoIterator<Item = Publication>,
        removed: impl IntoIterator<Item = ObjectKey>,
        now: Timestamp,
    ) {
        // Fingerprints are taken without the lock, which readers wait for.
        let reports: Vec<(ObjectKey, u64, Row)> = publications
            .into_iter()
            .map(|Publication { report, traffic, newest }| {
                let key = ObjectKey::new(report.namespace.as_str(), report.name.as_str());
                let row = Row::of(&report, traffic, newest.map(|(_, time)| time));
                let fingerprint = state::fingerprint(&report, &row, newest.map_or(0, |(newest, _)| newest));
                (key, fingerprint, row)
            })
            .collect();
        let mut state = self.state.lock();
        state.now = now.as_millisecond();
        for (key, fingerprint, row) in reports {
            state.put(key, fingerprint, row, now);
        }
        for key in removed {
            state.remove(&key);
        }
        let revision = state.revision();
        drop(state);
        self.revision.send_if_modified(|now| std::mem::replace(now, revision) != revision);
    }

    /// Changes the state of the source.
    pub fn set_origin(&self, origin: Origin) {
        self.origin.send_if_modified(|now| {
            let is_other = *now != origin;
            *now = origin;
            is_other
        });
    }

    /// Changes the cluster as a whole.
    pub fn set_overview(&self, overview: Overview) {
        self.overview.send_if_modified(|now| {
            let is_other = **now != overview;
            if is_other {
                *now = Arc::new(overview);
            }
            is_other
        });
    }

    /// The cluster as a whole, now and whenever it changes.
    pub fn overview(&self) -> watch::Receiver<Arc<Overview>> {
        self.overview.subscribe()
    }

    /// The row of a Service.
    pub fn row(&self, key: &ObjectKey) -> Option<Arc<Row>> {
        self.state.lock().row(key).cloned()
    }

    /// The origin of the rows, now and whenever it changes.
    pub fn origin(&self) -> watch::Receiver<Origin> {
        self.origin.subscribe()
    }

    /// The latest revision, now and whenever it changes.
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// All rows.
    pub fn list(&self) -> List {
        let state = self.state.lock();
        let cursor = Cursor { run: self.run, revision: state.revision() };
        let (source, overview) = (self.origin.borrow().clone(), Arc::clone(&self.overview.borrow()));
        List { cursor, source, overview, now: state.now, services: state.rows() }
    }

    /// The oldest `limit` changes after a cursor. None if they are not known: the cursor is that of another run, or too old.
    pub fn after(&self, cursor: Cursor, limit: usize) -> Option<Changes> {
        if cursor.run != self.run {
            return None;
        }
        let (revision, services, removed) = self.state.lock().after(cursor.revision, limit)?;
        Some(Changes { cursor: Cursor { revision, ..cursor }, services, removed })
    }
}

#[cfg(test)]
pub(crate) mod tests;
