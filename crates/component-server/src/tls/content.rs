//! Serving certificates and keys as they were read, which makes changes detectable.

use zeroize::Zeroizing;

/// A certificate chain and its key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CertKeyContent {
    /// File or other origin, for messages.
    pub(crate) origin: String,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Zeroizing<Vec<u8>>,
    /// Configured server names; empty means those in the certificate.
    pub(crate) names: Vec<String>,
}

/// All serving certificates.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CertificateContent {
    pub(crate) default: CertKeyContent,
    /// Certificates for certain server names, in order of precedence.
    pub(crate) sni: Vec<CertKeyContent>,
}
