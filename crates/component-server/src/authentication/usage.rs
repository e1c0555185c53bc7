//! Limits that a certificate sets to its own use.

use rustls::pki_types::UnixTime;
use webpki::{ExtendedKeyUsageValidator, KeyPurposeIdIter};
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};

const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");
const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
/// [`ANY_PURPOSE`] as webpki spells it.
const ANY_PURPOSE_REPR: [usize; 5] = [2, 5, 29, 37, 0];
/// Extensions (under 2.5.29) that an authority may mark as critical: key identifiers, key usage, names, basic and name
/// constraints, revocation lists, policies (without constraints on them, any policy is fine), purposes.
const UNDERSTOOD: [u32; 9] = [14, 15, 17, 19, 30, 31, 32, 35, 37];

/// The limits that a certificate sets to its own use.
#[derive(Debug)]
pub(super) struct Usage {
    not_before: UnixTime,
    not_after: UnixTime,
    signs_certificates: bool,
    path_len: Option<u8>,
    identifies_clients: bool,
    is_understood: bool,
}

impl Usage {
    /// Reads the limits from a certificate in DER. Fails if an extension is malformed or there twice.
    pub(super) fn of(certificate: &[u8]) -> Result<Self, x509_cert::der::Error> {
        let certificate = Certificate::from_der(certificate)?;
        let certificate = certificate.tbs_certificate();
        let basic = certificate.get_extension::<BasicConstraints>()?.map(|(_, basic)| basic);
        let usage = certificate.get_extension::<KeyUsage>()?.map(|(_, usage)| usage);
        let purposes = certificate.get_extension::<ExtendedKeyUsage>()?.map(|(_, purposes)| purposes.0);
        // Before version 3 there were no extensions: such a certificate may sign. No bit of the key usage stands for no
        // extension (`crypto/x509` `CheckSignatureFrom`).
        let is_authority = basic.as_ref().map_or(certificate.version() != Version::V3, |basic| basic.ca);
        let has_key_for_it = usage.is_none_or(|usage| usage.0.is_empty() || usage.key_cert_sign());
        let validity = certificate.validity();
        let mut extensions = certificate.extensions().into_iter().flatten();
        Ok(Self {
            not_before: UnixTime::since_unix_epoch(validity.not_before.to_unix_duration()),
            not_after: UnixTime::since_unix_epoch(validity.not_after.to_unix_duration()),
            signs_certificates: is_authority && has_key_for_it,
            path_len: basic.and_then(|basic| basic.path_len_constraint),
            identifies_clients: purposes
                .is_none_or(|all| all.is_empty() || all.iter().any(|purpose| is_for_clients(*purpose))),
            is_understood: extensions
                .all(|extension| !extension.critical || is_understood(extension.extn_id)),
        })
    }

    /// Returns the end of its validity.
    pub(super) fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// Checks that the certificate may identify clients, itself or through what it signs.
    pub(super) fn check(&self, now: UnixTime) -> Result<(), webpki::Error> {
        let Self { not_before, not_after, .. } = *self;
        if now < not_before {
            return Err(webpki::Error::CertNotValidYet { time: now, not_before });
        }
        if now > not_after {
            return Err(webpki::Error::CertExpired { time: now, not_after });
        }
        if !self.is_understood {
            return Err(webpki::Error::UnsupportedCriticalExtension);
        }
        if !self.identifies_clients {
            return Err(unfit_purpose());
        }
        Ok(())
    }

    /// Checks that the certificate may sign others, with this number of certificates between it and the client's.
    pub(super) fn check_issuer(&self, between: usize, now: UnixTime) -> Result<(), webpki::Error> {
        self.check(now)?;
        if !self.signs_certificates {
            return Err(webpki::Error::EndEntityUsedAsCa);
        }
        if self.path_len.is_some_and(|most| between > usize::from(most)) {
            return Err(webpki::Error::PathLenConstraintViolated);
        }
        Ok(())
    }
}

/// Accepts what Go accepts of each certificate below an authority: no purposes, any purpose, or clients.
///
/// webpki's own `KeyUsage::client_auth` knows nothing of `anyExtendedKeyUsage`.
pub(super) struct ForClients;

impl ExtendedKeyUsageValidator for ForClients {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut is_restricted = false;
        for purpose in purposes {
            is_restricted = true;
            let arcs = purpose?.to_decoded_oid();
            if arcs == webpki::KeyUsage::CLIENT_AUTH_REPR || arcs == ANY_PURPOSE_REPR {
                return Ok(());
            }
        }
        if is_restricted { Err(unfit_purpose()) } else { Ok(()) }
    }
}

fn is_for_clients(purpose: ObjectIdentifier) -> bool {
    purpose == ANY_PURPOSE || purpose == CLIENT_AUTH
}

fn is_understood(extension: ObjectIdentifier) -> bool {
    let mut arcs = extension.arcs();
    arcs.by_ref().take(3).eq([2, 5, 29])
        && arcs.next().is_some_and(|arc| UNDERSTOOD.contains(&arc))
        && arcs.next().is_none()
}

fn unfit_purpose() -> webpki::Error {
    let required = webpki::KeyUsage::client_auth();
    webpki::Error::RequiredEkuNotFoundContext(webpki::RequiredEkuNotFoundContext {
        required,
        present: Vec::new(),
    })
}
