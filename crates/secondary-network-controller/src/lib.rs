//! A controller of a third party: for Services that name a secondary network, it publishes the addresses that pods have
//! there, instead of those in `status.podIPs`.
//!
//! The README of the `endpointslice` crate is a tutorial to it.
//!
//! ```text
//! main             cache, list-watches, election
//! controller       which change concerns which Service; what its slices should be
//! network_status   what a pod's annotation says
//! ```

mod controller;
mod network_status;

pub use controller::{ANNOTATIONS, NAME, NETWORK, NETWORK_STATUS, SecondaryNetworkController};
