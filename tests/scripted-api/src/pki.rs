//! Throw-away certificate authorities, and what they sign.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pub certificate_pem: String,
}

/// A certificate with its key.
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub certificate_pem: String,
    pub key_pem: String,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let signed = params.self_signed(&key).unwrap();
        let (certificate, certificate_pem) = (signed.der().clone(), signed.pem());
        Self { issuer: Issuer::new(params, key), certificate, certificate_pem }
    }

    /// A new client certificate.
    pub fn client(&self) -> Identity {
        self.client_called("client", &[])
    }

    /// A certificate for a client of this name.
    pub fn client_called(&self, name: &str, organizations: &[&str]) -> Identity {
        let mut params = named(name, organizations);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// A certificate for a server of this name.
    pub fn issue(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A certificate with these parameters.
    pub fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }

    /// The certificate in DER.
    pub fn der(&self) -> Vec<u8> {
        self.certificate.to_vec()
    }

    /// Its own key in PEM.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        Arc::new(roots)
    }
}

impl Identity {
    /// The key in DER.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }

    /// Replaces the files `NAME.crt` and `NAME.key`, one after the other.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let certificate = write(folder, &format!("{name}.crt"), &self.certificate_pem);
        (certificate, write(folder, &format!("{name}.key"), &self.key_pem))
    }
}

/// The common parameters of a certificate for this name, which may be empty.
pub fn named(name: &str, organizations: &[&str]) -> CertificateParams {
    let mut subject = DistinguishedName::new();
    if !name.is_empty() {
        subject.push(DnType::CommonName, name);
    }
    for organization in organizations {
        subject.push(DnType::OrganizationName, *organization);
    }
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    params
}

/// Replaces a file atomically, so that readers never see half of it.
pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, &path).unwrap();
    path
}
