//! CA bundles that verify client certificates.

use std::fmt;

use rustls::DistinguishedName;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, VerifiedPath, anchor_from_trusted_cert};

use super::constraints::{ClientAuth, Constraints};
use crate::tls::{TlsError, certificates};

/// Intermediates in a chain. Verification tries them in every order: three cause sixteen attempts, ten hundreds of
/// thousands.
const MAX_INTERMEDIATES: usize = 3;

/// A bundle of CA certificates.
pub(super) struct CaBundle {
    pem: Vec<u8>,
    /// Trust anchors in the order of `certificates`. They have a name, a key and name constraints only.
    anchors: Vec<TrustAnchor<'static>>,
    certificates: Vec<BundleCertificate>,
}

/// A certificate of the bundle.
struct BundleCertificate {
    certificate: CertificateDer<'static>,
    constraints: Constraints,
}

/// Failed verification of a chain.
#[derive(Debug, thiserror::Error)]
pub(super) enum VerifyError {
    #[error("no certificate")]
    NoCertificate,
    #[error("too many intermediate certificates")]
    TooManyIntermediates,
    #[error("the client certificate cannot be decoded: {0}")]
    Malformed(#[from] x509_cert::der::Error),
    #[error("verifying the client certificate failed: {0}")]
    Path(#[from] webpki::Error),
}

impl CaBundle {
    /// Reads a bundle in PEM; errors name its `origin`.
    ///
    /// Every certificate that can be parsed is accepted. Its constraints are checked on use, because validity changes over
    /// time, and because a client may present the very certificate that is in the bundle.
    pub(super) fn new(origin: &str, pem: Vec<u8>) -> Result<Self, TlsError> {
        let found = certificates(origin, &pem)?;
        Self::of(origin, pem, found)
    }

    fn of(origin: &str, pem: Vec<u8>, found: Vec<CertificateDer<'static>>) -> Result<Self, TlsError> {
        let (mut anchors, mut certificates) = (Vec::new(), Vec::new());
        for certificate in found {
            let constraints =
                Constraints::of(&certificate).map_err(|error| TlsError::content(origin, &error))?;
            let anchor =
                anchor_from_trusted_cert(&certificate).map_err(|error| TlsError::content(origin, &error))?;
            anchors.push(anchor.to_owned());
            certificates.push(BundleCertificate { certificate, constraints });
        }
        Ok(Self { pem, anchors, certificates })
    }

    /// Returns the subjects in DER, by which clients choose a certificate.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Vec<u8>> {
        self.anchors.iter().map(|anchor| DistinguishedName::in_sequence(&anchor.subject).as_ref().to_vec())
    }

    /// Verifies the certificate chain of a client, and returns when the first certificate on the path expires.
    ///
    /// As Go's `Certificate.Verify` for `ExtKeyUsageClientAuth` (`crypto/x509/verify.go`): the client's certificate, each
    /// intermediate and the CA itself must be valid now, allow client authentication if they name purposes, and have no
    /// unknown critical extension. An issuer must be a CA (or, as the root, older than version 3), may sign certificates,
    /// and has no more intermediates below it than allowed. A client that presents a certificate of the bundle needs no
    /// issuer: then it need not be a CA.
    ///
    /// webpki checks signatures, names, name constraints and everything below the CA except for the key usage;
    /// `check_path` checks the rest.
    ///
    /// Cost: one or two signature checks, 0.1 ms; a dozen for a chain that is made to be expensive.
    pub(super) fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<UnixTime, VerifyError> {
        let (leaf, intermediates) = chain.split_first().ok_or(VerifyError::NoCertificate)?;
        if intermediates.len() > MAX_INTERMEDIATES {
            return Err(VerifyError::TooManyIntermediates);
        }
        if let Some(own) = self.certificates.iter().find(|own| own.certificate == *leaf) {
            own.constraints.check(now)?;
            return Ok(own.constraints.not_after());
        }
        let client = EndEntityCert::try_from(leaf)?;
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        let is_allowed = |path: &VerifiedPath<'_>| self.check_path(path, now).map(drop);
        let path = client.verify_for_usage(
            algorithms,
            &self.anchors,
            intermediates,
            now,
            ClientAuth,
            None,
            Some(&is_allowed),
        )?;
        Ok(self.check_path(&path, now)?.min(Constraints::of(leaf)?.not_after()))
    }

    /// Checks the CA's certificate and the key usage of intermediates, which webpki does not. Returns when the first of
    /// them expires.
    fn check_path(&self, path: &VerifiedPath<'_>, now: UnixTime) -> Result<UnixTime, webpki::Error> {
        let anchors = self.anchors.iter().zip(&self.certificates);
        let mut found =
            anchors.filter(|(anchor, _)| std::ptr::eq(*anchor, path.anchor())).map(|(_, own)| own);
        let ca = &found.next().ok_or(webpki::Error::UnknownIssuer)?.constraints;
        let mut intermediates = 0;
        let mut expires_at = ca.not_after();
        for intermediate in path.intermediate_certificates() {
            let constraints = Constraints::of(&intermediate.der()).map_err(|_| webpki::Error::BadDer)?;
            constraints.check_issuer(intermediates, now)?;
            intermediates += 1;
            expires_at = expires_at.min(constraints.not_after());
        }
        ca.check_issuer(intermediates, now)?;
        Ok(expires_at)
    }
}

/// Bundles are equal if their PEM is.
impl PartialEq for CaBundle {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl fmt::Debug for CaBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CaBundle").field(&self.anchors.len()).finish()
    }
}

#[cfg(test)]
mod tests;
