//! Self-signed serving certificates.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use zeroize::{Zeroize, Zeroizing};

use super::error::TlsError;

const LIFETIME: Duration = Duration::from_hours(365 * 24);
/// The certificate is valid from this long before now, for clients whose clocks are behind.
const LEEWAY: Duration = Duration::from_hours(1);

/// Generates a certificate, followed by that of its CA, which signs nothing else, and the key, both in PEM.
///
/// As upstream (`client-go/util/cert` `GenerateSelfSignedCertKey`): for `localhost`, `127.0.0.1` and the bind address,
/// valid for a year. The key is P-256 instead of RSA, which is faster to generate and in each handshake.
pub(super) fn generate(bind_address: IpAddr) -> Result<(String, Zeroizing<String>), TlsError> {
    make(bind_address).map_err(TlsError::SelfSigned)
}

fn make(bind_address: IpAddr) -> Result<(String, Zeroizing<String>), rcgen::Error> {
    let now = SystemTime::now();
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();

    let mut ca = params(&format!("localhost-ca@{seconds}"), now);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let mut ca_key = KeyPair::generate()?;
    let ca_certificate = ca.self_signed(&ca_key)?;

    let mut serving = params(&format!("localhost@{seconds}"), now);
    serving.is_ca = IsCa::ExplicitNoCa;
    serving.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    serving.use_authority_key_identifier_extension = true;
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), bind_address];
    let distinct = addresses.iter().enumerate().filter(|(index, address)| {
        !address.is_unspecified() && (*index == 0 || **address != Ipv4Addr::LOCALHOST)
    });
    serving.subject_alt_names = vec![SanType::DnsName("localhost".try_into()?)];
    serving.subject_alt_names.extend(distinct.map(|(_, address)| SanType::IpAddress(*address)));
    let mut key = KeyPair::generate()?;
    let certificate = serving.signed_by(&key, &Issuer::from_params(&ca, &ca_key))?;

    let pem = Zeroizing::new(key.serialize_pem());
    // The keys stay in memory only as long as needed.
    ca_key.zeroize();
    key.zeroize();
    Ok((certificate.pem() + &ca_certificate.pem(), pem))
}

fn params(common_name: &str, now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = (now - LEEWAY).into();
    params.not_after = (now - LEEWAY + LIFETIME).into();
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::sync::Arc;

    #[test]
    fn a_client_that_trusts_the_ca_accepts_the_certificate() {
        let (certificates, key) = generate("10.1.2.3".parse().unwrap()).unwrap();
        let chain = super::super::pem::certificates("generated", certificates.as_bytes()).unwrap();
        let [leaf, ca] = chain.as_slice() else { panic!("two certificates, not {}", chain.len()) };
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        for (name, trusted) in
            [("localhost", true), ("127.0.0.1", true), ("10.1.2.3", true), ("10.1.2.4", false)]
        {
            let name = ServerName::try_from(name).unwrap();
            let verdict = verifier.verify_server_cert(leaf, &[], &name, &[], UnixTime::now());
            assert_eq!(verdict.is_ok(), trusted, "{name:?}: {verdict:?}");
        }
    }
}
