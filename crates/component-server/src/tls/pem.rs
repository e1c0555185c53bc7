//! Certificates and keys from PEM.

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::error::TlsError;

/// Returns all certificates in the text; none is an error. Errors name the `origin` of the text.
pub(crate) fn certificates(origin: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| TlsError::content(origin, &error))?;
    if found.is_empty() {
        return Err(TlsError::content(origin, &"data does not contain any valid certificates"));
    }
    Ok(found)
}

/// Returns a chain with the key of its first certificate.
pub(super) fn certified_key(
    origin: &str,
    certificate: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(origin, certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| TlsError::content(origin, &"the key file holds no unencrypted private key"))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| TlsError::content(origin, &error))
}
