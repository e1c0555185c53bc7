//! HTTP: paths, queries, negotiation, bodies.

pub(crate) mod body;
pub(crate) mod content_type;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod response;
pub(crate) mod route;
pub(crate) mod warnings;

pub use body::Body;
