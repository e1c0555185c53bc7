//! Services, indexed so that the labels of a pod find its Services without a scan of the namespace.
//!
//! Each Service with a selector is filed under one label of its selector, the label with the fewest Services so far.
//! Only labels that a pod has can select it, so the labels of the pod lead to every candidate.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::model::{LabelSet, PortFields, ServiceFields, TargetPort};
use endpointslice::{Interner, Service};
use foldhash::quality::RandomState;
use hashbrown::{Equivalent, HashMap};
use k8s_openapi::api::core::v1 as core;
use kube_protobuf::{DecodeError, MetaView, ServiceView};

use crate::resource::{Index, Resource, identical_to};
use crate::store::small_set::SmallSet;

impl Resource for Service {
    const KIND: &'static str = "Service";
    const RESOURCE: &'static str = "services";
    const PATH: &'static str = "/api/v1/services";
    const HAS_PROTOBUF: bool = true;

    type Index = ServiceIndex;

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
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
            has_local_policy: view.has_local_policy,
            traffic_distribution: view.traffic_distribution,
        };
        Ok((Self::new(fields, interner), resource_version))
    }

    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let service: core::Service = serde_json::from_str(json)?;
        let object = Self::from_api(&service, interner);
        Ok((object, service.metadata.resource_version.unwrap_or_default()))
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Services by namespace and one label of their selector.
#[derive(Default)]
pub struct ServiceIndex {
    namespaces: HashMap<Arc<str>, Files, RandomState>,
    /// Hashes the names of Services.
    names: RandomState,
}

type Files = HashMap<LabelKey, SmallSet<Arc<Service>>, RandomState>;

/// A label as the key of a map, which borrowed text can look up.
#[derive(Clone, PartialEq, Eq)]
struct LabelKey(Arc<str>, Arc<str>);

#[derive(Hash)]
struct LabelRef<'a>(&'a str, &'a str);

impl Hash for LabelKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        LabelRef(&self.0, &self.1).hash(state);
    }
}

impl Equivalent<LabelKey> for LabelRef<'_> {
    fn equivalent(&self, key: &LabelKey) -> bool {
        *self.0 == *key.0 && *self.1 == *key.1
    }
}

impl Index<Service> for ServiceIndex {
    fn insert(&mut self, service: &Arc<Service>) {
        let Some(selector) = &service.selector else { return };
        let files = self.namespaces.entry(Arc::clone(&service.namespace)).or_default();
        let filed =
            |key: &Arc<str>, value: &Arc<str>| files.get(&LabelRef(key, value)).map_or(0, SmallSet::len);
        let Some((key, value)) = selector.iter().min_by_key(|(key, value)| filed(key, value)) else { return };
        if let Some(file) = files.get_mut(&LabelRef(key, value)) {
            let names = &self.names;
            file.insert_unique(Arc::clone(service), |service| names.hash_one(&*service.name));
        } else {
            let label = LabelKey(Arc::clone(key), Arc::clone(value));
            files.insert(label, SmallSet::One(Arc::clone(service)));
        }
    }

    fn remove(&mut self, service: &Arc<Service>) {
        let Some(files) = self.namespaces.get_mut(&*service.namespace) else { return };
        let hash = self.names.hash_one(&*service.name);
        let is_match = identical_to(service);
        for (key, value) in service.selector.iter().flat_map(LabelSet::iter) {
            let label = LabelRef(key, value);
            let Some(file) = files.get_mut(&label) else { continue };
            if file.find_mut(hash, is_match).is_none() {
                continue;
            }
            if file.remove(hash, is_match) {
                files.remove(&label);
            }
            break;
        }
        if files.is_empty() {
            self.namespaces.remove(&*service.namespace);
        }
    }
}

impl ServiceIndex {
    /// The Services of a namespace whose selector selects a pod with these labels.
    pub(crate) fn selecting<'a>(
        &'a self,
        namespace: &str,
        labels: &'a LabelSet,
    ) -> impl Iterator<Item = &'a Arc<Service>> {
        let files = self.namespaces.get(namespace);
        let filed = labels
            .iter()
            .filter_map(move |(key, value)| files?.get(&LabelRef(key, value)))
            .flat_map(SmallSet::iter);
        filed.filter(|service| service.selector.as_ref().is_some_and(|selector| selector.selects(labels)))
    }
}

#[cfg(test)]
impl ServiceIndex {
    pub(crate) fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}
