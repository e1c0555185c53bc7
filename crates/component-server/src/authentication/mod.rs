//! Who asks.

mod authorities;
mod bearer;
mod chain;
mod client_certificate;
mod cluster;
mod options;
mod peer;
mod request_header;
mod trust;
mod usage;
mod user;

pub use chain::{Authenticator, LoadError, RejectedCredentials};
pub(crate) use client_certificate::Subject;
pub use options::{AuthenticationOptions, RequestHeaderOptions};
pub use peer::Peer;
pub use user::User;
