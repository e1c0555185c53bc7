//! The rules of a Lease: claims on it, holds and records. No client, clock or randomness.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube_api::time::Instant;

/// The annotations by which an operator holds a Lease: while the hold is in force, no process acquires the Lease.
///
/// A hold does not expire, and does not end the term of a process that leads. It is in force while the Lease has the one
/// annotation and lacks the other: a manifest with the first, applied again, does not restore a hold that was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The annotation that holds the Lease. Its value says who did, or why.
    pub annotation: &'static str,
    /// The annotation that releases it, for manifests to leave alone.
    pub released: &'static str,
}

impl Hold {
    /// The value of the hold, if one is in force.
    pub fn in_force(self, metadata: &ObjectMeta) -> Option<&str> {
        let annotations = metadata.annotations.as_ref()?;
        let value = annotations.get(self.annotation)?;
        (!annotations.contains_key(self.released)).then_some(value)
    }
}

/// The Lease as last read or written.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    lease: Lease,
    /// The time at which this record was first seen, by our own clock.
    since: Instant,
    /// The value of the hold in force.
    hold: Option<String>,
    /// The time since which no hold was seen; now, while one is in force.
    unheld_since: Instant,
}

/// The claim of an elector on a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// We hold it: renew it.
    Renew,
    /// It was released or has expired: take it.
    TakeOver,
    /// Another process holds it, for at least this long.
    Wait(Duration),
    /// No process may acquire it.
    Held,
}

/// The duration of a record without one: the least that the API server accepts.
const MIN_LEASE_SECONDS: i32 = 1;

impl Observation {
    /// Observes the Lease. The record keeps its age if it equals the known one; metadata does not count, because any
    /// client may change it.
    pub(super) fn new(lease: Lease, hold: Option<Hold>, known: Option<&Self>, now: Instant) -> Self {
        let same = known.filter(|known| known.lease.spec == lease.spec);
        let hold = hold.and_then(|hold| hold.in_force(&lease.metadata)).map(str::to_owned);
        let unheld = known.filter(|known| hold.is_none() && known.hold.is_none());
        Self {
            since: same.map_or(now, |known| known.since),
            unheld_since: unheld.map_or(now, |known| known.unheld_since),
            hold,
            lease,
        }
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The holder of the Lease; empty if it is released.
    pub(super) fn holder(&self) -> &str {
        self.lease.spec.as_ref().map_or("", holder)
    }

    /// The value of the hold in force.
    pub(super) fn hold(&self) -> Option<&str> {
        self.hold.as_deref()
    }

    /// The time since which no process holds the Lease, by our own clock: when it was first seen released, or expired, and
    /// without a hold. While a hold is in force, the program that it makes way for may write.
    pub(super) fn vacant_since(&self, now: Instant) -> Option<Instant> {
        let vacant = if self.holder().is_empty() {
            Some(self.since)
        } else {
            self.since.checked_add(self.duration()).filter(|end| *end <= now)
        };
        vacant.map(|since| since.max(self.unheld_since)).filter(|_| self.hold.is_none())
    }

    /// The duration of the Lease.
    fn duration(&self) -> Duration {
        let seconds = self.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        Duration::from_secs(seconds.unwrap_or_default().max(MIN_LEASE_SECONDS).unsigned_abs().into())
    }

    /// The claim of `identity` at this time. A hold does not concern a leader: one whose record was cleared, as by a manifest
    /// that replaces the Lease, writes it again, because while the hold is in force no other process can.
    pub(super) fn claim(&self, identity: &str, is_leader: bool, now: Instant) -> Claim {
        let holder = self.holder();
        if holder == identity {
            return Claim::Renew;
        }
        let free = if self.hold.is_some() && !is_leader { Claim::Held } else { Claim::TakeOver };
        if holder.is_empty() {
            return free;
        }
        let age = now.saturating_duration_since(self.since);
        match self.duration().checked_sub(age) {
            None | Some(Duration::ZERO) => free,
            Some(left) => Claim::Wait(left),
        }
    }
}

/// The record by which `identity` holds the Lease after `previous`, if there was one
/// (`LeaderElectionRecordToLeaseSpec`).
///
/// A renewal changes only the renew time. A takeover begins a new term.
pub(super) fn held(
    previous: Option<&LeaseSpec>,
    identity: &str,
    lease_seconds: i32,
    now: Timestamp,
) -> LeaseSpec {
    let ours = previous.filter(|previous| holder(previous) == identity);
    let acquired = ours.and_then(|ours| ours.acquire_time.clone());
    let transitions = match (ours, previous) {
        (Some(record), _) => transitions(record),
        (None, Some(record)) => transitions(record).saturating_add(1),
        (None, None) => 0,
    };
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(lease_seconds),
        acquire_time: Some(acquired.unwrap_or(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

/// The record of a released Lease, which can be acquired at once (client-go's `release`).
pub(super) fn released(previous: Option<&LeaseSpec>, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(MIN_LEASE_SECONDS),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(previous.map_or(0, transitions)),
        ..LeaseSpec::default()
    }
}

fn holder(record: &LeaseSpec) -> &str {
    record.holder_identity.as_deref().unwrap_or_default()
}

fn transitions(record: &LeaseSpec) -> i32 {
    record.lease_transitions.unwrap_or_default()
}

#[cfg(test)]
mod tests;
