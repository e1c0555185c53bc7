//! Services and Pods to EndpointSlices.
//!
//! Replaces kube-controller-manager's `endpointslice-controller`. The pure `endpointslice` crate decides the content of
//! slices and the writes; this crate connects it with the cache:
//!
//! * `handlers`: from a change to the Services it affects;
//! * `sync`: the sync of one Service;
//! * `topology`: nodes and topology-aware hints;
//! * `events` and `metrics`: upstream's, by the same names.

mod controller;
mod events;
mod handlers;
mod metrics;
mod sync;
mod topology;

pub use controller::{Config, EndpointSliceController};
