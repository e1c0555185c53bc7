//! Certificate authorities that clients' certificates are held against.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::tls::{TlsError, certificates};

/// Verification tries intermediates in every order, for anybody and each request: three make sixteen attempts, ten make
/// hundreds of thousands.
const MOST_INTERMEDIATES: usize = 3;

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
    /// last. Costs a signature check or two, a tenth of a millisecond; a dozen for a chain made to be expensive.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        if intermediates.len() > MOST_INTERMEDIATES {
            return Err(rustls::Error::General("too many intermediate certificates".to_owned()));
        }
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

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn a_chain_made_to_be_expensive_is_not_looked_at() {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = authority.self_signed(&key).unwrap();
        let issuer = Issuer::new(authority, key);
        let mut client = CertificateParams::default();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let leaf = client.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();

        let authorities = Authorities::new("--client-ca-file", root.pem().into_bytes()).unwrap();
        let with = |intermediates: usize| {
            let mut chain = vec![leaf.der().clone()];
            chain.extend(std::iter::repeat_n(root.der().clone(), intermediates));
            authorities.verify(&chain).map_err(|error| error.to_string())
        };
        assert_eq!(with(0), Ok(()));
        assert_eq!(with(MOST_INTERMEDIATES), Ok(()));
        let refused = with(MOST_INTERMEDIATES + 1).unwrap_err();
        assert!(refused.contains("too many intermediate certificates"), "{refused}");
    }
}
