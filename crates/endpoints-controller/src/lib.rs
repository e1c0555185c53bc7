//! Services and Pods to Endpoints, as kube-controller-manager's `endpoints-controller` does it (Kubernetes 1.36,
//! `pkg/controller/endpoint`).
//!
//! ```text
//! Service + Pods ─> desired_subsets ─> truncate ─┐
//! trigger time ──────────────────────────────────┼─> plan ─> nothing, or one create or update
//! the stored object ─────────────────────────────┘
//! ```
//!
//! * [`desired_subsets`], [`truncate`] and [`plan`] decide; they know no client, clock, lock or logger.
//! * `handlers` says which change concerns which Service, `sync` goes from a consistent read of the cache to the write.
//! * `tracker` knows what we wrote and the cache does not show yet.
//!
//! Where it differs from upstream on purpose, `docs/parity.md` says so.

mod controller;
mod desired;
mod events;
mod handlers;
mod metadata;
mod plan;
mod sync;
mod tracker;
mod truncate;
mod writer;

pub use controller::{Config, EndpointsController};
pub use desired::{Unready, desired_subsets};
pub use plan::{Plan, plan};
pub use sync::SyncError;
pub use truncate::{CAPACITY, truncate};
