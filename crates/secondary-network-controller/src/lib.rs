//! A controller of a third party: for Services that name a secondary network, it publishes the addresses that pods have
//! there, instead of those in `status.podIPs`.
//!
//! The tutorial is in the README of the `endpointslice` crate.

mod controller;
mod network_status;

pub use controller::{ANNOTATIONS, NAME, NETWORK, NETWORK_STATUS, SecondaryNetworkController};
