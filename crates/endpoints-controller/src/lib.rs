//! Services and Pods to Endpoints, as kube-controller-manager's `endpoints-controller` does it (Kubernetes 1.37,
//! `pkg/controller/endpoint`).
//!
//! ```text
//! Service + Pods ─> desired_subsets ─> truncate ─┐
//! trigger time ──────────────────────────────────┼─> plan ─> nothing, or one create or update
//! the stored object ─────────────────────────────┘
//! ```
//!
//! * [`desired_subsets`], [`truncate`] and [`plan`] are pure: no client, clock, lock or logger. [`plan_service`] is all of
//!   them.
//! * `handlers`: from a change to the Services it affects; `lookup`: what the cache has of one.
//! * `sync`: the sync of one Service; `planner`: its plan, also for who asks what it would write.
//! * `sync_cache`: the subset of a Service, kept between syncs so that a sync costs what changed.
//! * `tracker`: the expectations of our writes, and what is remembered of deleted Services.
//! * `orphan`: which Endpoints are deleted with their Service; `leftovers`: their deletion.
//!
//! `docs/reference/parity.md` lists the intended differences from upstream.

mod controller;
mod desired;
mod error;
mod events;
mod handlers;
mod leftovers;
mod lookup;
mod metadata;
mod orphan;
mod plan;
mod planner;
mod planning;
mod sync;
mod sync_cache;
mod tracker;
mod truncate;

pub use controller::{Config, EndpointsController};
pub use desired::{Unready, desired_subsets};
pub use error::SyncError;
pub use plan::{Plan, plan};
pub use planning::plan_service;
pub use truncate::{CAPACITY, truncate};
