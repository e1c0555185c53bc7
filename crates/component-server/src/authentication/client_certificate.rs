//! The user in a client certificate.

use std::fmt::Write as _;

use ring::digest;
use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Tag, Tagged};

use super::User;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
/// Kubernetes' own attribute for the uid of the user (`AllowParsingUserUIDFromCertAuth`).
const USER_UID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57683.2");

/// The attributes of a subject that mean something to Kubernetes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The last one, as Go has it; empty if there is none.
    pub(crate) common_name: String,
    organizations: Vec<String>,
    uids: Vec<String>,
}

impl Subject {
    pub(crate) fn of(certificate: &Certificate) -> Self {
        let mut subject = Self::default();
        for attribute in certificate.tbs_certificate().subject().iter() {
            let Some(text) = text(attribute) else { continue };
            match attribute.oid {
                COMMON_NAME => subject.common_name = text,
                ORGANIZATION => subject.organizations.push(text),
                USER_UID => subject.uids.push(text),
                _ => (),
            }
        }
        subject
    }

    /// Reads the subject of the first certificate of a chain.
    pub(super) fn of_chain(chain: &[CertificateDer<'_>]) -> Result<Self, String> {
        let leaf = chain.first().ok_or("no certificate")?;
        let certificate = Certificate::from_der(leaf).map_err(|error| error.to_string())?;
        Ok(Self::of(&certificate))
    }
}

/// The common name as user, the organizations as groups (`x509.go` `CommonNameUserConversion`); nobody without a common
/// name.
pub(super) fn user(chain: &[CertificateDer<'_>]) -> Result<Option<User>, String> {
    let Subject { common_name, organizations, uids } = Subject::of_chain(chain)?;
    if common_name.is_empty() {
        return Ok(None);
    }
    let uid = match uids.as_slice() {
        [] => String::new(),
        [uid] if !uid.is_empty() => uid.clone(),
        [_] => return Err("UID cannot be an empty string".to_owned()),
        _ => return Err("expected 1 UID, but found multiple".to_owned()),
    };
    let credential = format!("X509SHA256={}", chain.first().map(fingerprint).unwrap_or_default());
    let extra = [("authentication.kubernetes.io/credential-id".to_owned(), vec![credential])].into();
    Ok(Some(User { name: common_name, uid, groups: organizations, extra }))
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = digest::digest(&digest::SHA256, certificate);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // into a String: cannot fail
        text
    })
}

fn text(attribute: &AttributeTypeAndValue) -> Option<String> {
    match attribute.value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String => {
            std::str::from_utf8(attribute.value.value()).ok().map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    fn certificate(attributes: &[(&[u64], &str)]) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (oid, value) in attributes {
            let value = DnValue::Utf8String((*value).to_owned());
            params.distinguished_name.push(DnType::CustomDnType(oid.to_vec()), value);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    const CN: &[u64] = &[2, 5, 4, 3];
    const O: &[u64] = &[2, 5, 4, 10];
    const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];

    #[test]
    fn common_name_organization_and_uid_make_the_user() {
        let user = user(&[certificate(&[(O, "devs"), (CN, "bob"), (UID, "7")])]).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "7"));
        assert_eq!(user.groups, ["devs"]);
        let credential = &user.extra["authentication.kubernetes.io/credential-id"][0];
        assert_eq!(credential.len(), "X509SHA256=".len() + 64, "{credential}");
    }

    #[test]
    fn nobody_without_a_common_name() {
        assert_eq!(user(&[certificate(&[(O, "devs")])]), Ok(None));
    }

    #[test]
    fn an_empty_uid_is_an_error() {
        let error = user(&[certificate(&[(CN, "bob"), (UID, "")])]).unwrap_err();
        assert_eq!(error, "UID cannot be an empty string");
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(user(&[CertificateDer::from(vec![0x30, 0x80, 1])]).is_err());
        assert!(user(&[]).is_err());
    }
}
