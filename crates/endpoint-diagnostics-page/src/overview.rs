//! The cluster as a whole, apart from its Services.

use std::collections::{BTreeMap, VecDeque};

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::DisruptedNodes;
use jiff::Timestamp;
use serde::Serialize;

/// Seconds in which writes are counted together.
const BUCKET: i64 = 10;
/// Buckets that are kept: a quarter of an hour.
const BUCKETS: usize = 90;
/// Nodes that are named of a zone.
const NAMED: usize = 5;

/// The cluster as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Versions of the program and of the control plane, and Leases.
    #[serde(flatten)]
    pub facts: Facts,
    /// The cluster and the zones that are disrupted ([`Snapshot::disruptions`]).
    pub disruptions: Vec<DisruptedNodes>,
    /// The zones of nodes, by name; empty for nodes without one.
    pub zones: Vec<ZoneNodes>,
    /// Writes of slices and Endpoints, as far as they changed what consumers read.
    pub writes: Writes,
    /// The time from which changes have been seen, in milliseconds since the epoch.
    pub watched: i64,
}

/// Facts that only the program knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The version of this program.
    pub program: String,
    /// The version of the API server.
    pub kubernetes: Option<String>,
    /// The Leases of the controllers that may write.
    pub leaders: Vec<Leader>,
}

/// The Lease of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leader {
    /// The name of the Lease.
    pub lease: String,
    /// The holder; none if it is free.
    pub holder: Option<String>,
    /// False if the holder has not renewed it in time.
    pub current: bool,
}

/// The nodes of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneNodes {
    /// The zone.
    pub zone: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of nodes that are not ready.
    pub not_ready: usize,
    /// Some of these.
    pub names: Vec<String>,
}

/// The nodes by zone.
pub(crate) fn zones(snapshot: &Snapshot) -> Vec<ZoneNodes> {
    let mut zones = BTreeMap::<&str, ZoneNodes>::new();
    for node in snapshot.nodes().iter() {
        let name = node.zone.as_deref().unwrap_or_default();
        let zone =
            zones.entry(name).or_insert_with(|| ZoneNodes { zone: name.to_owned(), ..ZoneNodes::default() });
        zone.nodes += 1;
        if !node.ready {
            zone.not_ready += 1;
            if zone.names.len() < NAMED {
                zone.names.push(node.name.to_string());
            }
        }
    }
    zones.into_values().collect()
}

/// Numbers of writes over the last quarter of an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Writes {
    /// The number of the newest bucket: seconds since the epoch, in tens.
    newest: i64,
    /// Writes in buckets of ten seconds, the newest last.
    counts: VecDeque<u32>,
}

impl Writes {
    /// Counts a write.
    pub(crate) fn add(&mut self, at: Timestamp) {
        self.advance(at);
        if let Some(newest) = self.counts.back_mut() {
            *newest = newest.saturating_add(1);
        }
    }

    /// Begins the bucket of a time. One in the past counts as the newest.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        let bucket = now.as_second().div_euclid(BUCKET);
        if self.counts.is_empty() || bucket - self.newest > i64::try_from(BUCKETS).unwrap_or(i64::MAX) {
            self.counts = VecDeque::from([0]);
            self.newest = bucket;
        }
        while self.newest < bucket {
            self.newest += 1;
            self.counts.push_back(0);
        }
        while self.counts.len() > BUCKETS {
            self.counts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn writes_are_counted_by_ten_seconds() {
        let mut writes = Writes::default();
        for second in [100, 101, 109, 110, 135] {
            writes.add(at(second));
        }
        writes.add(at(99));
        assert_eq!((writes.newest, Vec::from(writes.counts.clone())), (13, vec![3, 1, 0, 2]));
        writes.advance(at(100_000));
        assert_eq!((writes.newest, writes.counts.len()), (10_000, 1), "nothing of it is left");
        for second in 0..2_000 {
            writes.add(at(100_000 + second));
        }
        assert_eq!(writes.counts.len(), BUCKETS);
    }
}
