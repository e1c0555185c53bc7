//! TLS: protocol settings and serving certificates.

mod error;
mod pem;
mod policy;
mod self_signed;
mod server_config;
mod sni;
mod source;
mod subject;

pub use error::TlsError;
pub(crate) use pem::certificates;
pub(crate) use policy::TlsPolicy;
pub(crate) use server_config::server_config;
pub(crate) use source::{CertificateContent, CertificateSource, read};
pub(crate) use subject::Subject;
