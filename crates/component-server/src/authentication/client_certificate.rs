//! The user in a client certificate.

use std::fmt::Write as _;

use ring::digest;
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::{AnyRef, ObjectIdentifier};
use x509_cert::der::{self, Decode, Reader, SliceReader, Tag, Tagged};

use super::User;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
/// Kubernetes' own attribute for the uid of the user (`AllowParsingUserUIDFromCertAuth`).
const USER_UID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57683.2");

/// The attributes of a subject that mean something to Kubernetes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The last one in the order of the certificate, as in Go; empty if there is none.
    pub(crate) common_name: String,
    organizations: Vec<String>,
    uids: Vec<String>,
}

impl Subject {
    /// Reads the subject of a certificate.
    ///
    /// An attribute whose value is not text is an error, whichever it is: Go reads no certificate that has one
    /// (`crypto/x509` `parseName`), and to leave it out would make another user of the rest.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let certificate = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
        let mut subject = Self::default();
        for attribute in attributes(certificate.subject()).map_err(|error| error.to_string())? {
            let text =
                text(&attribute).ok_or_else(|| format!("invalid value of attribute {}", attribute.oid))?;
            match attribute.oid {
                COMMON_NAME => subject.common_name = text,
                ORGANIZATION => subject.organizations.push(text),
                USER_UID => subject.uids.push(text),
                _ => (),
            }
        }
        Ok(subject)
    }

    /// Reads the subject of the first certificate of a chain.
    pub(super) fn of_chain(chain: &[CertificateDer<'_>]) -> Result<Self, String> {
        Self::of(chain.first().ok_or("no certificate")?)
    }
}

/// The attributes of a name, in the order of its encoding.
///
/// `x509_cert::name::Name` sorts those that stand in one set, and so another might be the last.
fn attributes(name: &[u8]) -> der::Result<Vec<AttributeTypeAndValue>> {
    let mut attributes = Vec::new();
    let mut sets = SliceReader::new(name)?;
    while !sets.is_finished() {
        let set = AnyRef::decode(&mut sets)?;
        set.tag().assert_eq(Tag::Set)?;
        let mut set = SliceReader::new(set.value())?;
        while !set.is_finished() {
            attributes.push(AttributeTypeAndValue::decode(&mut set)?);
        }
    }
    Ok(attributes)
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

/// The text of an attribute (`crypto/x509` `parseASN1String`); none if it has another type, or breaks its rules.
fn text(attribute: &AttributeTypeAndValue) -> Option<String> {
    let bytes = attribute.value.value();
    let all = |is_allowed: fn(u8) -> bool| bytes.iter().copied().all(is_allowed);
    match attribute.value.tag() {
        Tag::Utf8String => String::from_utf8(bytes.to_vec()).ok(),
        Tag::PrintableString if all(is_printable) => String::from_utf8(bytes.to_vec()).ok(),
        Tag::Ia5String if bytes.is_ascii() => String::from_utf8(bytes.to_vec()).ok(),
        Tag::NumericString if all(|b| matches!(b, b'0'..=b'9' | b' ')) => {
            String::from_utf8(bytes.to_vec()).ok()
        }
        // Taken for Latin-1, as everywhere.
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => basic_multilingual(bytes),
        _ => None,
    }
}

/// Go takes `*` and `&` for printable, too.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&byte)
}

