//! The annotation in which Multus and other network plugins describe the networks of a pod.

use std::net::IpAddr;

use endpoint_informers::cache::State;
use endpointslice::desired::Attachment;
use endpointslice::model::parse_ip;
use endpointslice::{Pod, Service};
use serde::Deserialize;
use serde_json::Value;

use crate::source::{Missing, Source};

/// Annotation of a Service: the network whose addresses are published.
pub(crate) const SERVICE_NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
/// Annotation of a pod: its networks and their addresses.
pub(crate) const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// The annotation `k8s.v1.cni.cncf.io/network-status` of pods, for Services with the annotation
/// `k8s.v1.cni.cncf.io/service-network` (Network Plumbing Working Group, "Kubernetes Network Custom Resource Definition De-facto
/// Standard").
///
/// A name without a namespace is in the pod's, but for the network of the cluster (`default` in the status): that counts only for a
/// Service that asks for its bare name, and only if the pod is in no network of that name of its namespace.
pub struct NetworkStatus;

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    default: bool,
    /// Read for the network in question alone: other plugins' entries cost nothing.
    #[serde(default)]
    ips: Value,
}

impl Source for NetworkStatus {
    fn serves(&self, service: &Service) -> bool {
        service.annotations.get(SERVICE_NETWORK).is_some()
    }

    fn attachment(
        &self,
        service: &Service,
        pod: &Pod,
        _: &State,
    ) -> Result<Attachment<Vec<IpAddr>>, Missing> {
        let network = service.annotations.get(SERVICE_NETWORK).unwrap_or_default();
        let status = pod.annotation(NETWORK_STATUS).ok_or(Missing::NotAttached)?;
        let addresses = addresses(status, &pod.namespace, network)?;
        Ok(Attachment { addresses, ready: true })
    }
}

fn addresses(status: &str, namespace: &str, network: &str) -> Result<Vec<IpAddr>, Missing> {
    let full = |name: &str| if name.contains('/') { name.to_owned() } else { format!("{namespace}/{name}") };
    let malformed = |reason: String| Missing::Malformed(format!("{NETWORK_STATUS}: {reason}"));
    let entries: Vec<Entry> = serde_json::from_str(status).map_err(|error| malformed(error.to_string()))?;
    let wanted = full(network);
    let (of_cluster, others): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.default && !entry.name.contains('/'));
    let mut entries: Vec<Entry> = others.into_iter().filter(|entry| full(&entry.name) == wanted).collect();
    if entries.is_empty() {
        entries.extend(of_cluster.into_iter().filter(|entry| entry.name == network));
    }
    if entries.is_empty() {
        return Err(Missing::NotAttached);
    }
    let mut addresses = Vec::new();
    for entry in entries {
        let texts: Option<Vec<String>> =
            serde_json::from_value(entry.ips).map_err(|error| malformed(error.to_string()))?;
        for text in texts.unwrap_or_default() {
            let address = parse_ip(&text);
            addresses.push(address.ok_or_else(|| malformed(format!("{text:?} is not an IP address")))?);
        }
    }
    if addresses.is_empty() { Err(Missing::NoAddress(network.to_owned())) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"[
        {"name": "cbr0", "interface": "eth0", "ips": ["10.1.0.7", "fd00:1::7"], "default": true, "dns": {}},
        {"name": "shop/storage", "interface": "net1", "ips": ["192.168.7.7", "fd00:7::7"], "mac": "0a:58:c0:a8:07:07"},
        {"name": "ops/storage", "interface": "net2", "ips": ["192.168.8.7"]},
        {"name": "shop/idle", "interface": "net3"},
        {"name": "shop/none", "interface": "net4", "ips": null},
        {"name": "flat", "interface": "net5", "ips": ["192.168.9.7"]}
    ]"#;

    fn read(status: &str, network: &str) -> Result<Vec<String>, Missing> {
        let addresses = addresses(status, "shop", network)?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_network_is_found_by_name_in_any_namespace() {
        for (network, addresses) in [
            ("storage", &["192.168.7.7", "fd00:7::7"][..]),
            ("shop/storage", &["192.168.7.7", "fd00:7::7"]),
            ("ops/storage", &["192.168.8.7"]),
            ("cbr0", &["10.1.0.7", "fd00:1::7"]),
            ("flat", &["192.168.9.7"]),
            ("shop/flat", &["192.168.9.7"]),
        ] {
            assert_eq!(read(STATUS, network).unwrap(), addresses, "{network}");
        }
    }

    #[test]
    fn a_pod_without_an_address_says_why() {
        for (status, network, missing) in [
            (STATUS, "idle", Missing::NoAddress("idle".to_owned())),
            (STATUS, "none", Missing::NoAddress("none".to_owned())),
            (STATUS, "shop/cbr0", Missing::NotAttached),
            (STATUS, "other", Missing::NotAttached),
            (STATUS, "ops/cbr0", Missing::NotAttached),
            ("[]", "storage", Missing::NotAttached),
        ] {
            assert_eq!(read(status, network), Err(missing), "{network}");
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
            let missing = read(status, "storage").unwrap_err();
            assert!(
                missing.event_reason().is_some() && missing.to_string().contains(reason),
                "{status}: {missing}"
            );
        }
    }

    /// Only the addresses of the Service's network are read.
    #[test]
    fn a_malformed_address_of_another_network_is_ignored() {
        for ips in [r#"["?"]"#, "[7]", "{}"] {
            let status = format!(
                r#"[{{"name": "storage", "ips": ["192.168.7.7"]}}, {{"name": "other", "ips": {ips}}}]"#
            );
            assert_eq!(read(&status, "storage").unwrap(), ["192.168.7.7"], "{ips}");
        }
    }

    #[test]
    fn a_network_named_like_that_of_the_cluster_is_another_one() {
        let status = r#"[{"name": "cbr0", "ips": ["10.1.0.7"], "default": true}, {"name": "shop/cbr0", "ips": ["192.168.7.7"]}]"#;
        assert_eq!(read(status, "cbr0").unwrap(), ["192.168.7.7"]);
    }
}
