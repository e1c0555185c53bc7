//! Informers of the kinds that network endpoints are made from, and the writer of EndpointSlices.
//!
//! ```text
//! API server ──watch──> list_watch ──> cache ──Change──> Handler ──key──> queue ──> worker ──> sync
//!      ^                                                                                        │
//!      └────────────────────────── slices::SliceWriter <──────────── plan ──────────────────────┘
//! ```
//!
//! * [`list_watch`]: keeps one kind in the cache up to date, for ever.
//! * [`cache`]: the shared cache of the process; compact, indexed, consistent.
//! * [`resource`]: the contract of a cached kind.
//! * [`kinds`]: the kinds that can be cached, and the queries over them.
//! * [`slices`]: one sync of a controller of EndpointSlices: expectations, snapshot, writer, metrics.
//! * [`repairs`]: how often changes by other clients are repaired, and the event about it.
//! * [`deferred_events`]: events that arrive before the response to the write that caused them.
//! * [`events`]: Kubernetes events about cached objects.
//! * [`controller`]: the trait of a controller, and how one runs.
//! * [`lifecycle`]: a process of controllers: contend for the Lease, refresh the cache, work, release.

pub mod cache;
pub mod controller;
pub mod deferred_events;
pub mod events;
pub mod kinds;
pub mod lifecycle;
pub mod list_watch;
mod queries;
pub mod repairs;
pub mod resource;
pub mod slices;
mod state;
mod store;
