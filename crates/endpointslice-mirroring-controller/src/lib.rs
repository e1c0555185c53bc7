//! Endpoints that somebody else maintains, to EndpointSlices.
//!
//! Takes the place of kube-controller-manager's `endpointslice-mirroring-controller`: for a Service without a selector,
//! the Endpoints of the same name are written by its users, and consumers read slices. What a slice should be and which
//! writes get there is decided by the pure `endpointslice` crate; this crate holds what is particular to mirroring:
//!
//! * `mirror`: which Endpoints are mirrored, and what that comes to; pure;
//! * `handlers`: which change concerns which Endpoints;
//! * `sync`: one Endpoints object, from a consistent read of the cache to its writes;
//! * `events`: what its users are told.

mod controller;
mod events;
mod handlers;
mod mirror;
mod sync;

pub use controller::{Config, EndpointSliceMirroringController};
pub use mirror::{Mirror, is_mirrored, mirror, mirror_beside};
