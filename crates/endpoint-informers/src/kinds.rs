//! How each cached kind is read, in either encoding, into the same compact object.
//!
//! Protobuf is scanned for the few fields that matter; JSON goes through the full API type. Both end in one
//! constructor, so they cannot disagree about meaning, only about reading, which tests compare on real objects.

use endpointslice::model::{NodeFields, PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
use endpointslice::{Interner, Node, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube_protobuf::{DecodeError, Message, MetaView, NodeView, PodView, ServiceView};

use crate::cache::{CachedEndpoints, CachedKind, CachedSlice, DelegatedService, Writers};

/// A kind that can be listed and watched into the cache.
pub trait Kind: CachedKind {
    /// The path of the collection over all namespaces.
    const PATH: &'static str;
    /// The plural name, for logs and metrics.
    const RESOURCE: &'static str;
    /// Whether controllers write objects of this kind. A new leader must know what the last one wrote, and lists these
    /// kinds anew; the others may be as old as their live watches, as in a process that leads already.
    const WRITTEN: bool = false;

    /// Reads a protobuf message without its envelope.
    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError>;

    /// Reads a JSON object.
    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error>;
}

impl Kind for Pod {
    const PATH: &'static str = "/api/v1/pods";
    const RESOURCE: &'static str = "pods";

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let PodView { meta, node_name, hostname, subdomain, phase, pod_ips, ready, ports, .. } =
            PodView::parse(raw)?;
        let fields = PodFields {
            namespace: meta.namespace,
            name: meta.name,
            uid: meta.uid,
            resource_version: meta.resource_version,
            labels: meta.labels,
            annotations: meta.annotations,
            deletion_timestamp: meta.deletion_timestamp,
            node_name,
            hostname,
            subdomain,
            ports: ports.iter().map(|port| (port.name, port.protocol, port.container_port)).collect(),
            phase,
            addresses: pod_ips,
            ready: ready.map_or_else(ReadyCondition::default, |(status, last_transition)| ReadyCondition {
                status,
                last_transition,
            }),
        };
        Ok(Self::new(fields, interner))
    }

    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let pod: core::Pod = serde_json::from_str(json)?;
        Ok(Self::from_api(&pod, interner))
    }
}

impl Kind for Service {
    const PATH: &'static str = "/api/v1/services";
    const RESOURCE: &'static str = "services";

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let view = ServiceView::parse(raw)?;
        let MetaView {
            namespace, name, uid, resource_version, creation_timestamp, deletion_timestamp, ..
        } = view.meta;
        let ports = view.ports.iter().map(|port| PortFields {
            name: port.name,
            protocol: port.protocol,
            port: port.port,
            target: match port.target_port {
                kube_protobuf::TargetPort::Number(number) => TargetPort::Number(number),
                kube_protobuf::TargetPort::Name(name) => TargetPort::Name(name),
            },
            app_protocol: port.app_protocol,
        });
        let fields = ServiceFields {
            namespace,
            name,
            uid,
            resource_version,
            created: creation_timestamp,
            deleting: deletion_timestamp.is_some(),
            labels: view.meta.labels,
            annotations: view.meta.annotations,
            selector: view.selector,
            ports: ports.collect(),
            service_type: view.service_type,
            cluster_ip: view.cluster_ip,
            ip_families: view.ip_families,
            publish_not_ready_addresses: view.publish_not_ready_addresses,
            traffic_distribution: view.traffic_distribution,
        };
        Ok(Self::new(fields, interner))
    }

    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let service: core::Service = serde_json::from_str(json)?;
        Ok(Self::from_api(&service, interner))
    }
}

/// Watched beside [`Service`], with another label selector. Whole objects come, although little is read: the API server
/// encodes an event once for all who watch whole Services, and once more for each who doesn't.
impl Kind for DelegatedService {
    const PATH: &'static str = <Service as Kind>::PATH;
    const RESOURCE: &'static str = "delegated-services";

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let ServiceView { meta, selector, .. } = ServiceView::parse(raw)?;
        let namespace = interner.string(meta.namespace);
        Ok(Self { namespace, name: meta.name.into(), has_selector: !selector.is_empty() })
    }

    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let service: core::Service = serde_json::from_str(json)?;
        let metadata = service.metadata;
        let text = Option::unwrap_or_default;
        let selector = service.spec.and_then(|spec| spec.selector);
        Ok(Self {
            namespace: interner.string(&text(metadata.namespace)),
            name: text(metadata.name).into(),
            has_selector: selector.is_some_and(|selector| !selector.is_empty()),
        })
    }
}

