//! The current cluster and user of a kubeconfig, as client-go reads them.

use std::mem;

use http::Uri;
use kube::config::{AuthInfo, Cluster, Kubeconfig};
use tracing::warn;

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

/// Leaves out credentials and authorities if the server is reached without TLS, where others could read them. client-go's
/// `ClientConfig` reads them for TLS alone. Whom to impersonate stays.
pub(super) fn keep_secrets(kubeconfig: &mut Kubeconfig) {
    let Some(cluster) = cluster(kubeconfig) else { return };
    let url = cluster.server.as_deref().and_then(|server| server.parse::<Uri>().ok());
    let Some(url) = url.filter(|url| url.scheme_str() != Some("https")) else { return };
    cluster.certificate_authority = None;
    cluster.certificate_authority_data = None;
    cluster.insecure_skip_tls_verify = None;
    cluster.tls_server_name = None;
    let Some(user) = user(kubeconfig) else { return };
    if authenticates(user) {
        warn!(server = %url, "No credentials are sent, because the server is reached without TLS");
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
