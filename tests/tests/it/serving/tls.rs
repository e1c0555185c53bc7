//! Throw-away certificates.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// The files of a certificate and its key.
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), pem: certificate.pem() }
    }

    /// Writes the authority's own certificate.
    pub(crate) fn write(&self, path: PathBuf) -> PathBuf {
        std::fs::write(&path, &self.pem).unwrap();
        path
    }

    /// Writes the authority's own key.
    pub(crate) fn write_key(&self, path: PathBuf) -> PathBuf {
        std::fs::write(&path, self.issuer.key().serialize_pem()).unwrap();
        path
    }

    /// Writes a client certificate.
    pub(crate) fn client(&self, folder: &Path, name: &str, groups: &[&str]) -> Pair {
        self.client_from(named(name, groups), folder, name)
    }

    /// Writes a client certificate that is valid for this time from now on.
    pub(crate) fn client_for(&self, valid: Duration, folder: &Path, name: &str) -> Pair {
        let mut params = named(name, &[]);
        let end = SystemTime::now() + valid;
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + end.duration_since(UNIX_EPOCH).unwrap();
        self.client_from(params, folder, name)
    }

    fn client_from(&self, mut params: CertificateParams, folder: &Path, name: &str) -> Pair {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params, folder, name)
    }

    /// Writes a certificate for a server of this DNS name. Replaces an older one of that name.
    pub(crate) fn server_called(&self, subject: &str, folder: &Path, name: &str) -> Pair {
        let mut params = CertificateParams::new(vec![subject.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(&params, folder, name)
    }

    fn issue(&self, params: &CertificateParams, folder: &Path, name: &str) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair {
            certificate: replace(&folder.join(format!("{name}.crt")), &certificate.pem()),
            key: replace(&folder.join(format!("{name}.key")), &key.serialize_pem()),
        }
    }
}

/// The common parameters of a certificate for this name.
pub(crate) fn named(name: &str, groups: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params
}

/// Replaces a file atomically, so that readers never see half of it.
fn replace(path: &Path, text: &str) -> PathBuf {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
    path.to_owned()
}
