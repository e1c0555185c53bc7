//! The `ConfigMap` kube-system/extension-apiserver-authentication.

use std::collections::BTreeMap;

use super::ca_bundle::CaBundle;
use super::options::RequestHeaderOptions;
use super::request_header::FrontProxies;
use crate::tls::TlsError;

/// The data of that `ConfigMap`.
pub(super) type ClusterConfig = BTreeMap<String, String>;

/// Returns the CAs of clients, if the cluster configures any.
pub(super) fn client_cas(config: &ClusterConfig) -> Result<Option<CaBundle>, TlsError> {
    ca_bundle(config, "client-ca-file")
}

/// Returns the front proxies, if the cluster configures any.
pub(super) fn front_proxies(config: &ClusterConfig) -> Result<Option<FrontProxies>, TlsError> {
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
