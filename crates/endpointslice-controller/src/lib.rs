//! Services and Pods to EndpointSlices.
//!
//! Takes the place of kube-controller-manager's `endpointslice-controller`. What a slice should be and which writes
//! get there is decided by the pure `endpointslice` crate; this crate connects it with the cache:
//!
//! * `handlers`: which change concerns which Service;
//! * `sync`: one Service, from a consistent read of the cache to its writes;
//! * `topology`: nodes and topology-aware hints;
//! * `metrics`: what upstream's dashboards expect.

mod controller;
mod events;
mod handlers;
mod metrics;
mod sync;
mod topology;

pub use controller::{Config, EndpointSliceController};
