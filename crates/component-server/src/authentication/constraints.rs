//! The constraints that a certificate places on its own use.

use rustls::pki_types::UnixTime;
use webpki::{ExtendedKeyUsageValidator, KeyPurposeIdIter};
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};

const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");
const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
/// [`ANY_PURPOSE`] in the representation of webpki.
const ANY_PURPOSE_REPR: [usize; 5] = [2, 5, 29, 37, 0];
/// Extensions (under 2.5.29) that a CA certificate may mark as critical: key identifiers, key usage, names, basic and name
/// constraints, revocation lists, policies (without policy constraints, any policy is valid), purposes.
const KNOWN_EXTENSIONS: [u32; 9] = [14, 15, 17, 19, 30, 31, 32, 35, 37];

/// Validity, basic constraints, key usage and purposes of a certificate (RFC 5280, section 4.2.1).
#[derive(Debug)]
pub(super) struct Constraints {
    not_before: UnixTime,
    not_after: UnixTime,
    may_sign_certificates: bool,
    path_len: Option<u8>,
    may_identify_clients: bool,
    has_known_extensions: bool,
}

impl Constraints {
    /// Reads the constraints from a certificate in DER. Fails if an extension is malformed or present twice.
    pub(super) fn of(certificate: &[u8]) -> Result<Self, x509_cert::der::Error> {
        let certificate = Certificate::from_der(certificate)?;
        let certificate = certificate.tbs_certificate();
        let basic = certificate.get_extension::<BasicConstraints>()?.map(|(_, basic)| basic);
        let usage = certificate.get_extension::<KeyUsage>()?.map(|(_, usage)| usage);
        let purposes = certificate.get_extension::<ExtendedKeyUsage>()?.map(|(_, purposes)| purposes.0);
        // Versions 1 and 2 have no extensions, so such a certificate may sign. Go treats a key usage without bits as absent
        // (`crypto/x509` `CheckSignatureFrom`).
        let is_ca = basic.as_ref().map_or(certificate.version() != Version::V3, |basic| basic.ca);
        let may_use_key = usage.is_none_or(|usage| usage.0.is_empty() || usage.key_cert_sign());
        let validity = certificate.validity();
        let mut extensions = certificate.extensions().into_iter().flatten();
        Ok(Self {
            not_before: UnixTime::since_unix_epoch(validity.not_before.to_unix_duration()),
            not_after: UnixTime::since_unix_epoch(validity.not_after.to_unix_duration()),
            may_sign_certificates: is_ca && may_use_key,
            path_len: basic.and_then(|basic| basic.path_len_constraint),
            may_identify_clients: purposes
                .is_none_or(|all| all.is_empty() || all.iter().any(|purpose| is_client_auth(*purpose))),
            has_known_extensions: extensions
                .all(|extension| !extension.critical || is_known(extension.extn_id)),
        })
    }

    /// Returns the end of the validity.
    pub(super) fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// Checks that the certificate is valid now, and may identify clients or sign certificates that do.
    pub(super) fn check(&self, now: UnixTime) -> Result<(), webpki::Error> {
        let Self { not_before, not_after, .. } = *self;
        if now < not_before {
            return Err(webpki::Error::CertNotValidYet { time: now, not_before });
        }
        if now > not_after {
            return Err(webpki::Error::CertExpired { time: now, not_after });
        }
        if !self.has_known_extensions {
            return Err(webpki::Error::UnsupportedCriticalExtension);
        }
        if !self.may_identify_clients {
            return Err(wrong_purpose());
        }
        Ok(())
    }

    /// Checks that the certificate may sign others, with this number of intermediates between it and the client's.
    pub(super) fn check_issuer(&self, intermediates: usize, now: UnixTime) -> Result<(), webpki::Error> {
        self.check(now)?;
        if !self.may_sign_certificates {
            return Err(webpki::Error::EndEntityUsedAsCa);
        }
        if self.path_len.is_some_and(|max| intermediates > usize::from(max)) {
            return Err(webpki::Error::PathLenConstraintViolated);
        }
        Ok(())
    }
}

/// Accepts the purposes that Go accepts for each certificate below a CA: none, any purpose, or client authentication.
///
/// `KeyUsage::client_auth` of webpki does not accept `anyExtendedKeyUsage`.
pub(super) struct ClientAuth;

impl ExtendedKeyUsageValidator for ClientAuth {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut is_restricted = false;
        for purpose in purposes {
            is_restricted = true;
            let arcs = purpose?.to_decoded_oid();
            if arcs == webpki::KeyUsage::CLIENT_AUTH_REPR || arcs == ANY_PURPOSE_REPR {
                return Ok(());
            }
        }
        if is_restricted { Err(wrong_purpose()) } else { Ok(()) }
    }
}

fn is_client_auth(purpose: ObjectIdentifier) -> bool {
    purpose == ANY_PURPOSE || purpose == CLIENT_AUTH
}

fn is_known(extension: ObjectIdentifier) -> bool {
    let mut arcs = extension.arcs();
    arcs.by_ref().take(3).eq([2, 5, 29])
        && arcs.next().is_some_and(|arc| KNOWN_EXTENSIONS.contains(&arc))
        && arcs.next().is_none()
}

fn wrong_purpose() -> webpki::Error {
    let required = webpki::KeyUsage::client_auth();
    webpki::Error::RequiredEkuNotFoundContext(webpki::RequiredEkuNotFoundContext {
        required,
        present: Vec::new(),
    })
}
