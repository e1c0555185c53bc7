//! Services, reduced to the fields that endpoints depend on.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::address::{AddressType, parse_ip};
use super::api_fields::{pairs, text};
use super::ids::{ResourceVersion, Uid};
use super::interner::Interner;
use super::labels::LabelSet;
use super::ports::{ServicePort, TargetPort};
use crate::well_known::{TOLERATE_UNREADY_ENDPOINTS, TOPOLOGY_AWARE_HINTS, TOPOLOGY_MODE};

/// A Service, reduced to the fields that endpoints depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The uid, which goes into the owner reference of its slices.
    pub uid: Uid,
    /// The resourceVersion, to tell a repeated object from a changed one.
    pub version: ResourceVersion,
    /// `metadata.creationTimestamp`, in seconds since the epoch.
    pub created: Option<i64>,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// The labels, which slices carry too.
    pub labels: LabelSet,
    /// The annotations that the interner [keeps](Interner::keeping_annotations); by default none.
    pub annotations: LabelSet,
    /// The selector; `None` if absent or empty, which mean the same.
    pub selector: Option<LabelSet>,
    /// The ports, in spec order.
    pub ports: Arc<[ServicePort]>,
    /// `spec.type`.
    pub service_type: ServiceType,
    /// `spec.clusterIP`: an address, `None` (as text) or empty.
    pub cluster_ip: Box<str>,
    /// `spec.ipFamilies`.
    pub families: Families,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready_addresses: bool,
    /// True if `spec.externalTrafficPolicy` or `spec.internalTrafficPolicy` is `Local`.
    pub has_local_policy: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<Arc<str>>,
    /// The value of the topology annotation in effect: the deprecated key hides the other
    /// (`utils.go` `hintsEnabled`).
    pub topology_mode: Option<Arc<str>>,
    /// The annotation that preceded `publishNotReadyAddresses`, if it is present and a boolean; upstream no longer reads
    /// it.
    pub tolerates_unready: Option<bool>,
}

/// `spec.type` of a Service, as far as endpoints depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ServiceType {
    /// A Service resolved by DNS alone, which never has endpoints.
    ExternalName,
    /// `ClusterIP`, `NodePort`, `LoadBalancer`.
    #[default]
    Other,
}

/// The IP families listed by a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Families {
    /// The family listed first.
    pub primary: Option<AddressType>,
    /// `IPv4` is listed.
    pub ipv4: bool,
    /// `IPv6` is listed.
    pub ipv6: bool,
}

