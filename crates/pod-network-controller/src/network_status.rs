//! The annotation in which Multus and other network plugins describe the networks of a pod.

use std::net::IpAddr;

use endpoint_informers::cache::{State, UnreadableObject};
use endpointslice::desired::Attachment;
use endpointslice::model::parse_ip;
use endpointslice::{Pod, Service};
use serde::Deserialize;
use serde_json::value::RawValue;

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
struct Entry<'a> {
    name: String,
    #[serde(default)]
    default: bool,
    /// Read for the network in question alone: other plugins' entries cost nothing.
    #[serde(default, borrow)]
    ips: Option<&'a RawValue>,
}

impl Source for NetworkStatus {
    fn check_readable(&self, _: &Service, _: &State) -> Result<(), UnreadableObject> {
        Ok(())
    }

    /// An empty annotation names no network: templates write that for none.
    fn serves(&self, service: &Service) -> bool {
        service.annotations.get(SERVICE_NETWORK).is_some_and(|network| !network.is_empty())
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
    let malformed = |it: &dyn ToString| Missing::Malformed([NETWORK_STATUS, ": ", &it.to_string()].concat());
    let entries: Vec<Entry<'_>> = serde_json::from_str(status).map_err(|error| malformed(&error))?;
    let wanted = full(network);
    let (of_cluster, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.default && !entry.name.contains('/'));
    let mut entries: Vec<_> = others.into_iter().filter(|entry| full(&entry.name) == wanted).collect();
    if entries.is_empty() {
        entries.extend(of_cluster.into_iter().filter(|entry| entry.name == network));
    }
    if entries.is_empty() {
        return Err(Missing::NotAttached);
    }
    let mut addresses = Vec::new();
    for ips in entries.iter().filter_map(|entry| entry.ips) {
        let texts: Vec<String> = serde_json::from_str(ips.get()).map_err(|error| malformed(&error))?;
        for text in texts {
            let address = parse_ip(&text);
            addresses.push(address.ok_or_else(|| malformed(&format_args!("{text:?} is not an IP address")))?);
        }
    }
    if addresses.is_empty() { Err(Missing::NoAddress(network.to_owned())) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests;
