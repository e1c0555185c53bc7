//! Who may have the Lease, and what then stands in it: no client, clock or randomness.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// The Lease as last read or written.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    lease: Lease,
    /// When its record was first seen like this, by our own clock.
    since: Instant,
}

/// What an elector may do about a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It is ours, renew it.
    Renew,
    /// It was released, or its holder was silent for too long: take it.
    TakeOver,
    /// Somebody has it, for so long at least.
    Wait(Duration),
}

/// What a record without a duration counts as: the least that the API server accepts.
const MIN_LEASE_SECONDS: i32 = 1;

impl Observation {
    /// Takes note of the Lease. The record's age goes on if this is the record that was known; changes of the metadata
    /// don't count, they may be anybody's.
    pub(super) fn new(lease: Lease, known: Option<&Self>, now: Instant) -> Self {
        let same = known.filter(|known| known.lease.spec == lease.spec);
        Self { since: same.map_or(now, |known| known.since), lease }
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Who has the Lease; empty if nobody has.
    pub(super) fn holder(&self) -> &str {
        self.lease.spec.as_ref().map_or("", holder)
    }

    /// Since when nobody has the Lease, by our own clock: it was first seen released then, or ran out.
    pub(super) fn vacant_since(&self, now: Instant) -> Option<Instant> {
        if self.holder().is_empty() {
            return Some(self.since);
        }
        self.since.checked_add(self.duration()).filter(|end| *end <= now)
    }

    /// For how long others wait for its holder.
    fn duration(&self) -> Duration {
        let seconds = self.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        Duration::from_secs(seconds.unwrap_or_default().max(MIN_LEASE_SECONDS).unsigned_abs().into())
    }

    /// What `identity` may do at this time.
    pub(super) fn claim(&self, identity: &str, now: Instant) -> Claim {
        let holder = self.holder();
        if holder.is_empty() {
            return Claim::TakeOver;
        }
        if holder == identity {
            return Claim::Renew;
        }
        let age = now.saturating_duration_since(self.since);
        match self.duration().checked_sub(age) {
            None | Some(Duration::ZERO) => Claim::TakeOver,
            Some(left) => Claim::Wait(left),
        }
    }
}

/// The record by which `identity` holds the Lease after `previous`, if there was one
/// (`LeaderElectionRecordToLeaseSpec`).
///
/// A renewal changes nothing but the time of it. Taking over begins a new term.
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

/// The record that lets the next one take the Lease at once (client-go's `release`).
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
