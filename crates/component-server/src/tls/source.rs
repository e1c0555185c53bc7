//! Files and generated certificates to serve.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tokio::fs;
use tokio::io::AsyncWriteExt;
use tracing::info;
use zeroize::Zeroizing;

use super::error::TlsError;
use super::self_signed;
use crate::options::{ServingOptions, SniCertificate};

/// A certificate chain and its key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CertKeyContent {
    /// File or other origin, for messages.
    pub(crate) origin: String,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Zeroizing<Vec<u8>>,
    /// Configured server names; empty means those in the certificate.
    pub(crate) names: Vec<String>,
}

/// All serving certificates.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CertificateContent {
    pub(crate) default: CertKeyContent,
    /// Certificates for certain server names, in order of precedence.
    pub(crate) sni: Vec<CertKeyContent>,
}

/// Origins of the serving certificates, which can be read repeatedly.
pub(crate) struct CertificateSource {
    default: DefaultSource,
    sni: Vec<SniCertificate>,
}

enum DefaultSource {
    Files { certificate: PathBuf, key: PathBuf },
    Memory(CertKeyContent),
}

impl CertificateSource {
    /// Determines the origin of the certificate; generates one if none is configured.
    pub(crate) async fn open(options: &ServingOptions) -> Result<Self, TlsError> {
        let default = match (&options.tls_cert_file, &options.tls_private_key_file, &options.cert_dir) {
            (Some(certificate), Some(key), _) => {
                DefaultSource::Files { certificate: certificate.clone(), key: key.clone() }
            }
            (_, _, Some(directory)) => self_signed_in(directory, options).await?,
            (_, _, None) => {
                let (certificate, key) = self_signed::generate(options.bind_address)?;
                info!("Generated self-signed cert in-memory");
                let (certificate, key) = (certificate.into_bytes(), Zeroizing::new(key.as_bytes().to_vec()));
                let origin = "Generated self signed cert".to_owned();
                DefaultSource::Memory(CertKeyContent { origin, certificate, key, names: Vec::new() })
            }
        };
        Ok(Self { default, sni: options.tls_sni_cert_key.clone() })
    }

    /// Reads the current content.
    pub(crate) async fn read(&self) -> Result<CertificateContent, TlsError> {
        let default = match &self.default {
            DefaultSource::Files { certificate, key } => pair("serving-cert", certificate, key, &[]).await?,
            DefaultSource::Memory(pair) => pair.clone(),
        };
        let mut sni = Vec::with_capacity(self.sni.len());
        for SniCertificate { cert_file, key_file, names } in &self.sni {
            sni.push(pair("sni-serving-cert", cert_file, key_file, names).await?);
        }
        Ok(CertificateContent { default, sni })
    }
}

/// Uses the pair in the directory, or writes a new one there.
async fn self_signed_in(directory: &Path, options: &ServingOptions) -> Result<DefaultSource, TlsError> {
    let certificate = directory.join(format!("{}.crt", options.pair_name));
    let key = directory.join(format!("{}.key", options.pair_name));
    if !(exists(&certificate).await? && exists(&key).await?) {
        let (certificate_pem, key_pem) = self_signed::generate(options.bind_address)?;
        fs::create_dir_all(directory)
            .await
            .map_err(|source| TlsError::Write { path: directory.into(), source })?;
        // Whatever ends this process meanwhile, the next one finds a pair or no key.
        let written =
            [write(&certificate, &certificate_pem, 0o644).await?, write(&key, &key_pem, 0o600).await?];
        remove(&key).await?;
        for (new, path) in written.iter().zip([&certificate, &key]) {
            fs::rename(new, path).await.map_err(|source| TlsError::Write { path: path.into(), source })?;
        }
        let files = (certificate.display(), key.display());
        info!("Generated self-signed cert ({}, {})", files.0, files.1);
    }
    Ok(DefaultSource::Files { certificate, key })
}

async fn exists(path: &Path) -> Result<bool, TlsError> {
    fs::try_exists(path).await.map_err(|source| TlsError::Read { path: path.into(), source })
}

/// Writes the content for `path` to a file next to it, which has these permissions from the start. Returns its path.
async fn write(path: &Path, content: &str, mode: u32) -> Result<PathBuf, TlsError> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    // One that was left behind may have other permissions.
    remove(&new).await?;
    let failed = |source| TlsError::Write { path: new.clone(), source };
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(&new).await.map_err(failed)?;
    file.write_all(content.as_bytes()).await.map_err(failed)?;
    file.sync_all().await.map_err(failed)?;
    Ok(new)
}

/// Removes a file, if it is there.
async fn remove(path: &Path) -> Result<(), TlsError> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(TlsError::Write { path: path.into(), source: error })
        }
        _ => Ok(()),
    }
}

async fn pair(
    kind: &str,
    certificate: &Path,
    key: &Path,
    names: &[String],
) -> Result<CertKeyContent, TlsError> {
    let origin = format!("{kind} {}", certificate.display());
    let certificate = read(certificate).await?;
    Ok(CertKeyContent { origin, certificate, key: Zeroizing::new(read(key).await?), names: names.to_vec() })
}

/// Reads a file. The error names it.
pub(crate) async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).await.map_err(|source| TlsError::Read { path: path.into(), source })
}