/// The raw fields that a [`Service`] is made of, borrowed from a decoder or an API object.
#[derive(Clone, Debug, Default)]
pub struct ServiceFields<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
    /// `metadata.creationTimestamp`, in seconds since the epoch.
    pub created: Option<i64>,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.labels`, in any order.
    pub labels: Vec<(&'a str, &'a str)>,
    /// `metadata.annotations`, in any order.
    pub annotations: Vec<(&'a str, &'a str)>,
    /// `spec.selector`, in any order.
    pub selector: Vec<(&'a str, &'a str)>,
    /// `spec.ports`.
    pub ports: Vec<PortFields<'a>>,
    /// `spec.type`.
    pub service_type: &'a str,
    /// `spec.clusterIP`.
    pub cluster_ip: &'a str,
    /// `spec.ipFamilies`.
    pub ip_families: Vec<&'a str>,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready_addresses: bool,
    /// True if `spec.externalTrafficPolicy` or `spec.internalTrafficPolicy` is `Local`.
    pub has_local_policy: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<&'a str>,
}

/// The raw fields of a [`ServicePort`].
#[derive(Clone, Debug, Default)]
pub struct PortFields<'a> {
    /// `name`.
    pub name: &'a str,
    /// `protocol`.
    pub protocol: &'a str,
    /// `port`.
    pub port: i32,
    /// `targetPort`.
    pub target: TargetPort<&'a str>,
    /// `appProtocol`.
    pub app_protocol: Option<&'a str>,
}

impl Service {
    /// Builds the compact form; equal strings are shared through `interner`.
    pub fn new(mut fields: ServiceFields<'_>, interner: &mut Interner) -> Self {
        let annotation =
            |key| fields.annotations.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let topology_mode = annotation(TOPOLOGY_AWARE_HINTS).or_else(|| annotation(TOPOLOGY_MODE));
        let ports = fields.ports.iter().map(|port| ServicePort::new(port, interner)).collect();
        Self {
            namespace: interner.string(fields.namespace),
            name: interner.string(fields.name),
            uid: fields.uid.into(),
            version: fields.resource_version.into(),
            created: fields.created,
            deleting: fields.deleting,
            labels: interner.labels(&mut fields.labels),
            annotations: interner.annotations(&fields.annotations),
            selector: (!fields.selector.is_empty()).then(|| interner.labels(&mut fields.selector)),
            ports: interner.service_ports(ports),
            service_type: match fields.service_type {
                "ExternalName" => ServiceType::ExternalName,
                _ => ServiceType::Other,
            },
            cluster_ip: fields.cluster_ip.into(),
            families: Families::new(&fields.ip_families),
            publish_not_ready_addresses: fields.publish_not_ready_addresses,
            has_local_policy: fields.has_local_policy,
            traffic_distribution: fields.traffic_distribution.map(|value| interner.string(value)),
            topology_mode: topology_mode.map(|value| interner.string(value)),
            tolerates_unready: annotation(TOLERATE_UNREADY_ENDPOINTS).and_then(parse_bool),
        }
    }

    /// Builds the compact form of an API object; equal strings are shared through `interner`.
    pub fn from_api(service: &core::Service, interner: &mut Interner) -> Self {
        Self::new(ServiceFields::from(service), interner)
    }

    /// True if the Service has no cluster IP by its specification (`clusterIP: None`).
    pub fn is_headless(&self) -> bool {
        &*self.cluster_ip == "None"
    }

    /// True if the endpoints of the Service are the pods that it selects. Of other Services, the controllers of pods leave
    /// Endpoints and slices alone (`endpoints_controller.go`, `endpointslice_controller.go` `syncService`).
    pub fn selects_pods(&self) -> bool {
        self.selector.is_some() && self.service_type != ServiceType::ExternalName
    }

    /// True if the Service requests topology-aware hints (`utils.go` `hintsEnabled`).
    pub fn wants_topology_hints(&self) -> bool {
        matches!(self.topology_mode.as_deref(), Some("Auto" | "auto"))
    }

    /// The address types that this Service should have slices for.
    ///
    /// The listed families, or the family of the cluster IP, or both (`utils.go` `getAddressTypesForService`).
    pub fn address_types(&self) -> BTreeSet<AddressType> {
        let Families { ipv4, ipv6, .. } = self.families;
        if ipv4 || ipv6 {
            return [(ipv4, AddressType::Ipv4), (ipv6, AddressType::Ipv6)]
                .into_iter()
                .filter_map(|(listed, address_type)| listed.then_some(address_type))
                .collect();
        }
        match parse_ip(&self.cluster_ip) {
            Some(address) => [AddressType::of(address)].into(),
            None => [AddressType::Ipv4, AddressType::Ipv6].into(),
        }
    }
}

impl Families {
    fn new(listed: &[&str]) -> Self {
        Self {
            primary: listed.iter().find_map(|family| AddressType::parse(family)),
            ipv4: listed.contains(&"IPv4"),
            ipv6: listed.contains(&"IPv6"),
        }
    }
}

/// Reads a boolean as Kubernetes does in annotations and flags (Go's `strconv.ParseBool`).
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

impl ServicePort {
    fn new(port: &PortFields<'_>, interner: &mut Interner) -> Self {
        Self {
            name: interner.string(port.name),
            protocol: interner.string(if port.protocol.is_empty() { "TCP" } else { port.protocol }),
            port: port.port,
            target: match port.target {
                TargetPort::Number(number) => TargetPort::Number(number),
                TargetPort::Name(name) => TargetPort::Name(interner.string(name)),
            },
            app_protocol: port.app_protocol.map(|value| interner.string(value)),
        }
    }
}

impl From<&core::Service> for Service {
    fn from(service: &core::Service) -> Self {
        Self::from_api(service, &mut Interner::default())
    }
}

impl<'a> From<&'a core::Service> for ServiceFields<'a> {
    fn from(service: &'a core::Service) -> Self {
        let metadata = &service.metadata;
        let mut fields = Self {
            namespace: text(metadata.namespace.as_ref()),
            name: text(metadata.name.as_ref()),
            uid: text(metadata.uid.as_ref()),
            resource_version: text(metadata.resource_version.as_ref()),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0.as_second()),
            deleting: metadata.deletion_timestamp.is_some(),
            labels: pairs(metadata.labels.as_ref()),
            annotations: pairs(metadata.annotations.as_ref()),
            ..Self::default()
        };
        if let Some(spec) = &service.spec {
            fields.selector = pairs(spec.selector.as_ref());
            fields.ports = spec.ports.iter().flatten().map(PortFields::from).collect();
            fields.service_type = text(spec.type_.as_ref());
            fields.cluster_ip = text(spec.cluster_ip.as_ref());
            fields.ip_families = spec.ip_families.iter().flatten().map(String::as_str).collect();
            fields.publish_not_ready_addresses = spec.publish_not_ready_addresses.unwrap_or_default();
            fields.has_local_policy = [&spec.external_traffic_policy, &spec.internal_traffic_policy]
                .into_iter()
                .any(|policy| policy.as_deref() == Some("Local"));
            fields.traffic_distribution = spec.traffic_distribution.as_deref();
        }
        fields
    }
}

impl<'a> From<&'a core::ServicePort> for PortFields<'a> {
    fn from(port: &'a core::ServicePort) -> Self {
        Self {
            name: text(port.name.as_ref()),
            protocol: text(port.protocol.as_ref()),
            port: port.port,
            target: match &port.target_port {
                Some(IntOrString::Int(number)) => TargetPort::Number(*number),
                Some(IntOrString::String(name)) => TargetPort::Name(name),
                None => TargetPort::default(),
            },
            app_protocol: port.app_protocol.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counterpart of upstream's `TestSupportedServiceAddressType`.
    #[test]
    fn address_types_come_from_families_then_from_the_cluster_ip() {
        use AddressType::{Ipv4, Ipv6};
        let cases: &[(&[&str], &str, &[AddressType])] = &[
            (&["IPv4"], "10.0.0.1", &[Ipv4]),
            (&["IPv6"], "fd00::1", &[Ipv6]),
            (&["IPv4", "IPv6"], "10.0.0.1", &[Ipv4, Ipv6]),
            (&["IPv6", "IPv4"], "fd00::1", &[Ipv4, Ipv6]),
            (&["IPv4"], "None", &[Ipv4]),
            (&["IPv6", "IPv4"], "None", &[Ipv4, Ipv6]),
            (&[], "10.0.0.1", &[Ipv4]),
            (&[], "fd00::1", &[Ipv6]),
            (&[], "None", &[Ipv4, Ipv6]),
            (&[], "", &[Ipv4, Ipv6]),
        ];
        for (families, cluster_ip, expected) in cases {
            let fields =
                ServiceFields { ip_families: families.to_vec(), cluster_ip, ..ServiceFields::default() };
            let service = Service::new(fields, &mut Interner::default());
            assert!(service.address_types().iter().eq(*expected), "{families:?} {cluster_ip}");
        }
    }

    /// Counterpart of upstream's `Test_hintsEnabled`.
    #[test]
    fn the_deprecated_topology_annotation_hides_the_other() {
        let wants = |annotations: &[(&'static str, &'static str)]| {
            let fields = ServiceFields { annotations: annotations.to_vec(), ..ServiceFields::default() };
            Service::new(fields, &mut Interner::default()).wants_topology_hints()
        };
        for (value, wanted) in [
            ("Auto", true),
            ("auto", true),
            ("aUto", false),
            ("AUTO", false),
            ("enabled", false),
            ("", false),
        ] {
            assert_eq!(wants(&[(TOPOLOGY_MODE, value)]), wanted, "{value}");
            assert_eq!(wants(&[(TOPOLOGY_AWARE_HINTS, value)]), wanted, "{value}");
            assert_eq!(wants(&[(TOPOLOGY_MODE, "auto"), (TOPOLOGY_AWARE_HINTS, value)]), wanted, "{value}");
            assert_eq!(
                wants(&[(TOPOLOGY_MODE, "disabled"), (TOPOLOGY_AWARE_HINTS, value)]),
                wanted,
                "{value}"
            );
        }
        assert!(!wants(&[]));
        assert!(!wants(&[("example.com/topology-mode", "auto")]));
    }

    #[test]
    fn the_family_listed_first_is_the_primary_one() {
        let primary = |listed: &[&'static str]| Families::new(listed).primary;
        assert_eq!(primary(&["IPv6", "IPv4"]), Some(AddressType::Ipv6));
        assert_eq!(primary(&["IPv4", "IPv6"]), Some(AddressType::Ipv4));
        assert_eq!(primary(&[]), None);
    }

    #[test]
    fn the_old_annotation_is_true_false_or_ignored() {
        let tolerates = |value: &'static str| {
            let annotations = vec![(TOLERATE_UNREADY_ENDPOINTS, value)];
            let fields = ServiceFields { annotations, ..ServiceFields::default() };
            Service::new(fields, &mut Interner::default()).tolerates_unready
        };
        assert_eq!(["true", "T", "1"].map(tolerates), [Some(true); 3]);
        assert_eq!(["false", "F", "0"].map(tolerates), [Some(false); 3]);
        assert_eq!(["", "yes", "tRUE"].map(tolerates), [None; 3]);
        assert_eq!(Service::new(ServiceFields::default(), &mut Interner::default()).tolerates_unready, None);
    }
}
