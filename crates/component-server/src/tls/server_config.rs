//! The TLS configuration of the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;

use super::content::CertificateContent;
use super::error::TlsError;
use super::policy::TlsPolicy;
use super::request_client_cert::RequestClientCert;
use super::sni::SniResolver;

/// Builds the configuration of rustls from the policy and the serving certificates.
///
/// `ca_subjects` are the subjects of client CAs in DER, by which clients choose a certificate; none requests no client
/// certificate.
pub(crate) fn server_config(
    policy: &TlsPolicy,
    content: &CertificateContent,
    ca_subjects: Option<&BTreeSet<Vec<u8>>>,
) -> Result<ServerConfig, TlsError> {
    let verifier = match ca_subjects {
        Some(subjects) => RequestClientCert::new(&policy.provider, subjects),
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let resolver = Arc::new(SniResolver::new(content, &policy.provider)?);
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&policy.provider))
        .with_protocol_versions(policy.versions)
        .map_err(TlsError::Config)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(resolver);
    config.alpn_protocols = policy.protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
