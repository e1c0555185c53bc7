//! Certificates.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;

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

/// There is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// It cannot be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It cannot be used.
    #[error("using a certificate: {0}")]
    Use(#[from] rustls::Error),
}

impl Tls {
    /// Makes a certificate for `localhost` and the loopback addresses, which signs itself: it is its own authority.
    ///
    /// # Errors
    /// None that is known.
    pub fn for_loopback() -> Result<Self, TlsError> {
        let loopback = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        let names: Vec<String> =
            loopback.iter().map(IpAddr::to_string).chain(["localhost".to_owned()]).collect();
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), certificate: made.cert.pem() })
    }

    /// The certificate in PEM: the authority for clients.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}
