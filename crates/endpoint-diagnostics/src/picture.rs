//! The stored endpoints of a Service, slice by slice, with all that decides which clients use which of them.
//!
//! A [`ServiceReport`](crate::ServiceReport) says what is right about pods; a [`Picture`] has the data to draw it.

mod counts;

use k8s_openapi::api::core::v1::{self as core, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;

use crate::explain::entries;
use crate::metadata::slice_manager;
use crate::report::Presence;
use crate::snapshot::{NamespaceObjects, ServiceEntry, Snapshot};

pub use counts::{EndpointCounts, ZoneCounts};

/// The default of `--max-endpoints-per-slice`, and of most clusters.
const CAPACITY: usize = 100;

/// The stored endpoints of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The fields of the Service that endpoints and their consumers depend on.
    pub service: ServiceFacts,
    /// The slices of every manager, by name.
    pub slices: Vec<SlicePicture>,
    /// The endpoints that a slice holds before another one is created.
    pub capacity: usize,
}

/// The fields of a Service that endpoints and their consumers depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceFacts {
    /// `ExternalName`, `Headless`, or `spec.type`.
    pub kind: String,
    /// `spec.clusterIPs`, without `None`.
    pub addresses: Vec<String>,
    /// Ports, as `name:port/protocol` with the target port.
    pub ports: Vec<String>,
    /// The selector, as `key=value`.
    pub selector: Vec<String>,
    /// `spec.externalName`.
    pub external_name: Option<String>,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<String>,
    /// True if `spec.internalTrafficPolicy` is `Local`.
    pub internal_local: bool,
    /// True if `spec.externalTrafficPolicy` is `Local`.
    pub external_local: bool,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready: bool,
}

/// One stored slice with its endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlicePicture {
    /// The name.
    pub name: String,
    /// `addressType`.
    pub address_type: String,
    /// The value of the label `endpointslice.kubernetes.io/managed-by`; empty if absent.
    pub managed_by: String,
    /// The field manager of the newest write, if known.
    pub writer: Option<String>,
    /// The time of the newest write, in milliseconds since the epoch.
    pub written: Option<i64>,
    /// Ports, as `name:number/protocol`.
    pub ports: Vec<String>,
    /// True if no connection to the cluster IP of the Service reaches its endpoints.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bypassed: bool,
    /// The endpoints, in the stored order.
    pub endpoints: Vec<EndpointPicture>,
}

/// One stored endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointPicture {
    /// The addresses.
    pub addresses: Vec<String>,
    /// The state by its conditions.
    pub state: Presence,
    /// The name of the pod in `targetRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The zones of `hints.forZones`: clients in these use the endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub for_zones: Vec<String>,
    /// The nodes of `hints.forNodes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub for_nodes: Vec<String>,
}

impl Picture {
    /// The picture of a Service; none if the snapshot doesn't have it.
    ///
    /// Cost: linear in the Service's endpoints.
    pub fn of(snapshot: &Snapshot, namespace: &str, name: &str) -> Option<Self> {
        let objects = snapshot.namespace(namespace)?;
        let entry = objects.service(name)?;
        let slices = objects.slices_of(name).map(|slice| slice_picture(entry, slice)).collect();
        Some(Self { service: facts(entry), slices, capacity: capacity(objects, name) })
    }
}

/// The endpoints that each slice of a Service can have, as far as its slices show.
fn capacity(objects: &NamespaceObjects, service: &str) -> usize {
    let sizes = objects.slices_of(service).map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len));
    sizes.max().unwrap_or_default().max(CAPACITY)
}

/// `ExternalName`, `Headless`, or the type.
fn kind(object: &core::Service) -> &str {
    let spec = object.spec.as_ref();
    match spec.and_then(|spec| spec.type_.as_deref()).unwrap_or("ClusterIP") {
        "ClusterIP" if spec.is_some_and(|spec| spec.cluster_ip.as_deref() == Some("None")) => "Headless",
        kind => kind,
    }
}

fn facts(entry: &ServiceEntry) -> ServiceFacts {
    let spec = entry.object.spec.clone().unwrap_or_default();
    let is_local = |policy: &Option<String>| policy.as_deref() == Some("Local");
    let addresses = spec.cluster_ips.or_else(|| Some(vec![spec.cluster_ip?])).unwrap_or_default();
    ServiceFacts {
        kind: kind(&entry.object).to_owned(),
        addresses: addresses.into_iter().filter(|address| address != "None").collect(),
        ports: spec.ports.iter().flatten().map(port).collect(),
        selector: spec.selector.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect(),
        external_name: spec.external_name,
        traffic_distribution: spec.traffic_distribution,
        internal_local: is_local(&spec.internal_traffic_policy),
        external_local: is_local(&spec.external_traffic_policy),
        publish_not_ready: spec.publish_not_ready_addresses.unwrap_or_default(),
    }
}

fn port(port: &ServicePort) -> String {
    let name = port.name.as_deref().filter(|name| !name.is_empty());
    let name = name.map_or_else(String::new, |name| format!("{name}:"));
    let target = match &port.target_port {
        Some(IntOrString::Int(number)) if *number != port.port => format!(" to {number}"),
        Some(IntOrString::String(target)) => format!(" to {target}"),
        _ => String::new(),
    };
    format!("{name}{}/{}{target}", port.port, port.protocol.as_deref().unwrap_or("TCP"))
}

fn slice_picture(entry: &ServiceEntry, slice: &EndpointSlice) -> SlicePicture {
    let write = newest_write(&slice.metadata);
    SlicePicture {
        name: slice.metadata.name.clone().unwrap_or_default(),
        address_type: slice.address_type.clone(),
        managed_by: slice_manager(slice).to_owned(),
        writer: write.and_then(|write| write.manager.clone()),
        written: write.and_then(|write| write.time.as_ref()).map(|time| time.0.as_millisecond()),
        ports: slice.ports.iter().flatten().map(entries::slice_port).collect(),
        bypassed: entry.bypasses(slice).is_some(),
        endpoints: slice.endpoints.iter().flatten().map(endpoint_picture).collect(),
    }
}

fn endpoint_picture(endpoint: &Endpoint) -> EndpointPicture {
    let hints = endpoint.hints.clone().unwrap_or_default();
    EndpointPicture {
        addresses: endpoint.addresses.clone(),
        state: entries::state(endpoint.conditions.as_ref()),
        pod: endpoint.target_ref.as_ref().and_then(entries::pod_name).map(Into::into),
        node: endpoint.node_name.clone(),
        zone: endpoint.zone.clone(),
        for_zones: hints.for_zones.into_iter().flatten().map(|zone| zone.name).collect(),
        for_nodes: hints.for_nodes.into_iter().flatten().map(|node| node.name).collect(),
    }
}

/// The newest write of an object that `metadata.managedFields` shows: by which field manager, and when. The API server sorts
/// them by operation first.
pub fn newest_write(metadata: &ObjectMeta) -> Option<&ManagedFieldsEntry> {
    metadata.managed_fields.iter().flatten().max_by_key(|entry| entry.time.as_ref().map(|time| time.0))
}

#[cfg(test)]
mod tests;
