//! The endpoints that should exist, before slices are planned for them.
//!
//! [`DesiredEndpoints`] is filled from Pods ([`desired_from_service`]), from Endpoints ([`desired_from_endpoints`]) or by
//! [`DesiredEndpoints::insert`], and is handed to [`plan`](crate::plan()).

mod conditions;
mod desired_endpoints;
mod endpoint_set;
mod from_endpoints;
mod from_service;
mod port_set;
mod skipped;
mod tolerated;

pub use conditions::Conditions;
pub(crate) use conditions::is_ready;
pub use desired_endpoints::DesiredEndpoints;
pub use endpoint_set::{EndpointSet, same_target};
pub(crate) use endpoint_set::{Identity, equal_beyond_identity, identity};
pub use from_endpoints::{Mirrored, desired_from_endpoints};
pub use from_service::{
    Attachment, desired_from_attachments, desired_from_service, desired_from_service_with, endpoint_ports,
    published_hostname, target_number, target_ref,
};
pub use port_set::PortSet;
pub use skipped::{Skipped, SkippedReason};
pub(crate) use tolerated::Tolerated;
