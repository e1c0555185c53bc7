//! The current cluster and user of a kubeconfig, as client-go reads them.

use std::borrow::Cow;
use std::mem;

use http::Uri;
use kube::config::{AuthInfo, Cluster, Kubeconfig};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;

/// Fields in base64, of which Go ignores line breaks.
const DATA: [&str; 3] = ["certificate-authority-data", "client-certificate-data", "client-key-data"];
/// Fields that name a file. Reading a kubeconfig appends them to its directory: an empty name then ends with a slash.
const FILES: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];
/// Other fields that Go takes for absent if they are empty.
const TEXTS: [&str; 5] = ["tls-server-name", "token", "username", "as", "as-uid"];

/// The scheme of an address that names none, as in client-go.
const PLAIN: &str = "http://";

/// The URL of an API server from its address in a kubeconfig or on a command line. An address without a scheme is plain HTTP, as
/// in client-go. None if it is not the address of an HTTP server.
pub fn server_url(address: &str) -> Option<Uri> {
    let url: Uri = with_scheme(address).parse().ok()?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    (is_http && url.host().is_some()).then_some(url)
}

fn with_scheme(address: &str) -> Cow<'_, str> {
    if address.contains("://") { address.into() } else { format!("{PLAIN}{address}").into() }
}

/// The current cluster has an address that is not one of an HTTP server.
pub(super) struct NoServer;

/// The cluster of the current context.
pub(super) fn cluster(kubeconfig: &mut Kubeconfig) -> Option<&mut Cluster> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter_mut().find(|cluster| cluster.name == context.cluster)?;
    cluster.cluster.as_mut()
}

/// The user of the current context.
fn user(kubeconfig: &mut Kubeconfig) -> Option<&mut AuthInfo> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let name = context.user.as_ref()?;
    kubeconfig.auth_infos.iter_mut().find(|user| user.name == *name)?.auth_info.as_mut()
}

/// Prepares the current cluster and user for kube, which reads some of what client-go accepts in another way.
pub(super) fn prepare(kubeconfig: &mut Kubeconfig) -> Result<(), NoServer> {
    if let Some(user) = user(kubeconfig) {
        normalize(user);
    }
    if let Some(cluster) = cluster(kubeconfig) {
        normalize(cluster);
    }
    let Some(Cluster { server: Some(server), .. }) = cluster(kubeconfig) else { return Ok(()) };
    let url = server_url(server).ok_or(NoServer)?;
    *server = with_scheme(server).into_owned();
    if url.scheme_str() != Some("https") {
        keep_secrets(kubeconfig, &url);
    }
    Ok(())
}

/// Drops empty fields, and line breaks in base64.
fn normalize<T: Serialize + DeserializeOwned>(object: &mut T) {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&*object) else { return };
    for name in DATA {
        if let Some(Value::String(data)) = fields.get_mut(name) {
            data.retain(|character| !matches!(character, '\r' | '\n'));
        }
    }
    fields.retain(|name, field| field.as_str().is_none_or(|text| !is_absent(name, text)));
    // As in Go, there is no password without a name.
    if !fields.contains_key("username") {
        fields.remove("password");
    }
    // What was read as this type can be read again.
    if let Ok(normalized) = serde_json::from_value(Value::Object(fields)) {
        *object = normalized;
    }
}

/// True if Go takes a field with this value for absent.
fn is_absent(name: &str, value: &str) -> bool {
    let is_file = FILES.contains(&name);
    is_file && value.ends_with('/')
        || value.is_empty() && (is_file || DATA.contains(&name) || TEXTS.contains(&name))
}

/// Leaves out credentials and authorities, because the server is reached without TLS, where others could read them. client-go's
/// `ClientConfig` reads them for TLS alone. Whom to impersonate stays.
fn keep_secrets(kubeconfig: &mut Kubeconfig, server: &Uri) {
    if let Some(cluster) = cluster(kubeconfig) {
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = None;
        cluster.tls_server_name = None;
    }
    let Some(user) = user(kubeconfig) else { return };
    if authenticates(user) {
        warn!(%server, "No credentials are sent, because the server is reached without TLS");
    }
    let AuthInfo { impersonate, impersonate_uid, impersonate_groups, impersonate_user_extra, .. } =
        mem::take(user);
    *user = AuthInfo {
        impersonate,
        impersonate_uid,
        impersonate_groups,
        impersonate_user_extra,
        ..AuthInfo::default()
    };
}

/// True if a user has credentials.
fn authenticates(user: &AuthInfo) -> bool {
    user.token.is_some()
        || user.token_file.is_some()
        || user.client_certificate.is_some()
        || user.client_certificate_data.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some()
        || user.username.is_some()
}
