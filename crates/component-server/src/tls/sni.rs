//! Choice of the serving certificate by server name (SNI).

use std::collections::HashMap;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::error::TlsError;
use super::pem;
use super::source::{CertKeyContent, CertificateContent};
use super::subject::Subject;

/// Certificates by server name (`dynamiccertificates/named_certificates.go`).
#[derive(Debug)]
pub(super) struct SniResolver {
    default: Arc<CertifiedKey>,
    named: HashMap<String, Arc<CertifiedKey>>,
}

impl SniResolver {
    /// Loads the certificates. Configured names take precedence over names in certificates, earlier pairs over later ones.
    pub(super) fn new(content: &CertificateContent, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let load =
            |pair: &CertKeyContent| pem::certified_key(&pair.origin, &pair.certificate, &pair.key, provider);
        let default = Arc::new(load(&content.default)?);
        let pairs: Vec<_> =
            content.sni.iter().map(|pair| Ok((pair, Arc::new(load(pair)?)))).collect::<Result<_, _>>()?;
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

impl ResolvesServerCert for SniResolver {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.choose(client_hello.server_name())))
    }
}

/// Returns the DNS names in a certificate, and its common name if that is a valid one.
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

    fn pair(origin: &str, in_certificate: &[&str], names: &[&str]) -> CertKeyContent {
        let subject: Vec<String> = in_certificate.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(subject).unwrap();
        CertKeyContent {
            origin: origin.to_owned(),
            certificate: made.cert.pem().into_bytes(),
            key: made.signing_key.serialize_pem().into_bytes().into(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn configured_names_precede_names_in_certificates_and_earlier_pairs_later_ones() {
        let content = CertificateContent {
            default: pair("default", &["localhost"], &[]),
            sni: vec![
                pair("extracted", &["a.example", "b.example"], &[]),
                pair("given", &["x"], &["b.example", "*.w.example", "B.example"]),
                pair("late", &["a.example"], &["b.example"]),
            ],
        };
        let by_name = SniResolver::new(&content, &default_provider()).unwrap();
        let certificate = |pair: &CertKeyContent| pem::certificates("", &pair.certificate).unwrap();
        let chosen = |name: Option<&str>| {
            let chosen = by_name.choose(name).cert.clone();
            let all = content.sni.iter().chain([&content.default]);
            all.filter(|pair| certificate(pair) == chosen).map(|pair| pair.origin.as_str()).next().unwrap()
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
    fn common_names_that_are_no_domain_names_are_ignored() {
        for (name, expected) in
            [("a.b", true), ("*.a", true), ("*", true), ("10.0.0.1", false), ("A b", false), ("", false)]
        {
            assert_eq!(is_domain(name), expected, "{name}");
        }
    }
}
