//! Which certificate for which name (SNI).

use std::collections::HashMap;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::material::{KeyPair, Material};
use super::{TlsError, pem};
use crate::authentication::Subject;

/// Certificates by the name that a client asks for (`dynamiccertificates/named_certificates.go`).
#[derive(Debug)]
pub(super) struct ByName {
    default: Arc<CertifiedKey>,
    named: HashMap<String, Arc<CertifiedKey>>,
}

impl ByName {
    /// Earlier pairs win over later ones, names that were given over names from certificates.
    pub(super) fn new(material: &Material, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let load = |pair: &KeyPair| pem::certified_key(&pair.what, &pair.certificate, &pair.key, provider);
        let default = Arc::new(load(&material.default)?);
        let pairs: Vec<_> =
            material.named.iter().map(|pair| Ok((pair, Arc::new(load(pair)?)))).collect::<Result<_, _>>()?;
        let mut named = HashMap::new();
        for (pair, key) in &pairs {
            for name in &pair.names {
                named.entry(name.to_ascii_lowercase()).or_insert_with(|| Arc::clone(key));
            }
        }
        for (_, key) in pairs.iter().filter(|(pair, _)| pair.names.is_empty()) {
            for name in key.cert.first().map(names_in).unwrap_or_default() {
                named.entry(name.to_ascii_lowercase()).or_insert_with(|| Arc::clone(key));
            }
        }
        Ok(Self { default, named })
    }

    fn choose(&self, name: Option<&str>) -> &Arc<CertifiedKey> {
        let Some(name) = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase()) else {
            return &self.default;
        };
        let wildcard = || name.split_once('.').and_then(|(_, rest)| self.named.get(&format!("*.{rest}")));
        self.named.get(&name).or_else(wildcard).unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.choose(client_hello.server_name())))
    }
}

/// The DNS names in a certificate, and its common name where that looks like one.
fn names_in(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok(parsed) = x509_cert::Certificate::from_der(certificate) else { return Vec::new() };
    let common_name = Subject::of(certificate).unwrap_or_default().common_name;
    let mut names: Vec<String> = Some(common_name).filter(|name| is_domain(name)).into_iter().collect();
    if let Ok(Some((_, SubjectAltName(alternatives)))) = parsed.tbs_certificate().get_extension() {
        names.extend(alternatives.into_iter().filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.to_string()),
            _ => None,
        }));
    }
    names
}

fn is_domain(name: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        inner && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let host = name.strip_prefix("*.").unwrap_or(name);
    name == "*" || (host.split('.').all(label) && host.parse::<std::net::IpAddr>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::ring::default_provider;

    fn pair(what: &str, in_certificate: &[&str], names: &[&str]) -> KeyPair {
        let subject: Vec<String> = in_certificate.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(subject).unwrap();
        KeyPair {
            what: what.to_owned(),
            certificate: made.cert.pem().into_bytes(),
            key: made.signing_key.serialize_pem().into_bytes().into(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn given_names_beat_names_in_certificates_and_earlier_beats_later() {
        let material = Material {
            default: pair("default", &["localhost"], &[]),
            named: vec![
                pair("extracted", &["a.example", "b.example"], &[]),
                pair("given", &["x"], &["b.example", "*.w.example", "B.example"]),
                pair("late", &["a.example"], &["b.example"]),
            ],
        };
        let by_name = ByName::new(&material, &default_provider()).unwrap();
        let certificate = |pair: &KeyPair| pem::certificates("", &pair.certificate).unwrap();
        let chosen = |name: Option<&str>| {
            let chosen = by_name.choose(name).cert.clone();
            let all = material.named.iter().chain([&material.default]);
            all.filter(|pair| certificate(pair) == chosen).map(|pair| pair.what.as_str()).next().unwrap()
        };
        assert_eq!(chosen(None), "default");
        assert_eq!(chosen(Some("elsewhere")), "default");
        assert_eq!(chosen(Some("A.example.")), "extracted");
        assert_eq!(chosen(Some("b.example")), "given");
        assert_eq!(chosen(Some("deep.w.example")), "given");
        assert_eq!(chosen(Some("too.deep.w.example")), "default");
        assert_eq!(chosen(Some("w.example")), "default");
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (one, other) = (pair("one", &["a"], &[]), pair("other", &["b"], &[]));
        let mixed = KeyPair { key: other.key.clone(), ..one };
        let error = ByName::new(&Material { default: mixed, named: vec![] }, &default_provider());
        assert_eq!(error.unwrap_err().to_string(), "one: keys may not be consistent: KeyMismatch");
    }

    #[test]
    fn common_names_that_are_no_domains_do_not_count() {
        for (name, expected) in
            [("a.b", true), ("*.a", true), ("*", true), ("10.0.0.1", false), ("A b", false), ("", false)]
        {
            assert_eq!(is_domain(name), expected, "{name}");
        }
    }
}
