//! The annotation in which a network plugin, such as Multus, describes the networks of a pod.

use std::net::IpAddr;

use endpointslice::model::parse_ip;
use serde::Deserialize;

/// The fields that we need of an entry of the annotation `k8s.v1.cni.cncf.io/network-status` (Network Plumbing Working
/// Group, "Kubernetes Network Custom Resource Definition De-facto Standard").
#[derive(Deserialize)]
struct Attachment {
    name: String,
    #[serde(default)]
    ips: Vec<String>,
}

/// The annotation is malformed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0:?} is not an IP address")]
    Address(String),
}

/// The addresses of a pod of `namespace` in `network`; none if it is not attached. A name without a namespace, of the
/// network or of an attachment, is in the pod's namespace.
pub(crate) fn addresses(status: &str, namespace: &str, network: &str) -> Result<Vec<IpAddr>, Malformed> {
    let full = |name: &str| if name.contains('/') { name.to_owned() } else { format!("{namespace}/{name}") };
    let attachments: Vec<Attachment> = serde_json::from_str(status)?;
    let attachments = attachments.into_iter().filter(|attachment| full(&attachment.name) == full(network));
    let addresses = attachments.flat_map(|attachment| attachment.ips);
    addresses.map(|text| parse_ip(&text).ok_or(Malformed::Address(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"[
        {"name": "cbr0", "interface": "eth0", "ips": ["10.1.0.7", "fd00:1::7"], "default": true, "dns": {}},
        {"name": "shop/storage", "interface": "net1", "ips": ["192.168.7.7", "fd00:7::7"], "mac": "0a:58:c0:a8:07:07"},
        {"name": "ops/storage", "interface": "net2", "ips": ["192.168.8.7"]},
        {"name": "shop/idle", "interface": "net3"}
    ]"#;

    fn read(status: &str, network: &str) -> Result<Vec<String>, String> {
        let addresses = addresses(status, "shop", network).map_err(|error| error.to_string())?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_network_is_found_by_name_in_any_namespace() {
        assert_eq!(read(STATUS, "storage").unwrap(), ["192.168.7.7", "fd00:7::7"]);
        assert_eq!(read(STATUS, "shop/storage").unwrap(), ["192.168.7.7", "fd00:7::7"]);
        assert_eq!(read(STATUS, "ops/storage").unwrap(), ["192.168.8.7"]);
        assert_eq!(read(STATUS, "cbr0").unwrap(), ["10.1.0.7", "fd00:1::7"]);
    }

    #[test]
    fn an_unattached_pod_has_no_address() {
        for (status, network) in
            [(STATUS, "idle"), (STATUS, "other"), (STATUS, "ops/cbr0"), ("[]", "storage")]
        {
            assert!(read(status, network).unwrap().is_empty(), "{network}");
        }
    }

    #[test]
    fn a_malformed_annotation_is_described() {
        for (status, reason) in [
            ("", "EOF while parsing a value"),
            ("net1", "expected ident"),
            ("{}", "invalid type: map, expected a sequence"),
            (r#"[{"ips": ["192.168.7.7"]}]"#, "missing field `name`"),
            (r#"[{"name": "storage", "ips": "192.168.7.7"}]"#, "invalid type: string"),
            (r#"[{"name": "storage", "ips": [7]}]"#, "invalid type: integer"),
            (r#"[{"name": "storage"}"#, "EOF while parsing a list"),
            (r#"[{"name": "storage", "ips": ["192.168.7.7", "net1"]}]"#, "\"net1\" is not an IP address"),
            (
                r#"[{"name": "storage", "ips": ["192.168.7.7/24"]}]"#,
                "\"192.168.7.7/24\" is not an IP address",
            ),
        ] {
            let error = read(status, "storage").unwrap_err();
            assert!(error.contains(reason), "{status}: {error}");
        }
    }

    /// We read only the addresses of our network.
    #[test]
    fn a_malformed_address_of_another_network_is_ignored() {
        let status = r#"[{"name": "storage", "ips": ["192.168.7.7"]}, {"name": "other", "ips": ["?"]}]"#;
        assert_eq!(read(status, "storage").unwrap(), ["192.168.7.7"]);
    }
}
