//! A kubeconfig for clients that come over the network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// The text of a kubeconfig with a token, any unless the server [requires one](crate::Builder::require_token), for a server at
/// this address, such as `https://127.0.0.1:6443`. `authority` is the certificate that clients trust, in PEM; none for plain
/// HTTP. The text is JSON, which is YAML.
pub fn kubeconfig(token: &str, server: &str, authority: Option<&str>) -> String {
    let mut cluster = json!({ "server": server });
    if let (Some(authority), Some(fields)) = (authority, cluster.as_object_mut()) {
        fields.insert("certificate-authority-data".to_owned(), STANDARD.encode(authority).into());
    }
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "embedded", "cluster": cluster }],
        // Clients want to show something also where anyone is let in.
        "users": [{ "name": "embedded", "user": { "token": token } }],
        "contexts": [{
            "name": "embedded",
            "context": { "cluster": "embedded", "user": "embedded", "namespace": "default" },
        }],
        "current-context": "embedded",
    });
    format!("{config:#}\n")
}
