//! Terms of leadership and the writes outside of any, read from the audit log.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use tests::audit::Request;
use tests::manager::LeaderElection;

use super::fixture::LEASE_NAMESPACE;

/// A term: from the write that acquires the Lease to the one that releases it or takes it over.
#[derive(Debug)]
pub(crate) struct Term {
    /// The program, by its user agent.
    pub(crate) by: String,
    pub(crate) from: Timestamp,
    /// The time at which the API server received the leader's release of the Lease.
    pub(crate) released: Option<Timestamp>,
    /// The time at which the API server received the controllers' first write.
    pub(crate) first_write: Option<Timestamp>,
    record: LeaseSpec,
    /// The time at which the API server received the last renewal.
    renewed: Timestamp,
}

/// The terms in the requests of contending replicas.
///
/// # Errors
/// A breach of the rules: a write outside of its program's term, successful or refused; a Lease taken from a program that
/// might still lead; a record that does not follow from the one before.
pub(crate) fn of(requests: &[Request]) -> Result<Vec<Term>, String> {
    let mut terms = Vec::new();
    let mut of_lease: Vec<&Request> = requests.iter().filter(|r| is_of_lease(r) && r.code < 300).collect();
    of_lease.sort_by_key(|request| request.received);
    for request in of_lease {
        follow(&mut terms, request).map_err(|breach| format!("{breach}: {request}"))?;
    }
    for request in requests.iter().filter(|r| r.is_write() && !is_of_lease(r) && !is_event_of_lease(r)) {
        let ends: Vec<_> = terms.iter().skip(1).map(|next| Some(next.from)).chain([None]).collect();
        let term =
            terms.iter_mut().zip(ends).find_map(|(term, end)| term.covers(request, end).then_some(term));
        let Some(term) = term else {
            let (program, received) = (request.program(), request.received);
            return Err(format!("{program} wrote at {received} and did not lead: {request}; {terms:#?}"));
        };
        let first = term.first_write.map_or(request.received, |first| first.min(request.received));
        term.first_write = Some(first);
    }
    Ok(terms)
}

fn is_of_lease(request: &Request) -> bool {
    request.is_write() && request.resource == "leases" && request.name == LeaderElection::LEASE
}

/// True for the write of an Event about the Lease, which a former leader makes after its term. Only these are in the
/// Lease's namespace. The kind alone cannot decide it: a patch that counts an event again does not have it.
fn is_event_of_lease(request: &Request) -> bool {
    let kind = request.body.as_ref().and_then(|body| body.pointer("/involvedObject/kind"));
    let may_concern_lease = kind.is_none_or(|kind| kind == "Lease");
    request.resource == "events" && request.namespace == LEASE_NAMESPACE && may_concern_lease
}

/// Adds a record that was written to the Lease.
fn follow(terms: &mut Vec<Term>, request: &Request) -> Result<(), String> {
    let body = request.body.as_ref().ok_or("no body")?;
    let record: LeaseSpec =
        serde_json::from_value(body["spec"].clone()).map_err(|error| error.to_string())?;
    let ours = terms.last_mut().filter(|last| last.by == request.program() && last.released.is_none());
    match ours {
        Some(term) if holder(&record).is_empty() => term.release(&record, request.received),
        Some(term) if holder(&record) == holder(&term.record) => term.renew(record, request.received),
        _ => {
            let term = Term::begin(terms.last(), record, request)?;
            terms.push(term);
            Ok(())
        }
    }
}

fn holder(record: &LeaseSpec) -> &str {
    record.holder_identity.as_deref().unwrap_or_default()
}

/// The time in which a renewal may go unnoticed: client-go compares records in whole seconds (`resourcelock`
/// `LeaderElectionRecord`), so two renewals within a second are the same to it.
fn blind_for(request: &Request) -> SignedDuration {
    SignedDuration::from_secs(i64::from(request.program() == "kube-controller-manager"))
}

impl Term {
    fn begin(previous: Option<&Self>, record: LeaseSpec, request: &Request) -> Result<Self, String> {
        let time = request.received;
        let might_lead = |term: &Self| {
            term.released.is_none() && time + blind_for(request) < term.renewed + term.duration()
        };
        if let Some(term) = previous.filter(|term| might_lead(term)) {
            return Err(format!("taken while {} might lead, which renewed at {}", term.by, term.renewed));
        }
        // The first term creates the Lease, or takes that of deploy/ over, which counts as a transition.
        let first = record.lease_transitions.map(|number| number.min(1));
        let transitions =
            previous.map_or(first, |term| term.record.lease_transitions.map(|number| number + 1));
        let begins = record.acquire_time.is_some() && record.acquire_time == record.renew_time;
        if holder(&record).is_empty() || record.lease_transitions != transitions || !begins {
            return Err(format!("not how a term begins, whose transitions are {transitions:?}"));
        }
        let by = request.program().to_owned();
        Ok(Self { by, from: time, released: None, first_write: None, record, renewed: time })
    }

    /// The lease duration.
    fn duration(&self) -> SignedDuration {
        SignedDuration::from_secs(self.record.lease_duration_seconds.unwrap_or_default().into())
    }

    fn renew(&mut self, record: LeaseSpec, time: Timestamp) -> Result<(), String> {
        let all_but_time = |record: &LeaseSpec| LeaseSpec { renew_time: None, ..record.clone() };
        if all_but_time(&record) != all_but_time(&self.record) || record.renew_time <= self.record.renew_time
        {
            return Err(format!("not a renewal of {:?}", self.record));
        }
        (self.record, self.renewed) = (record, time);
        Ok(())
    }

    fn release(&mut self, record: &LeaseSpec, time: Timestamp) -> Result<(), String> {
        self.released = Some(time);
        let kept = record.lease_transitions == self.record.lease_transitions;
        let short = record.lease_duration_seconds == Some(1) && record.renew_time.is_some();
        if kept && short { Ok(()) } else { Err(format!("not a release of {:?}", self.record)) }
    }

    /// True if a request was received within the term. A leader that releases the Lease has waited for the answers too;
    /// one that froze may have sent a part of a request, and sends the rest when it continues.
    fn covers(&self, request: &Request, next: Option<Timestamp>) -> bool {
        let is_late = match (self.released, next) {
            (Some(released), _) => released < request.answered,
            (None, Some(next)) => next <= request.received,
            (None, None) => false,
        };
        request.program() == self.by && self.from <= request.received && !is_late
    }
}