/// Two bytes a character, possibly with a zero at the end; no surrogates, no characters that are none.
fn basic_multilingual(bytes: &[u8]) -> Option<String> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let bytes = bytes.strip_suffix(&[0, 0]).unwrap_or(bytes);
    let points =
        bytes.chunks_exact(2).map(|pair| pair.iter().fold(0, |point, byte| point << 8 | u32::from(*byte)));
    points
        .map(|point| char::from_u32(point).filter(|_| !matches!(point, 0xfffe | 0xffff | 0xfdd0..=0xfdef)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    fn certificate(attributes: &[(&'static [u64], &str)]) -> CertificateDer<'static> {
        let utf8 = |&(oid, value): &(&'static [u64], &str)| (oid, DnValue::Utf8String(value.to_owned()));
        of_values(attributes.iter().map(utf8))
    }

    fn of_values(attributes: impl IntoIterator<Item = (&'static [u64], DnValue)>) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (oid, value) in attributes {
            params.distinguished_name.push(DnType::CustomDnType(oid.to_vec()), value);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    /// The certificate with other bytes in it, whose signature is wrong from then on, which is not checked here.
    fn replaced(certificate: &CertificateDer<'_>, from: &[u8], to: &[u8]) -> CertificateDer<'static> {
        let at = certificate.windows(from.len()).rposition(|window| window == from).unwrap();
        let mut bytes = certificate.to_vec();
        bytes.splice(at..at + from.len(), to.iter().copied());
        CertificateDer::from(bytes)
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

    #[test]
    fn text_is_read_in_each_of_go_s_types() {
        let cases = [
            DnValue::Utf8String("bob".to_owned()),
            DnValue::PrintableString("bob".try_into().unwrap()),
            DnValue::Ia5String("bob".try_into().unwrap()),
            DnValue::TeletexString("bob".try_into().unwrap()),
            DnValue::BmpString("bob".try_into().unwrap()),
        ];
        for value in cases {
            let user = user(&[of_values([(CN, value.clone())])]).unwrap().unwrap();
            assert_eq!(user.name, "bob", "{value:?}");
        }
        // The tag of a string and its length, then the string.
        let latin = replaced(&certificate(&[(CN, "b_b")]), b"\x0c\x03b_b", b"\x14\x03b\xf6b");
        assert_eq!(user(&[latin]).unwrap().unwrap().name, "böb");
        let numeric = replaced(&certificate(&[(CN, "123")]), b"\x0c\x03123", b"\x12\x03123");
        assert_eq!(user(&[numeric]).unwrap().unwrap().name, "123");
    }

    /// Without the part that cannot be read, the name would be that of another user.
    #[test]
    fn a_subject_that_cannot_be_read_is_an_error_and_not_another_user() {
        for oid in [CN, O, UID, &[2, 5, 4, 6]] {
            let good = certificate(&[(CN, "bob"), (oid, "x_x")]);
            for bad in [
                b"\x0c\x03\xff_x", // no UTF-8
                b"\x13\x03x_x",    // no printable character
                b"\x16\x03x\xffx", // not ASCII
                b"\x12\x03x_x",    // no number
                b"\x1e\x03x_x",    // not two bytes a character
                b"\x1c\x03x_x",    // a type that Go knows nothing of
                b"\x04\x03x_x",    // bytes
            ] {
                let verdict = user(&[replaced(&good, b"\x0c\x03x_x", bad)]);
                assert!(verdict.is_err(), "{verdict:?} of {bad:?}");
            }
        }
    }

    #[test]
    fn the_last_common_name_counts_in_the_order_of_the_encoding() {
        let of = |names: [&[u8]; 2]| {
            let attribute = |name: &[u8]| [&b"\x30\x0a\x06\x03\x55\x04\x03\x0c\x03"[..], name].concat();
            // Both in one set, whose elements should be sorted, and in the place of a single one of the same length.
            let set = [&b"\x31\x18"[..], &attribute(names[0]), &attribute(names[1])].concat();
            let single = [&b"\x31\x18\x30\x16\x06\x03\x55\x04\x03\x0c\x0f"[..], b"aaaa_bbbb_cccc_"].concat();
            user(&[replaced(&certificate(&[(CN, "aaaa_bbbb_cccc_")]), &single, &set)]).unwrap().unwrap().name
        };
        assert_eq!(of([b"ann", b"zed"]), "zed");
        assert_eq!(of([b"zed", b"ann"]), "ann");
    }
}
