//! Where certificates come from.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tokio::fs;
use tokio::io::AsyncWriteExt;
use tracing::info;
use zeroize::Zeroizing;

use super::material::{KeyPair, Material};
use super::{TlsError, self_signed};
use crate::options::{ServingOptions, SniCertificate};

/// Places to read certificates from, again and again.
#[derive(Debug)]
pub(crate) struct Source {
    default: Serving,
    named: Vec<SniCertificate>,
}

#[derive(Debug)]
enum Serving {
    Files { certificate: PathBuf, key: PathBuf },
    Memory(KeyPair),
}

impl Source {
    /// Finds out where the certificate is; makes one if there is none.
    pub(crate) async fn open(options: &ServingOptions) -> Result<Self, TlsError> {
        let default = match (&options.tls_cert_file, &options.tls_private_key_file, &options.cert_dir) {
            (Some(certificate), Some(key), _) => {
                Serving::Files { certificate: certificate.clone(), key: key.clone() }
            }
            (_, _, Some(folder)) => kept_in(folder, options).await?,
            (_, _, None) => {
                let (certificate, key) = self_signed::generate(options.bind_address)?;
                info!("Generated self-signed cert in-memory");
                let (certificate, key) = (certificate.into_bytes(), Zeroizing::new(key.as_bytes().to_vec()));
                let what = "Generated self signed cert".to_owned();
                Serving::Memory(KeyPair { what, certificate, key, names: Vec::new() })
            }
        };
        Ok(Self { default, named: options.tls_sni_cert_key.clone() })
    }

    /// Reads everything as it is now.
    pub(crate) async fn read(&self) -> Result<Material, TlsError> {
        let default = match &self.default {
            Serving::Files { certificate, key } => pair("serving-cert", certificate, key, &[]).await?,
            Serving::Memory(pair) => pair.clone(),
        };
        let mut named = Vec::with_capacity(self.named.len());
        for SniCertificate { cert_file, key_file, names } in &self.named {
            named.push(pair("sni-serving-cert", cert_file, key_file, names).await?);
        }
        Ok(Material { default, named })
    }
}

/// Uses the pair in the folder, or puts a new one there.
async fn kept_in(folder: &Path, options: &ServingOptions) -> Result<Serving, TlsError> {
    let certificate = folder.join(format!("{}.crt", options.pair_name));
    let key = folder.join(format!("{}.key", options.pair_name));
    if !(exists(&certificate).await? && exists(&key).await?) {
        let (certificate_pem, key_pem) = self_signed::generate(options.bind_address)?;
        fs::create_dir_all(folder).await.map_err(|source| TlsError::Write { path: folder.into(), source })?;
        write(&certificate, &certificate_pem, 0o644).await?;
        write(&key, &key_pem, 0o600).await?;
        let files = (certificate.display(), key.display());
        info!("Generated self-signed cert ({}, {})", files.0, files.1);
    }
    Ok(Serving::Files { certificate, key })
}

async fn exists(path: &Path) -> Result<bool, TlsError> {
    fs::try_exists(path).await.map_err(|source| TlsError::Read { path: path.into(), source })
}

/// Writes a file that others may read or not from its first moment.
async fn write(path: &Path, content: &str, mode: u32) -> Result<(), TlsError> {
    let failed = |source| TlsError::Write { path: path.into(), source };
    // A file left from before may have other permissions.
    match fs::remove_file(path).await {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => (),
    }
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path).await.map_err(failed)?;
    file.write_all(content.as_bytes()).await.map_err(failed)?;
    file.flush().await.map_err(failed)
}

async fn pair(what: &str, certificate: &Path, key: &Path, names: &[String]) -> Result<KeyPair, TlsError> {
    let what = format!("{what} {}", certificate.display());
    let certificate = read(certificate).await?;
    Ok(KeyPair { what, certificate, key: Zeroizing::new(read(key).await?), names: names.to_vec() })
}

/// The content of a file, with its name in the error.
pub(crate) async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).await.map_err(|source| TlsError::Read { path: path.into(), source })
}
