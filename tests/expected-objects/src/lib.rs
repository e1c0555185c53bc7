//! The oracle: what the controllers' objects should be, computed from the cluster's objects by rules that are written
//! here once more.
//!
//! It shares no code with the controllers, so that a defect of theirs is not also in the expectation. `simulator` reads
//! the objects from the embedded API server, `cargo xtask soak-faults` from a real one.
//!
//! | Module | One line |
//! |---|---|
//! | [`objects`] | the endpoints and labels that objects should have, and those that they have |
//! | `faults` | faults that random operations make, which an audit is right to find |
//! | `mirrored` | lines of slices that are mirrored from Endpoints |
//! | `ports` | lines for ports, and Endpoints whose mirrored slices the API server refuses |
//! | `ready_endpoints` | ready endpoints that slices lack, and that they have too many |
//! | [`rules`] | the shape of slices: their owners and sizes, and each endpoint once |
//! | `slice_counts` | the number of slices that endpoints need |
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    reason = "a test harness, never shipped; an index of JSON is null where a field is missing"
)]

mod faults;
mod index;
mod mirrored;
pub mod objects;
mod ports;
mod ready_endpoints;
pub mod rules;
mod slice_counts;
#[cfg(test)]
mod tests;

pub use objects::{Named, Objects};
pub use random_operations::CONTROLLERS;

/// The label that delegates a Service to another controller.
pub const DELEGATED: &str = "service.kubernetes.io/endpoint-controller-name";
