//! Client certificates, requested in the handshake and verified by the authenticators.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Requests a client certificate and accepts any; a client that presents one must hold its key.
///
/// As upstream (`tls.RequestClientCert`), the handshake does not verify the issuer. The authenticators do, each against
/// its own CAs, which may change during the connection. A client with an invalid certificate gets a 401 instead of a
/// failed handshake, and may still authenticate by a token.
#[derive(Debug)]
pub(super) struct RequestClientCert {
    algorithms: WebPkiSupportedAlgorithms,
    /// Sent to clients, so that they can choose a certificate.
    ca_subjects: Vec<DistinguishedName>,
}

impl RequestClientCert {
    pub(super) fn new(provider: &CryptoProvider, ca_subjects: &BTreeSet<Vec<u8>>) -> Arc<Self> {
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
