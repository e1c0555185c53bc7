//! Topology-aware hints: keep traffic in its zone, as long as no zone gets overloaded (KEP-2433).
//!
//! A Service asks for them with the annotation `service.kubernetes.io/topology-mode: Auto`. Each zone should then get
//! endpoints in proportion to the CPU of its nodes; most endpoints serve their own zone, and a few of a zone that has
//! too many are lent to zones that have too few.
//!
//! ```text
//! Nodes ─> ZoneShares ──┐
//! create, update ───────┼─> allocate ─> keep valid hints ─> own zone ─> transfers ─> TopologyOutcome
//! unchanged slices ─────┘                                                                 │
//!                        TopologyCache <─────────── record ──────────────────────────────┘─> events
//! ```
//!
//! * [`ZoneShares`]: what share of the CPU each zone has, and how many endpoints that [allocates](ZoneShares::allocate)
//!   to it;
//! * `assign`: hints for all slices of one address type, a step of [`plan`](crate::plan());
//! * [`TopologyCache`]: which Services have hints, when that is news, and whom a change of nodes concerns.
//!
//! The rules are those of `k8s.io/endpointslice` `topologycache/` (release 1.36), and so are the messages.
//!
//! # Deliberately different
//!
//! * **Deterministic.** Where upstream follows the order of a Go map, zones are taken by name and slices in the order
//!   of the plan.
//! * **It comes to rest.** Upstream can hand out hints that it calls invalid at the next sync, and then writes the same
//!   slice in every sync: a hint for a zone without capacity (all its nodes are unready or control-plane nodes, but an
//!   endpoint runs there), and more hints than a zone's maximum (rounding: endpoints are moved only if both sides gain
//!   about half of one). Here such endpoints move to the zone that lacks most. Where upstream comes to rest, the
//!   number of hints of each zone is the same.
//! * **No write without a reason.** If hints turn out to be impossible only after some slices were reopened for them,
//!   those slices are left alone unless they carry hints to remove; a reopened slice that ends up with the hints it
//!   had isn't written either.
//! * **Services waiting for capacity are remembered**: one that lost or never got its hints because of the nodes is
//!   synced again when a change of nodes makes hints possible. Upstream looks only at Services that have hints.
//! * **Services that are gone are forgotten.** Upstream keeps them, and queues their keys, until it restarts.
//! * **Node changes during a sync count**: a Service whose hints were computed for shares that are out of date by the
//!   time they are recorded is checked again.
//!
//! # Deliberately the same
//!
//! * An allocation's minimum decides whether there are hints at all; it is not a promise to every zone. Three zones may
//!   end with one endpoint less in the smallest, because the others have less than half of one to give.
//! * Hints of slices that need no write are not rebalanced, and neither are further zones or nodes in them removed.
//! * Failures are events at every sync; the recorder's aggregation thins them out.

mod allocation;
mod assign;
mod cache;
mod event;
mod outcome;
mod shares;
mod transfers;

#[cfg(test)]
mod tests;

pub use allocation::{Allocation, Allocations};
pub(crate) use assign::add_hints;
pub use cache::{Recorded, ServiceKey, TopologyCache};
pub use event::{EventType, TopologyEvent};
pub use outcome::{NoHints, NoHintsReason, TopologyOutcome, ZoneCounts};
pub use shares::ZoneShares;

/// By how much an endpoint may be overloaded, compared with an even spread: a fifth (`topologycache.go`
/// `overloadThreshold`).
const OVERLOAD_THRESHOLD: f64 = 0.2;

/// The part of its proportional number of endpoints that a zone cannot do without.
const LEAST_PART: f64 = 1.0 / (1.0 + OVERLOAD_THRESHOLD);

/// The endpoints that a zone needs at least, if its proportional number is `share * total`.
///
/// The operations are upstream's, in upstream's order, so that rounding goes the same way.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a count, never negative
fn minimum(share: f64, total: usize) -> usize {
    (as_f64(total) * share * LEAST_PART).ceil() as usize
}

#[allow(clippy::cast_precision_loss)] // counts of endpoints stay far below 2^52
fn as_f64(count: usize) -> f64 {
    count as f64
}
