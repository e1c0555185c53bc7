//! Topology-aware hints keep traffic in its zone, unless that overloads the endpoints of a zone (KEP-2433).
//!
//! A Service requests them by the annotation `service.kubernetes.io/topology-mode: Auto`. Each zone should then get
//! endpoints in proportion to the CPU of its nodes. Most endpoints serve their own zone; a few of a zone that has too
//! many are lent to zones that have too few.
//!
//! ```text
//! Nodes ─> ZoneShares ──┐
//! create, update ───────┼─> allocate ─> keep valid hints ─> own zone ─> transfers ─> TopologyOutcome
//! unchanged slices ─────┘                                                                 │
//!                        TopologyCache <─────────── record ──────────────────────────────┘─> events
//! ```
//!
//! * [`ZoneShares`]: the share of the CPU of each zone, and the number of endpoints that it
//!   [allocates](ZoneShares::allocate) to the zone;
//! * `assign`: hints for all slices of one address type, a step of [`plan`](crate::plan());
//! * [`TopologyCache`]: the Services that have hints, the events about them, and the Services that a change of nodes
//!   concerns.
//!
//! The rules are those of `k8s.io/endpointslice` `topologycache/` (release 1.37), and so are the messages.
//!
//! # Deliberately different
//!
//! * **Deterministic.** Where upstream follows the order of a Go map, zones are taken by name and slices in the order
//!   of the plan.
//! * **Hints converge.** Upstream can hand out hints that it calls invalid at the next sync, and then writes the same
//!   slice in every sync: a hint for a zone without capacity (all its nodes are unready or control-plane nodes, but an
//!   endpoint runs there), and more hints than a zone's maximum (rounding: endpoints are moved only if both sides gain
//!   about half of one). Here such endpoints move to the zone that lacks most. Where upstream converges, the number of
//!   hints of each zone is the same.
//! * **No write without a reason.** If hints turn out to be impossible only after some slices were reopened for them,
//!   those slices are left alone unless they carry hints to remove; a reopened slice that ends up with the hints it
//!   had isn't written either.
//! * **Services waiting for capacity are remembered**: a Service that lost or never got its hints because of the nodes
//!   is synced again when a change of nodes makes hints possible. Upstream looks only at Services that have hints.
//! * **Deleted Services are forgotten.** Upstream keeps them, and queues their keys, until it restarts.
//! * **Node changes during a sync count**: a Service whose hints were computed for shares that are out of date when
//!   they are recorded is checked again.
//!
//! # Deliberately the same
//!
//! * An allocation's minimum decides whether there are hints at all; it does not guarantee the minimum of every zone.
//!   Three zones may end with one endpoint less in the smallest, because the others have less than half of one to give.
//! * Hints of slices that need no write are not rebalanced, and neither are further zones or nodes in them removed.
//! * Failures are events at every sync; the recorder's aggregation thins them out.

mod allocation;
mod assign;
mod cache;
mod event;
mod outcome;
mod overload;
mod shares;
mod transfers;

#[cfg(test)]
mod tests;

pub use allocation::{Allocation, Allocations};
pub(crate) use assign::{add_hints, same_hints};
pub use cache::{Recorded, ServiceKey, TopologyCache};
pub use event::TopologyEvent;
pub use outcome::{NoHints, NoHintsReason, TopologyOutcome, ZoneCounts};
pub use shares::ZoneShares;
