//! The CAs of clients and front proxies, from files and from the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube_api::error_chain;
use rustls::pki_types::{CertificateDer, UnixTime};
use tracing::warn;

use super::ca_bundle::CaBundle;
use super::client_certificate;
use super::options::{AuthenticationOptions, RequestHeaderOptions};
use super::request_header::FrontProxies;
use crate::review::{AuthenticationApi, ReviewError, within_limit};
use crate::tls::{self, Subject, TlsError};
use crate::user::User;

/// The data of the `ConfigMap` kube-system/extension-apiserver-authentication.
pub(super) type ClusterConfig = BTreeMap<String, String>;

/// The CAs that authenticate client certificates. Without any, certificates are ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrustedCas {
    pub(super) clients: Option<Arc<CaBundle>>,
    pub(super) proxies: Option<Arc<FrontProxies>>,
}

/// Result of verifying a certificate chain. Parts for which there is no CA are absent.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// Ok for a front proxy, else the reason why it is none.
    pub(super) proxy: Option<Result<(), String>>,
    /// The user, or the reason why the chain is not valid.
    pub(super) client: Option<Result<Option<User>, String>>,
    /// Expiry of the first certificate on the verified paths.
    pub(super) expires_at: Option<UnixTime>,
}

impl TrustedCas {
    /// Verifies a certificate chain.
    ///
    /// Cost: see [`CaBundle::verify`], for each of the two bundles.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Verification {
        let mut result = Verification::default();
        if chain.is_empty() {
            return result;
        }
        let mut verify = |bundle: &CaBundle| {
            let end = bundle.verify(chain, now).map_err(|error| error.to_string())?;
            result.expires_at = Some(result.expires_at.map_or(end, |other| other.min(end)));
            Ok(())
        };
        let proxy = self.proxies.as_ref().map(|proxies| {
            verify(&proxies.ca_bundle).and_then(|()| proxies.allow(&Subject::of_chain(chain)?))
        });
        let client = self
            .clients
            .as_ref()
            .map(|clients| verify(clients).and_then(|()| client_certificate::user(chain)));
        Verification { proxy, client, ..result }
    }

    /// Returns the subjects of all CAs in DER, by which clients choose a certificate.
    pub(super) fn subjects(&self) -> BTreeSet<Vec<u8>> {
        let proxies = self.proxies.as_ref().map(|proxies| &proxies.ca_bundle);
        let all = self.clients.as_deref().into_iter().chain(proxies);
        all.flat_map(CaBundle::subjects).collect()
    }
}

/// Reads the CAs of clients from `--client-ca-file`.
pub(super) async fn clients_from_file(options: &AuthenticationOptions) -> Result<Option<CaBundle>, TlsError> {
    let Some(path) = &options.client_ca_file else { return Ok(None) };
    CaBundle::new(&path.display().to_string(), tls::read(path).await?).map(Some)
}

/// Reads the CAs of front proxies from `--requestheader-client-ca-file`; flags describe the headers.
pub(super) async fn proxies_from_file(
    options: &AuthenticationOptions,
) -> Result<Option<FrontProxies>, TlsError> {
    let Some(path) = &options.request_header.client_ca_file else { return Ok(None) };
    let ca_bundle = CaBundle::new(&path.display().to_string(), tls::read(path).await?)?;
    Ok(Some(FrontProxies::new(ca_bundle, options.request_header.clone())))
}

/// Reads the configuration of the cluster; none if it has none.
pub(super) async fn look_up<A: AuthenticationApi>(api: &A) -> Result<Option<ClusterConfig>, ReviewError> {
    within_limit(api.cluster_config()).await
}

/// Applies the configuration of the cluster where no file is given. Invalid parts leave the CAs unchanged, with a warning.
pub(super) fn apply(cas: &mut TrustedCas, config: &ClusterConfig, options: &AuthenticationOptions) {
    if options.client_ca_file.is_none() {
        replace(&mut cas.clients, ca_bundle(config, "client-ca-file"));
    }
    if options.request_header.client_ca_file.is_none() {
        replace(&mut cas.proxies, front_proxies(config));
    }
}

/// Returns the front proxies, if the cluster configures any.
fn front_proxies(config: &ClusterConfig) -> Result<Option<FrontProxies>, TlsError> {
    let Some(ca_bundle) = ca_bundle(config, "requestheader-client-ca-file")? else { return Ok(None) };
    let headers = RequestHeaderOptions {
        client_ca_file: None,
        allowed_names: strings(config, "requestheader-allowed-names")?,
        username_headers: strings(config, "requestheader-username-headers")?,
        uid_headers: strings(config, "requestheader-uid-headers")?,
        group_headers: strings(config, "requestheader-group-headers")?,
        extra_headers_prefix: strings(config, "requestheader-extra-headers-prefix")?,
    };
    Ok(Some(FrontProxies::new(ca_bundle, headers)))
}

fn ca_bundle(config: &ClusterConfig, key: &str) -> Result<Option<CaBundle>, TlsError> {
    let Some(pem) = config.get(key).filter(|pem| !pem.is_empty()) else { return Ok(None) };
    CaBundle::new(&origin(key), pem.clone().into_bytes()).map(Some)
}

/// Parses a list, which is JSON inside a string.
fn strings(config: &ClusterConfig, key: &str) -> Result<Vec<String>, TlsError> {
    match config.get(key).filter(|text| !text.is_empty()) {
        Some(text) => serde_json::from_str(text).map_err(|error| TlsError::content(&origin(key), &error)),
        None => Ok(Vec::new()),
    }
}

fn origin(key: &str) -> String {
    format!("{key} in ConfigMap kube-system/extension-apiserver-authentication")
}

/// Replaces a part by a new version. A part that is absent or cannot be read stays unchanged, as upstream has it: a moment
/// without the file must not lock out all clients.
pub(super) fn replace<T>(part: &mut Option<Arc<T>>, read: Result<Option<T>, TlsError>) {
    match read {
        Ok(Some(new)) => *part = Some(Arc::new(new)),
        Ok(None) => (),
        Err(error) => {
            warn!(err = %error_chain(&error), "Unable to load client CAs, keeping the previous ones")
        }
    }
}