impl Kind for Node {
    const PATH: &'static str = "/api/v1/nodes";
    const RESOURCE: &'static str = "nodes";

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let NodeView { meta, ready, allocatable_cpu, .. } = NodeView::parse(raw)?;
        let fields = NodeFields { name: meta.name, labels: meta.labels, ready, allocatable_cpu };
        Ok(Self::new(&fields, interner))
    }

    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let node: core::Node = serde_json::from_str(json)?;
        Ok(Self::from_api(&node, interner))
    }
}

impl Kind for CachedSlice {
    const PATH: &'static str = "/apis/discovery.k8s.io/v1/endpointslices";
    const RESOURCE: &'static str = "endpointslices";
    const WRITTEN: bool = true;

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let meta = kube_protobuf::meta(raw)?;
        let encoded = kube_protobuf::without_managed_fields(raw)?;
        let label = |key| meta.labels.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value);
        Ok(Self {
            namespace: interner.string(meta.namespace),
            name: meta.name.into(),
            uid: meta.uid.into(),
            version: meta.resource_version.into(),
            generation: meta.generation,
            service: interner.non_empty(label(endpointslice::well_known::SERVICE_NAME)),
            managed_by: interner.non_empty(label(endpointslice::well_known::MANAGED_BY)),
            deleting: meta.deletion_timestamp.is_some(),
            writers: Writers::new(kube_protobuf::last_managers(raw)?, interner),
            encoded: encoded.into(),
        })
    }

    /// Encodes what was read, so that the rest of the program sees one form.
    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let slice: EndpointSlice = serde_json::from_str(json)?;
        let read = Self::from_protobuf(&slice.encode(), interner).map_err(serde::de::Error::custom)?;
        Ok(Self { writers: Writers::new(last_managers(&slice.metadata), interner), ..read })
    }
}

impl Kind for CachedEndpoints {
    const PATH: &'static str = "/api/v1/endpoints";
    const RESOURCE: &'static str = "endpoints";
    const WRITTEN: bool = true;

    fn from_protobuf(raw: &[u8], interner: &mut Interner) -> Result<Self, DecodeError> {
        let meta = kube_protobuf::meta(raw)?;
        let encoded = kube_protobuf::without_managed_fields(raw)?;
        Ok(Self {
            namespace: interner.string(meta.namespace),
            name: meta.name.into(),
            uid: meta.uid.into(),
            version: meta.resource_version.into(),
            writers: Writers::new(kube_protobuf::last_managers(raw)?, interner),
            encoded: encoded.into(),
        })
    }

    /// Encodes what was read, so that the rest of the program sees one form.
    fn from_json(json: &str, interner: &mut Interner) -> Result<Self, serde_json::Error> {
        let endpoints: Endpoints = serde_json::from_str(json)?;
        let read = Self::from_protobuf(&endpoints.encode(), interner).map_err(serde::de::Error::custom)?;
        Ok(Self { writers: Writers::new(last_managers(&endpoints.metadata), interner), ..read })
    }
}

