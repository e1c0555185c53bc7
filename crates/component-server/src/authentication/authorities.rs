//! Certificate authorities that clients' certificates are held against.

use std::fmt;

use rustls::DistinguishedName;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, VerifiedPath, anchor_from_trusted_cert};

use super::usage::{ForClients, Usage};
use crate::tls::{TlsError, certificates};

/// Limit of intermediates in a chain. Verification tries them in every order, for every client: three make sixteen attempts, ten make hundreds of
/// thousands.
const MOST_INTERMEDIATES: usize = 3;

/// A bundle of authorities.
pub(super) struct Authorities {
    pem: Vec<u8>,
    /// Trust anchors, in the order of `certificates`: name, key and name constraints, and nothing more.
    anchors: Vec<TrustAnchor<'static>>,
    certificates: Vec<Pinned>,
}

/// A certificate of the bundle.
struct Pinned {
    certificate: CertificateDer<'static>,
    usage: Usage,
}

/// A chain that proves nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Distrust {
    #[error("no certificate")]
    NoCertificate,
    #[error("too many intermediate certificates")]
    TooManyIntermediates,
    #[error("the client certificate cannot be decoded: {0}")]
    Malformed(#[from] x509_cert::der::Error),
    #[error("verifying the client certificate failed: {0}")]
    Path(#[from] webpki::Error),
}

impl Authorities {
    /// Reads a bundle in PEM; `what` stands in the error.
    ///
    /// A certificate that can be read is taken in, whatever it may be used for: that is checked when it is used, because
    /// it changes with time, and because a client may show the very certificate that is pinned here.
    pub(super) fn new(what: &str, pem: Vec<u8>) -> Result<Self, TlsError> {
        let found = certificates(what, &pem)?;
        Self::of(what, pem, found)
    }

    fn of(what: &str, pem: Vec<u8>, found: Vec<CertificateDer<'static>>) -> Result<Self, TlsError> {
        let (mut anchors, mut pinned) = (Vec::new(), Vec::new());
        for certificate in found {
            let usage = Usage::of(&certificate).map_err(|error| TlsError::content(what, &error))?;
            let anchor =
                anchor_from_trusted_cert(&certificate).map_err(|error| TlsError::content(what, &error))?;
            anchors.push(anchor.to_owned());
            pinned.push(Pinned { certificate, usage });
        }
        Ok(Self { pem, anchors, certificates: pinned })
    }

    /// Their names in DER, which clients choose a certificate by.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Vec<u8>> {
        self.anchors.iter().map(|anchor| DistinguishedName::in_sequence(&anchor.subject).as_ref().to_vec())
    }

    /// Checks that one of them vouches for this chain of a client, and returns until when that holds: until the first
    /// certificate on the way expires.
    ///
    /// As Go's `Certificate.Verify` for `ExtKeyUsageClientAuth` (`crypto/x509/verify.go`): the client's certificate, each
    /// intermediate and the authority itself must be valid now, allow clients where they name purposes, and hold no
    /// critical extension that is unknown. An issuer must be an authority (or older than version 3, at the end of the
    /// path), with a key for certificates, and with no more certificates below than allowed. The certificate that is
    /// pinned, shown by a client, is a path by itself: then it need not be an authority.
    ///
    /// webpki checks signatures, names, name constraints and all below the authority but the key usage, `check` the rest.
    ///
    /// Cost: a signature check or two, a tenth of a millisecond; a dozen for a chain made to be expensive.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<UnixTime, Distrust> {
        let (leaf, intermediates) = chain.split_first().ok_or(Distrust::NoCertificate)?;
        if intermediates.len() > MOST_INTERMEDIATES {
            return Err(Distrust::TooManyIntermediates);
        }
        if let Some(pinned) = self.certificates.iter().find(|pinned| pinned.certificate == *leaf) {
            pinned.usage.check(now)?;
            return Ok(pinned.usage.not_after());
        }
        let client = EndEntityCert::try_from(leaf)?;
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        let is_allowed = |path: &VerifiedPath<'_>| self.check(path, now).map(drop);
        let path = client.verify_for_usage(
            algorithms,
            &self.anchors,
            intermediates,
            now,
            ForClients,
            None,
            Some(&is_allowed),
        )?;
        Ok(self.check(&path, now)?.min(Usage::of(leaf)?.not_after()))
    }

    /// Checks what webpki leaves out: the authority's certificate, and the key usage of intermediates. Returns the time
    /// when the first of them expires.
    fn check(&self, path: &VerifiedPath<'_>, now: UnixTime) -> Result<UnixTime, webpki::Error> {
        let anchors = self.anchors.iter().zip(&self.certificates);
        let mut found =
            anchors.filter(|(anchor, _)| std::ptr::eq(*anchor, path.anchor())).map(|(_, pinned)| pinned);
        let authority = &found.next().ok_or(webpki::Error::UnknownIssuer)?.usage;
        let mut between = 0;
        let mut until = authority.not_after();
        for intermediate in path.intermediate_certificates() {
            let usage = Usage::of(&intermediate.der()).map_err(|_| webpki::Error::BadDer)?;
            usage.check_issuer(between, now)?;
            between += 1;
            until = until.min(usage.not_after());
        }
        authority.check_issuer(between, now)?;
        Ok(until)
    }
}

