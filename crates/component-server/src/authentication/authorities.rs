//! Certificate authorities that clients' certificates are held against.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::tls::{TlsError, certificates};

/// A bundle of authorities.
pub(super) struct Authorities {
    pem: Vec<u8>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    /// Reads a bundle in PEM; `what` stands in the error.
    pub(super) fn new(what: &str, pem: Vec<u8>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(what, &pem)? {
            roots.add(certificate).map_err(|error| TlsError::content(what, &error))?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| TlsError::content(what, &error))?;
        Ok(Self { pem, verifier })
    }

    /// Their names in DER, which clients choose a certificate by.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &[u8]> {
        self.verifier.root_hint_subjects().iter().map(AsRef::as_ref)
    }

    /// Whether one of them signed this chain for a client, for now.
    ///
    /// Asked for each request rather than once, because certificates expire and authorities change while connections
    /// last. Costs a signature check or two, a tenth of a millisecond.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        self.verifier.verify_client_cert(leaf, intermediates, UnixTime::now()).map(drop)
    }
}

/// Equal if they were read from the same text.
impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authorities").field(&self.subjects().count()).finish()
    }
}