/// As [`kube_protobuf::last_managers`], which are not encoded again.
fn last_managers(metadata: &ObjectMeta) -> Vec<&str> {
    let entries = || metadata.managed_fields.iter().flatten();
    let second = |entry: &ManagedFieldsEntry| entry.time.as_ref().map(|time| time.0.as_second());
    let newest = entries().filter_map(second).max();
    let mut managers: Vec<&str> = Vec::new();
    for entry in entries().filter(|entry| newest.is_some() && second(entry) == newest) {
        let manager = entry.manager.as_deref().unwrap_or_default();
        if managers.len() < kube_protobuf::MAX_LAST_MANAGERS && !managers.contains(&manager) {
            managers.push(manager);
        }
    }
    managers
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_protobuf::Unknown;

    /// Objects that Kubernetes' own types wrote, in both encodings.
    macro_rules! fixture {
        ($name:literal) => {
            (
                $name,
                include_bytes!(concat!("../../kube-protobuf/testdata/", $name, ".pb")).as_slice(),
                include_str!(concat!("../../kube-protobuf/testdata/", $name, ".json")),
            )
        };
    }

    fn read_both<K: Kind>((name, protobuf, json): (&str, &[u8], &str)) -> (K, K) {
        let mut interner = Interner::default();
        let envelope = Unknown::parse(protobuf).expect(name);
        let from_protobuf = K::from_protobuf(envelope.raw, &mut interner).expect(name);
        (from_protobuf, K::from_json(json, &mut interner).expect(name))
    }

    #[test]
    fn both_encodings_give_the_same_object() {
        for fixture in [fixture!("pod"), fixture!("pod-sparse")] {
            let (protobuf, json) = read_both::<Pod>(fixture);
            assert_eq!(protobuf, json);
        }
        for fixture in [fixture!("service"), fixture!("service-headless")] {
            let (protobuf, json) = read_both::<Service>(fixture);
            assert_eq!(protobuf, json);
        }
        let (protobuf, json) = read_both::<Node>(fixture!("node"));
        assert_eq!(protobuf, json);
        for fixture in [fixture!("endpointslice"), fixture!("endpointslice-empty")] {
            let (protobuf, json) = read_both::<CachedSlice>(fixture);
            assert_eq!(protobuf.decode().unwrap(), json.decode().unwrap());
            let of = |slice: &CachedSlice| {
                let names = (slice.namespace.clone(), slice.name.clone(), slice.uid.clone());
                let labels = (slice.service.clone(), slice.managed_by.clone());
                (names, labels, slice.object_version(), slice.deleting, slice.writers.clone())
            };
            assert_eq!(of(&protobuf), of(&json));
        }
    }

    #[test]
    fn a_delegated_service_has_a_selector_or_not_in_either_encoding() {
        for fixture in [fixture!("service"), fixture!("service-headless")] {
            let (service, _) = read_both::<Service>(fixture);
            let (protobuf, json) = read_both::<DelegatedService>(fixture);
            assert_eq!((&protobuf.name, &json.name), (&service.name, &service.name));
            let selected = service.selector.is_some();
            assert_eq!((protobuf.has_selector, json.has_selector), (selected, selected));
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let (pod, _) = read_both::<Pod>(fixture!("pod"));
        assert!(!pod.name.is_empty() && !pod.addresses.is_empty() && !pod.labels.is_empty());
        let (slice, _) = read_both::<CachedSlice>(fixture!("endpointslice"));
        assert_eq!((slice.service.as_deref(), slice.managed_by.as_deref()), (Some("web"), None));
        assert_eq!(slice.generation, 42);
        assert_eq!(slice.decode().unwrap().metadata.managed_fields, None, "left out");
        assert!(slice.writers.are_only("kubelet"), "but not who wrote last");
    }

    #[test]
    fn damage_is_an_error_in_either_encoding() {
        for json in ["", "[]", "7", "{", "{\"kind\":\"Secret\"}", "{\"metadata\":{\"name\":1}}"] {
            let mut interner = Interner::default();
            assert!(Pod::from_json(json, &mut interner).is_err(), "{json}");
            assert!(Service::from_json(json, &mut interner).is_err(), "{json}");
            assert!(Node::from_json(json, &mut interner).is_err(), "{json}");
            assert!(CachedSlice::from_json(json, &mut interner).is_err(), "{json}");
        }
        let (_, protobuf, _) = fixture!("pod");
        let raw = Unknown::parse(protobuf).unwrap().raw;
        for length in 0..raw.len() {
            // Never a panic; a message may also happen to end between two fields.
            let _ = Pod::from_protobuf(&raw[..length], &mut Interner::default());
            let _ = Service::from_protobuf(&raw[..length], &mut Interner::default());
            let _ = Node::from_protobuf(&raw[..length], &mut Interner::default());
            let _ = CachedSlice::from_protobuf(&raw[..length], &mut Interner::default());
        }
    }
}
