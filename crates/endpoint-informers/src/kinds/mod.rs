//! The kinds that can be cached: for each, how it is decoded and indexed, and the queries over it.
//!
//! Both encodings are decoded into the same compact object. Protobuf is scanned for the few fields that matter, JSON is
//! decoded into the full API type; both end in one constructor, so that they cannot disagree about meaning.

mod conditions;
mod delegated_service;
mod endpoint_slice;
mod endpoints;
mod last_managers;
mod node;
mod packed;
mod pod;
mod service;
mod unreadable;

pub use delegated_service::DelegatedService;
pub use endpoint_slice::CachedSlice;
pub use endpoints::CachedEndpoints;
pub use last_managers::LastManagers;
pub use packed::Packed;
pub use pod::{POSSIBLE_ENDPOINTS, SelectedPods};
pub use unreadable::UnreadableObjects;

#[cfg(test)]
mod tests;