/// Equal if they were read from the same text.
impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authorities").field(&self.anchors.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
        Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
    };
    use std::time::Duration;

    type Change = fn(&mut CertificateParams);

    /// A certificate that can sign others, whatever is in it.
    struct Made {
        certificate: rcgen::Certificate,
        issuer: Issuer<'static, KeyPair>,
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    fn authority(change: Change) -> CertificateParams {
        let mut params = params("authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        change(&mut params);
        params
    }

    fn root(change: Change) -> Made {
        let (params, key) = (authority(change), KeyPair::generate().unwrap());
        Made { certificate: params.self_signed(&key).unwrap(), issuer: Issuer::new(params, key) }
    }

    impl Made {
        fn intermediate(&self, name: &str, change: Change) -> Self {
            let (mut params, key) = (authority(change), KeyPair::generate().unwrap());
            params.distinguished_name.push(DnType::CommonName, name);
            Self {
                certificate: params.signed_by(&key, &self.issuer).unwrap(),
                issuer: Issuer::new(params, key),
            }
        }

        fn client(&self, change: Change) -> CertificateDer<'static> {
            let mut params = params("client");
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            change(&mut params);
            params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap().der().clone()
        }

        fn der(&self) -> CertificateDer<'static> {
            self.certificate.der().clone()
        }
    }

    fn bundle(roots: &[&Made]) -> Authorities {
        let pem: String = roots.iter().map(|root| root.certificate.pem()).collect();
        Authorities::new("--client-ca-file", pem.into_bytes()).unwrap()
    }

    fn now() -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000)) // in 2027
    }

    fn expired(params: &mut CertificateParams) {
        params.not_after = date_time_ymd(2026, 12, 31);
    }

    fn not_yet_valid(params: &mut CertificateParams) {
        params.not_before = date_time_ymd(2030, 1, 1);
    }

    fn unchanged(_: &mut CertificateParams) {}

    fn only_for_servers(params: &mut CertificateParams) {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    }

    fn only_signs_data(params: &mut CertificateParams) {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    }

    fn only_last(params: &mut CertificateParams) {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    }

    fn no_authority(params: &mut CertificateParams) {
        params.is_ca = IsCa::ExplicitNoCa;
    }

    fn silent_about_authority(params: &mut CertificateParams) {
        params.is_ca = IsCa::NoCa;
    }

    fn critical_and_unknown(params: &mut CertificateParams) {
        let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 1], vec![5, 0]);
        extension.set_criticality(true);
        params.custom_extensions = vec![extension];
    }

    /// Expectations are those of `crypto/x509`; `tests` `serving` compares most of them with a real server.
    #[test]
    fn an_authority_vouches_only_for_what_its_certificate_allows() {
        use webpki::Error;
        let errors: [(Change, fn(&Error) -> bool); 8] = [
            (expired, |error| matches!(error, Error::CertExpired { .. })),
            (not_yet_valid, |error| matches!(error, Error::CertNotValidYet { .. })),
            (no_authority, |error| matches!(error, Error::EndEntityUsedAsCa)),
            (silent_about_authority, |error| matches!(error, Error::EndEntityUsedAsCa)),
            (only_signs_data, |error| matches!(error, Error::EndEntityUsedAsCa)),
            (only_for_servers, |error| matches!(error, Error::RequiredEkuNotFoundContext(_))),
            (critical_and_unknown, |error| matches!(error, Error::UnsupportedCriticalExtension)),
            (unchanged, |_| false),
        ];
        for (index, (change, is_expected)) in errors.into_iter().enumerate() {
            let (changed, good) = (root(change), root(unchanged));
            let intermediate = good.intermediate("intermediate", change);
            let direct = bundle(&[&changed]).verify(&[changed.client(unchanged)], now());
            let indirect =
                bundle(&[&good]).verify(&[intermediate.client(unchanged), intermediate.der()], now());
            for verdict in [direct, indirect] {
                match verdict {
                    Ok(_) => assert_eq!(index, 7, "accepted case {index}"),
                    Err(Distrust::Path(error)) => assert!(is_expected(&error), "case {index}: {error:?}"),
                    Err(error) => panic!("case {index}: {error}"),
                }
            }
        }
    }

    #[test]
    fn a_path_is_no_longer_than_each_authority_allows() {
        let verdict = |top: Change, middle: Change| {
            let root = root(top);
            let first = root.intermediate("first", middle);
            let second = first.intermediate("second", unchanged);
            let short = bundle(&[&root]).verify(&[first.client(unchanged), first.der()], now());
            let chain = [second.client(unchanged), second.der(), first.der()];
            (short.is_ok(), bundle(&[&root]).verify(&chain, now()).is_ok())
        };
        let one_below: Change = |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        assert_eq!(verdict(unchanged, unchanged), (true, true));
        assert_eq!(verdict(one_below, unchanged), (true, false));
        assert_eq!(verdict(only_last, unchanged), (false, false));
        assert_eq!(verdict(unchanged, only_last), (true, false));
    }

    #[test]
    fn purposes_are_those_that_go_accepts() {
        let any: Change = |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
        let both: Change = |params| {
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        };
        let none: Change = |params| params.extended_key_usages.clear();
        for (change, is_ok) in [(any, true), (both, true), (none, true), (only_for_servers, false)] {
            let (changed, good) = (root(change), root(unchanged));
            assert_eq!(bundle(&[&changed]).verify(&[changed.client(unchanged)], now()).is_ok(), is_ok);
            assert_eq!(bundle(&[&good]).verify(&[good.client(change)], now()).is_ok(), is_ok);
        }
    }

    /// `Roots.contains` in `Verify`: nothing but validity and purpose is asked of it, and it vouches for no other.
    #[test]
    fn a_certificate_that_is_pinned_stands_only_for_itself() {
        let pinned = root(|params| {
            no_authority(params);
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        });
        let bundle_of = bundle(&[&pinned]);
        bundle_of.verify(&[pinned.der()], now()).unwrap();
        bundle_of.verify(&[pinned.client(unchanged)], now()).unwrap_err();
        for change in [expired, only_for_servers, critical_and_unknown] {
            let pinned = root(change);
            bundle(&[&pinned]).verify(&[pinned.der()], now()).unwrap_err();
        }
        let elsewhere = root(unchanged);
        bundle(&[&root(unchanged)]).verify(&[elsewhere.der()], now()).unwrap_err();
    }

    /// An authority that was renewed with the same key: what the old certificate no longer allows, the new one does.
    #[test]
    fn of_two_certificates_of_an_authority_one_that_is_good_is_enough() {
        let (old, key) = (authority(expired), KeyPair::generate().unwrap());
        let old = Made { certificate: old.self_signed(&key).unwrap(), issuer: Issuer::new(old, key) };
        let new = authority(unchanged).self_signed(old.issuer.key()).unwrap();
        let pem = old.certificate.pem() + &new.pem();
        let both = Authorities::new("--client-ca-file", pem.into_bytes()).unwrap();
        both.verify(&[old.client(unchanged)], now()).unwrap();
        bundle(&[&old]).verify(&[old.client(unchanged)], now()).unwrap_err();
    }

    #[test]
    fn a_verdict_lasts_until_the_first_certificate_expires() {
        let soon: Change = |params| params.not_after = date_time_ymd(2028, 1, 1);
        let end = UnixTime::since_unix_epoch(Duration::from_secs(1_830_297_600));
        for changes in
            [[soon, unchanged, unchanged], [unchanged, soon, unchanged], [unchanged, unchanged, soon]]
        {
            let [top, middle, bottom] = changes;
            let root = root(top);
            let intermediate = root.intermediate("intermediate", middle);
            let chain = [intermediate.client(bottom), intermediate.der()];
            assert_eq!(bundle(&[&root]).verify(&chain, now()).unwrap(), end);
        }
    }

    /// A certificate of version 1, which has no extensions: an authority in a bundle, but not below one.
    #[test]
    fn before_version_3_a_root_may_sign_without_saying_so() {
        let made = root(unchanged);
        let old = version_1(&made.der());
        let authorities = Authorities::of("--client-ca-file", Vec::new(), vec![old]).unwrap();
        authorities.verify(&[made.client(unchanged)], now()).unwrap();
        let top = root(unchanged);
        let below = top.intermediate("below", unchanged);
        bundle(&[&top]).verify(&[below.client(unchanged), version_1(&below.der())], now()).unwrap_err();
    }

    /// Leaves out the version at the beginning and the extensions at the end; the signature is no longer right.
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
        let sequence =
            |parts: &[Vec<u8>]| AnyRef::new(Tag::Sequence, &parts.concat()).unwrap().to_der().unwrap();
        let outer = parts(&AnyRef::from_der(certificate).unwrap());
        let fields = parts(&AnyRef::from_der(&outer[0]).unwrap());
        let fields = sequence(&fields[1..fields.len() - 1]);
        CertificateDer::from(sequence(&[fields, outer[1].clone(), outer[2].clone()]))
    }

    #[test]
    fn a_chain_made_to_be_expensive_is_not_looked_at() {
        let root = root(unchanged);
        let authorities = bundle(&[&root]);
        let with = |intermediates: usize| {
            let mut chain = vec![root.client(unchanged)];
            chain.extend(std::iter::repeat_n(root.der(), intermediates));
            authorities.verify(&chain, now()).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(with(0), Ok(()));
        assert_eq!(with(MOST_INTERMEDIATES), Ok(()));
        assert_eq!(with(MOST_INTERMEDIATES + 1).unwrap_err(), "too many intermediate certificates");
    }
}
