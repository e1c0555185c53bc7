//! Endpoints of Services without a selector, to EndpointSlices.
//!
//! Replaces kube-controller-manager's `endpointslice-mirroring-controller`: users write the Endpoints of such a Service,
//! and consumers read slices. The pure `endpointslice` crate decides the content of slices and the writes; this crate
//! connects it with the cache:
//!
//! * `mirror`: the decision whether Endpoints are mirrored, and the plan of their slices; pure;
//! * `handlers`: from a change to the Endpoints it affects;
//! * `sync`: the sync of one Endpoints object;
//! * `events`: upstream's events.

mod controller;
mod events;
mod handlers;
mod mirror;
mod sync;

pub use controller::{Config, EndpointSliceMirroringController};
pub use mirror::{Mirror, is_mirrored, mirror, mirror_with_terminating};
