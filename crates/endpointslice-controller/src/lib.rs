//! Services and Pods to EndpointSlices.
//!
//! Replaces kube-controller-manager's `endpointslice-controller`. The pure `endpointslice` crate decides the content of
//! slices and the writes; this crate connects it with the cache:
//!
//! * `handlers`: from a change to the Services it affects;
//! * `lookup`: a Service, its slices and pods, as the cache has them;
//! * `sync`: the sync of one Service; [`plan_service`]: its writes, as a pure function of the objects;
//! * `planner`: the plan of a sync, and of who asks what it would write;
//! * `sync_cache`: the slices that need no write, found by what has changed since the last sync;
//! * `deferral`: the writes that wait for others;
//! * `comparison`: an encoded endpoint and what would be written for its pod;
//! * `topology`: nodes and topology-aware hints;
//! * `events` and `metrics`: upstream's, by the same names.

mod comparison;
mod controller;
mod deferral;
mod events;
mod handlers;
mod lookup;
mod metrics;
mod planner;
mod planning;
mod sync;
mod sync_cache;
mod topology;

pub use controller::{Config, EndpointSliceController};
pub use planning::{ServicePlanOptions, plan_service};
