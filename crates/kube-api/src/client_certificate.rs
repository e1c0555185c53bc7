//! The validity of the certificate with which a client authenticates.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tower::BoxError;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// Returns the end of the validity of a client's certificate, from the Unix epoch; none if it authenticates otherwise.
///
/// A certificate in a file is read anew each time, which blocks; clients use what a file has 10 s later, if the key is of the
/// same pair. That of an `exec` plugin is not known.
///
/// # Errors
///
/// A file that cannot be read, and contents without a certificate.
pub fn client_certificate_expiry(config: &kube::Config) -> Result<Option<Duration>, BoxError> {
    pem(&config.auth_info)?.map(|pem| not_after(&pem)).transpose()
}

fn pem(auth: &AuthInfo) -> Result<Option<Vec<u8>>, BoxError> {
    if let Some(data) = &auth.client_certificate_data {
        return Ok(Some(STANDARD.decode(data.trim())?));
    }
    let Some(file) = &auth.client_certificate else { return Ok(None) };
    fs::read(file).map(Some).map_err(|error| format!("cannot read {file}: {error}").into())
}

/// The client's own certificate is the first one.
fn not_after(pem: &[u8]) -> Result<Duration, BoxError> {
    let der = CertificateDer::pem_slice_iter(pem).next().ok_or("no certificate in it")??;
    let certificate = Certificate::from_der(&der)?;
    Ok(certificate.tbs_certificate().validity().not_after.to_unix_duration())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// 2030-01-01T00:00:00Z.
    const END: Duration = Duration::from_secs(1_893_456_000);

    fn certificate() -> String {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.not_after = date_time_ymd(2030, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn expiry(auth_info: AuthInfo) -> Result<Option<Duration>, String> {
        let mut config = kube::Config::new("https://127.0.0.1".parse().unwrap());
        config.auth_info = auth_info;
        client_certificate_expiry(&config).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_that_of_the_file_as_it_is_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| Some(directory.path().join(name).to_str().unwrap().to_owned());
        let of_files = || {
            expiry(AuthInfo {
                client_certificate: path("client.crt"),
                client_key: path("client.key"),
                ..AuthInfo::default()
            })
        };
        assert!(of_files().unwrap_err().starts_with("cannot read "));
        fs::write(directory.path().join("client.crt"), "").unwrap();
        assert_eq!(of_files().unwrap_err(), "no certificate in it");
        // The one of an authority may follow.
        fs::write(directory.path().join("client.crt"), certificate() + &certificate()).unwrap();
        assert_eq!(of_files().unwrap(), Some(END));
    }

    #[test]
    fn it_is_that_of_the_kubeconfig() {
        let data = |text: String| {
            let client_certificate_data = Some(STANDARD.encode(text));
            expiry(AuthInfo { client_certificate_data, ..AuthInfo::default() })
        };
        assert_eq!(data(certificate()).unwrap(), Some(END));
        assert_eq!(data("x".to_owned()).unwrap_err(), "no certificate in it");
    }
}
