#![doc = include_str!("../README.md")]
//! # How it works
//!
//! ```text
//!              labels and annotations          Source: ResourceClaims, network status
//! Service ──────────> network ──────────┐         │
//! pods that it selects ─────────────────┴─> Attachment of each pod ──> endpointslice: plan ──> slices
//! ```

mod claims;
mod network_status;
pub mod options;
pub mod process;
pub mod program;
mod reconciler;
mod resource_api;
mod resource_claim;
mod source;

pub use claims::Claims;
pub use network_status::NetworkStatus;
pub use reconciler::{NAME, PodNetworks};
pub use resource_claim::{Device, PodNetwork, ResourceClaim};
pub use source::{Missing, Source};
