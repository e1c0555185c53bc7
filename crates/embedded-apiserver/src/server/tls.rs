//! Certificates.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate of a server that is reached over HTTPS, with its key.
#[derive(Clone)]
pub struct Tls {
    pub(super) config: Arc<ServerConfig>,
    certificate: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate can be made for these names.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The text is no PEM of a certificate or key.
    #[error("reading a certificate or key: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The key does not fit the certificate, or is of an unknown kind.
    #[error("using a certificate: {0}")]
    Use(#[from] rustls::Error),
}

impl Tls {
    /// Makes a certificate for these host names and addresses, which signs itself: it is its own authority.
    ///
    /// # Errors
    /// A name is none.
    pub fn self_signed(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, TlsError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let made = rcgen::generate_simple_self_signed(names)?;
        Self::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem())
    }

    /// Makes a certificate for `localhost` and the loopback addresses.
    ///
    /// # Errors
    /// None that is known.
    pub fn for_loopback() -> Result<Self, TlsError> {
        let loopback = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        Self::self_signed(loopback.iter().map(IpAddr::to_string).chain(["localhost".to_owned()]))
    }

    /// Uses a certificate, with those that signed it, and its key, both in PEM.
    ///
    /// # Errors
    /// The texts are no PEM, or do not fit each other.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), certificate: certificate.to_owned() })
    }

    /// The certificate in PEM: the authority for clients, if it signed itself.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}
