//! Certificates and keys from PEM.

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::TlsError;

/// Every certificate in the text; at least one.
pub(crate) fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| TlsError::content(what, &error))?;
    if found.is_empty() {
        return Err(TlsError::content(what, &"data does not contain any valid certificates"));
    }
    Ok(found)
}

/// A chain with the key of its first certificate.
pub(super) fn certified_key(
    what: &str,
    certificate: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(what, certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| TlsError::content(what, &"the key file holds no unencrypted private key"))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| TlsError::content(what, &error))
}
