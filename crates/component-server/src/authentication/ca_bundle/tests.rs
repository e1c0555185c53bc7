//! Chains of client certificates. `client_certificates_are_verified_as_upstream_verifies_them` of `tests` has the constraints that
//! certificates place on their use.

use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use scripted_api::pki::named;
use std::time::Duration;

type Change = fn(&mut CertificateParams);

/// A certificate that signs others in tests, whatever its constraints.
struct TestCa {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

fn authority(change: Change) -> CertificateParams {
    let mut params = named("authority", &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    change(&mut params);
    params
}

fn root(change: Change) -> TestCa {
    let (params, key) = (authority(change), KeyPair::generate().unwrap());
    TestCa { certificate: params.self_signed(&key).unwrap(), issuer: Issuer::new(params, key) }
}

impl TestCa {
    fn intermediate(&self, name: &str, change: Change) -> Self {
        let (mut params, key) = (authority(change), KeyPair::generate().unwrap());
        params.distinguished_name.push(DnType::CommonName, name);
        Self { certificate: params.signed_by(&key, &self.issuer).unwrap(), issuer: Issuer::new(params, key) }
    }

    fn client(&self, change: Change) -> CertificateDer<'static> {
        let mut params = named("client", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap().der().clone()
    }

    fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }
}

fn bundle(roots: &[&TestCa]) -> CaBundle {
    let pem: String = roots.iter().map(|root| root.certificate.pem()).collect();
    CaBundle::new("--client-ca-file", pem.into_bytes()).unwrap()
}

fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000)) // in 2027
}

fn expired(params: &mut CertificateParams) {
    params.not_after = date_time_ymd(2026, 12, 31);
}

fn unchanged(_: &mut CertificateParams) {}

/// Go accepts it in either case.
#[test]
fn an_authority_is_no_client_unless_it_is_in_the_bundle() {
    let root = root(unchanged);
    let below = root.intermediate("below", unchanged);
    bundle(&[&root]).verify(&[below.der()], now()).unwrap_err();
    bundle(&[&root, &below]).verify(&[below.der()], now()).unwrap();
}

/// A CA that was renewed with the same key: its old certificate has expired, the new one is valid.
#[test]
fn one_valid_certificate_of_a_renewed_ca_is_enough() {
    let (old, key) = (authority(expired), KeyPair::generate().unwrap());
    let old = TestCa { certificate: old.self_signed(&key).unwrap(), issuer: Issuer::new(old, key) };
    let new = authority(unchanged).self_signed(old.issuer.key()).unwrap();
    let pem = old.certificate.pem() + &new.pem();
    let both = CaBundle::new("--client-ca-file", pem.into_bytes()).unwrap();
    both.verify(&[old.client(unchanged)], now()).unwrap();
    bundle(&[&old]).verify(&[old.client(unchanged)], now()).unwrap_err();
}

#[test]
fn a_verification_is_valid_until_the_first_certificate_expires() {
    let soon: Change = |params| params.not_after = date_time_ymd(2028, 1, 1);
    let end = UnixTime::since_unix_epoch(Duration::from_secs(1_830_297_600));
    for changes in [[soon, unchanged, unchanged], [unchanged, soon, unchanged], [unchanged, unchanged, soon]]
    {
        let [top, middle, bottom] = changes;
        let root = root(top);
        let intermediate = root.intermediate("intermediate", middle);
        let chain = [intermediate.client(bottom), intermediate.der()];
        assert_eq!(bundle(&[&root]).verify(&chain, now()).unwrap(), end);
    }
}

/// A certificate of version 1, which has no extensions, can be a root but not an intermediate.
#[test]
fn a_root_of_version_1_may_sign() {
    let made = root(unchanged);
    let old = version_1(&made.der());
    let bundle_of_old = CaBundle::of("--client-ca-file", Vec::new(), vec![old]).unwrap();
    bundle_of_old.verify(&[made.client(unchanged)], now()).unwrap();
    let top = root(unchanged);
    let below = top.intermediate("below", unchanged);
    bundle(&[&top]).verify(&[below.client(unchanged), version_1(&below.der())], now()).unwrap_err();
}

/// Removes the version at the beginning and the extensions at the end; the signature is invalid then.
fn version_1(certificate: &CertificateDer<'_>) -> CertificateDer<'static> {
    use x509_cert::der::asn1::AnyRef;
    use x509_cert::der::{Decode, Encode, Reader, SliceReader, Tag};
    let parts = |of: &AnyRef<'_>| {
        let (mut parts, bytes) = (Vec::new(), of.value().to_vec());
        let mut reader = SliceReader::new(&bytes).unwrap();
        while !reader.is_finished() {
            parts.push(AnyRef::decode(&mut reader).unwrap().to_der().unwrap());
        }
        parts
    };
    let sequence = |parts: &[Vec<u8>]| AnyRef::new(Tag::Sequence, &parts.concat()).unwrap().to_der().unwrap();
    let outer = parts(&AnyRef::from_der(certificate).unwrap());
    let fields = parts(&AnyRef::from_der(&outer[0]).unwrap());
    let fields = sequence(&fields[1..fields.len() - 1]);
    CertificateDer::from(sequence(&[fields, outer[1].clone(), outer[2].clone()]))
}

#[test]
fn a_chain_with_too_many_intermediates_is_refused_unchecked() {
    let root = root(unchanged);
    let bundle = bundle(&[&root]);
    let with = |intermediates: usize| {
        let mut chain = vec![root.client(unchanged)];
        chain.extend(std::iter::repeat_n(root.der(), intermediates));
        bundle.verify(&chain, now()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with(0), Ok(()));
    assert_eq!(with(MAX_INTERMEDIATES), Ok(()));
    assert_eq!(with(MAX_INTERMEDIATES + 1).unwrap_err(), "too many intermediate certificates");
}
