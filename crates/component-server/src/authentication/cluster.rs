//! What the cluster says about authentication: the `ConfigMap` kube-system/extension-apiserver-authentication.

use std::collections::BTreeMap;

use super::authorities::Authorities;
use super::request_header::{Headers, RequestHeader, normal};
use crate::tls::TlsError;

/// The data of that `ConfigMap`.
pub(super) type ClusterConfig = BTreeMap<String, String>;

/// The authorities of clients, if the cluster names any.
pub(super) fn client_authorities(config: &ClusterConfig) -> Result<Option<Authorities>, TlsError> {
    authorities(config, "client-ca-file")
}

/// The front proxies that the cluster trusts, if any.
pub(super) fn request_header(config: &ClusterConfig) -> Result<Option<RequestHeader>, TlsError> {
    let Some(authorities) = authorities(config, "requestheader-client-ca-file")? else { return Ok(None) };
    let headers = Headers {
        allowed_names: strings(config, "requestheader-allowed-names")?,
        username: normal(&strings(config, "requestheader-username-headers")?),
        uid: normal(&strings(config, "requestheader-uid-headers")?),
        group: normal(&strings(config, "requestheader-group-headers")?),
        extra_prefix: normal(&strings(config, "requestheader-extra-headers-prefix")?),
    };
    Ok(Some(RequestHeader { authorities, headers }))
}

fn authorities(config: &ClusterConfig, key: &str) -> Result<Option<Authorities>, TlsError> {
    let Some(pem) = config.get(key).filter(|pem| !pem.is_empty()) else { return Ok(None) };
    Authorities::new(&name(key), pem.clone().into_bytes()).map(Some)
}

/// Lists are JSON inside a string.
fn strings(config: &ClusterConfig, key: &str) -> Result<Vec<String>, TlsError> {
    match config.get(key).filter(|text| !text.is_empty()) {
        Some(text) => serde_json::from_str(text).map_err(|error| TlsError::content(&name(key), &error)),
        None => Ok(Vec::new()),
    }
}

fn name(key: &str) -> String {
    format!("{key} in ConfigMap kube-system/extension-apiserver-authentication")
}
