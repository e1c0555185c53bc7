//! The subject of a certificate.

use std::fmt::Write as _;

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::{AnyRef, ObjectIdentifier};
use x509_cert::der::{self, Decode, Reader, SliceReader, Tag, Tagged};

use crate::go_text::beginning;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
/// Attribute of Kubernetes for the uid of the user (`AllowParsingUserUIDFromCertAuth`).
const USER_UID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57683.2");

/// Bytes of a serial number that are shown; CAs must not use more.
const SERIAL_BYTES: usize = 20;

/// The attributes of a subject that Kubernetes uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The last common name in the order of the encoding, as in Go; empty if there is none.
    pub(crate) common_name: String,
    /// All organizations in the order of the encoding.
    pub(crate) organizations: Vec<String>,
    /// All uids.
    pub(crate) uids: Vec<String>,
}

impl Subject {
    /// Reads the subject of a certificate.
    ///
    /// # Errors
    ///
    /// A malformed certificate, or any attribute whose value is not text: Go rejects such a certificate (`crypto/x509`
    /// `parseName`), and ignoring the attribute would yield another user.
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
    pub(crate) fn of_chain(chain: &[CertificateDer<'_>]) -> Result<Self, String> {
        Self::of(chain.first().ok_or("no certificate")?)
    }

    /// Describes a certificate for the log by its serial number and subject, which may be unverified: one line of bounded
    /// length.
    pub(crate) fn description(certificate: &CertificateDer<'_>) -> String {
        let Ok(parsed) = EndEntityCert::try_from(certificate) else { return "unreadable".to_owned() };
        let mut text = "serial ".to_owned();
        for byte in parsed.serial().iter().take(SERIAL_BYTES) {
            let _ = write!(text, "{byte:02x}"); // into a String: cannot fail
        }
        let subject = Self::of(certificate).map_or_else(|error| error, |subject| subject.names());
        let subject = subject.replace(char::is_control, "\u{fffd}");
        let _ = write!(text, ", subject {}", beginning(&subject));
        text
    }

    fn names(&self) -> String {
        let mut names = vec![format!("CN={}", self.common_name)];
        names.extend(self.organizations.iter().map(|organization| format!("O={organization}")));
        names.join(",")
    }
}

/// Returns the attributes of a name in the order of the encoding.
///
/// `x509_cert::name::Name` sorts the attributes of a set, which could change the last common name.
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

/// Returns the text of an attribute (`crypto/x509` `parseASN1String`); none for another type or invalid characters.
fn text(attribute: &AttributeTypeAndValue) -> Option<String> {
    let bytes = attribute.value.value();
    let if_all = |is_allowed: fn(u8) -> bool| {
        let is_allowed = bytes.iter().copied().all(is_allowed);
        String::from_utf8(bytes.to_vec()).ok().filter(|_| is_allowed)
    };
    match attribute.value.tag() {
        Tag::Utf8String => if_all(|_| true),
        Tag::PrintableString => if_all(is_printable),
        Tag::Ia5String => if_all(|byte| byte.is_ascii()),
        Tag::NumericString => if_all(|byte| matches!(byte, b'0'..=b'9' | b' ')),
        // Read as Latin-1, as other implementations do.
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => basic_multilingual(bytes),
        _ => None,
    }
}

/// Go accepts `*` and `&`, too.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&byte)
}

/// Decodes two bytes a character, with an optional terminating zero; no surrogates or noncharacters.
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

    /// Replaces bytes of the certificate. Its signature is invalid then, which is not checked here.
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
    fn text_is_read_in_every_type_that_go_reads() {
        let cases = [
            DnValue::Utf8String("bob".to_owned()),
            DnValue::PrintableString("bob".try_into().unwrap()),
            DnValue::Ia5String("bob".try_into().unwrap()),
            DnValue::TeletexString("bob".try_into().unwrap()),
            DnValue::BmpString("bob".try_into().unwrap()),
        ];
        for value in cases {
            let subject = Subject::of(&of_values([(CN, value.clone())])).unwrap();
            assert_eq!(subject.common_name, "bob", "{value:?}");
        }
        // The tag of a string and its length, then the string.
        let latin = replaced(&certificate(&[(CN, "b_b")]), b"\x0c\x03b_b", b"\x14\x03b\xf6b");
        assert_eq!(Subject::of(&latin).unwrap().common_name, "böb");
        let numeric = replaced(&certificate(&[(CN, "123")]), b"\x0c\x03123", b"\x12\x03123");
        assert_eq!(Subject::of(&numeric).unwrap().common_name, "123");
    }

    /// Ignoring the unreadable attribute would yield another user.
    #[test]
    fn an_unreadable_subject_is_an_error_and_not_another_user() {
        for oid in [CN, O, UID, &[2, 5, 4, 6]] {
            let good = certificate(&[(CN, "bob"), (oid, "x_x")]);
            for bad in [
                b"\x0c\x03\xff_x", // no UTF-8
                b"\x13\x03x_x",    // no printable character
                b"\x16\x03x\xffx", // not ASCII
                b"\x12\x03x_x",    // no number
                b"\x1e\x03x_x",    // not two bytes a character
                b"\x1c\x03x_x",    // a type that Go does not know
                b"\x04\x03x_x",    // bytes
            ] {
                let subject = Subject::of(&replaced(&good, b"\x0c\x03x_x", bad));
                assert!(subject.is_err(), "{subject:?} of {bad:?}");
            }
        }
    }

    #[test]
    fn a_description_is_one_line_of_bounded_length() {
        let of = |name: &str| {
            let text = Subject::description(&certificate(&[(CN, name), (O, "devs")]));
            let (serial, subject) = text.split_once(", subject ").unwrap();
            let digits = serial.strip_prefix("serial ").unwrap();
            assert!(!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{serial}");
            subject.to_owned()
        };
        assert_eq!(of("bob"), "CN=bob,O=devs");
        assert_eq!(of("b\nE1231 fake\u{1b}[2J"), "CN=b\u{fffd}E1231 fake\u{fffd}[2J,O=devs");
        assert_eq!(of(&"b".repeat(5000)).len(), 256 + "...".len());
        assert_eq!(Subject::description(&CertificateDer::from(&b"rubbish"[..])), "unreadable");
    }

    #[test]
    fn the_last_common_name_in_encoding_order_is_used() {
        let of = |names: [&[u8]; 2]| {
            let attribute = |name: &[u8]| [&b"\x30\x0a\x06\x03\x55\x04\x03\x0c\x03"[..], name].concat();
            // Two names in one set, whose elements should be sorted, replace a single one of the same length.
            let set = [&b"\x31\x18"[..], &attribute(names[0]), &attribute(names[1])].concat();
            let single = [&b"\x31\x18\x30\x16\x06\x03\x55\x04\x03\x0c\x0f"[..], b"aaaa_bbbb_cccc_"].concat();
            Subject::of(&replaced(&certificate(&[(CN, "aaaa_bbbb_cccc_")]), &single, &set))
                .unwrap()
                .common_name
        };
        assert_eq!(of([b"ann", b"zed"]), "zed");
        assert_eq!(of([b"zed", b"ann"]), "ann");
    }
}
