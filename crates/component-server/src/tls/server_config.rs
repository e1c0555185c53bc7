//! The TLS configuration of the server. Client certificates are requested in the handshake, and verified by the authenticators.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};

use super::error::TlsError;
use super::policy::TlsPolicy;
use super::sni::SniResolver;
use super::source::CertificateContent;

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

/// Requests a client certificate and accepts any; a client that presents one must hold its key.
///
/// As upstream (`tls.RequestClientCert`), the handshake does not verify the issuer. The authenticators do, each against
/// its own CAs, which may change during the connection. A client with an invalid certificate gets a 401 instead of a
/// failed handshake, and may still authenticate by a token.
#[derive(Debug)]
struct RequestClientCert {
    algorithms: WebPkiSupportedAlgorithms,
    /// Sent to clients, so that they can choose a certificate.
    ca_subjects: Vec<DistinguishedName>,
}

impl RequestClientCert {
    fn new(provider: &CryptoProvider, ca_subjects: &BTreeSet<Vec<u8>>) -> Arc<Self> {
        let ca_subjects = ca_subjects.iter().cloned().map(DistinguishedName::from).collect();
        Arc::new(Self { algorithms: provider.signature_verification_algorithms, ca_subjects })
    }
}

impl ClientCertVerifier for RequestClientCert {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.ca_subjects
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
