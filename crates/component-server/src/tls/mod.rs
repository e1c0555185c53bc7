//! TLS: what is spoken, with which certificate, and the client's certificate taken down.

mod any_client;
mod material;
mod names;
mod pem;
mod policy;
mod self_signed;
mod source;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;

pub(crate) use material::Material;
pub(crate) use pem::certificates;
pub(crate) use policy::TlsPolicy;
pub(crate) use source::{Source, read};

/// What is wrong with a certificate, a key or an authority.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A self-signed pair cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The content makes no sense. Never carries key material.
    #[error("{what}: {reason}")]
    Content {
        /// Where it came from.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// No certificate could be made.
    #[error("cannot make a self-signed certificate")]
    SelfSigned(#[source] rcgen::Error),
    /// rustls refuses the whole.
    #[error("unusable TLS configuration")]
    Config(#[source] rustls::Error),
}

impl TlsError {
    pub(crate) fn content(what: &str, reason: &dyn ToString) -> Self {
        Self::Content { what: what.to_owned(), reason: reason.to_string() }
    }
}

/// Puts policy, certificates and the authorities that clients may choose a certificate by into one.
///
/// `client_authorities`: their names in DER; none asks clients for no certificate.
pub(crate) fn server_config(
    policy: &TlsPolicy,
    material: &Material,
    client_authorities: Option<&BTreeSet<Vec<u8>>>,
) -> Result<ServerConfig, TlsError> {
    let verifier = match client_authorities {
        Some(authorities) => any_client::AnyClient::new(&policy.provider, authorities),
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let resolver = Arc::new(names::ByName::new(material, &policy.provider)?);
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&policy.provider))
        .with_protocol_versions(policy.versions)
        .map_err(TlsError::Config)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(resolver);
    config.alpn_protocols = policy.protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
