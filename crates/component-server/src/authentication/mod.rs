//! Authentication: the user that sent a request.

mod authenticator;
mod ca_bundle;
mod client_certificate;
mod constraints;
mod options;
mod peer;
mod request_header;
mod token;
mod trust;

pub use authenticator::{Authenticator, LoadError, RejectedCredentials};
pub use options::{AuthenticationOptions, RequestHeaderOptions};
pub use peer::Peer;
