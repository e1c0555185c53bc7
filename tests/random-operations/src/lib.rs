//! Random operations on Services, pods, nodes and custom Endpoints: a trace is a pure function of its seed, and a list of
//! [operations](Operation) as data. The parity runs of `tests` apply it to real API servers, `simulator` to the embedded
//! one.
//!
//! The names, addresses and order of operations of a seed never change, because reports name a trace by its seed.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test harness, never shipped; operations say by their names what they do"
)]

mod endpoints;
mod generator;
pub mod neighbour;
mod operation;
pub mod requests;
pub mod rng;
mod services;

pub use generator::Generator;
pub use operation::{Chance, Operation, PodStatus, Readiness, Step};
pub use services::NAMES;

/// The namespace of all namespaced objects.
pub const NAMESPACE: &str = "shop";
/// The year of all times.
pub const YEAR: &str = "2001";

/// The label of a slice that names its Service.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The label of a slice that names its controller.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The controllers of slices of this program, by that label.
pub const CONTROLLERS: [&str; 2] =
    ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
