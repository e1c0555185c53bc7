//! A third party's controller: for Services with an annotation that names a secondary network, it publishes the addresses
//! of pods in that network instead of those in `status.podIPs`.
//!
//! The README of the `endpointslice` crate is a tutorial to it.
//!
//! * `main`: the process;
//! * `controller`: the rules;
//! * `network_status`: the annotation of pods.

mod controller;
mod network_status;

pub use controller::{NAME, NETWORK, NETWORK_STATUS, SecondaryNetwork};
