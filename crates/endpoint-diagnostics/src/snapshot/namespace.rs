//! The objects of one namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::model::ServicePort;
use endpointslice::well_known::{HEADLESS, SERVICE_NAME};
use endpointslice::{Interner, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};

use super::labels::Labels;
use super::objects::{Kind, Object};
use crate::metadata::label;

/// The objects of one namespace, by name.
#[derive(Default)]
pub struct NamespaceObjects {
    services: BTreeMap<Arc<str>, ServiceEntry>,
    pods: BTreeMap<Arc<str>, PodEntry>,
    slices: BTreeMap<Arc<str>, Arc<EndpointSlice>>,
    endpoints: BTreeMap<Arc<str>, Arc<Endpoints>>,
    labels: Labels,
    slices_of: BTreeMap<String, BTreeSet<Arc<str>>>,
}

/// A Service, as stored and as controllers read it.
#[derive(Clone, Debug)]
pub struct ServiceEntry {
    /// The stored object.
    pub object: Arc<core::Service>,
    /// Its fields that endpoints depend on.
    pub service: Arc<Service>,
}

/// A pod, as stored and as controllers read it.
#[derive(Clone, Debug)]
pub struct PodEntry {
    /// The stored object. Of its spec, there may be no more than readiness gates and claims.
    pub object: Arc<core::Pod>,
    /// Its fields that endpoints depend on.
    pub pod: Arc<Pod>,
}

impl ServiceEntry {
    /// The name.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.service.name)
    }

    /// The namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(Arc::clone(&self.service.namespace), self.name())
    }

    /// True if clients reach the Service by an address of its own, and a port.
    pub fn has_cluster_ip(&self) -> bool {
        !self.service.is_headless() && !self.service.cluster_ip.is_empty()
    }

    /// The reason for which no connection to the cluster IP reaches endpoints of a slice, if there is one: kube-proxy reads no slices
    /// of headless Services, uses each family for the cluster IP of that family, and finds ports by name and protocol
    /// (`pkg/proxy/endpointslicecache.go`).
    pub(crate) fn bypasses(&self, slice: &EndpointSlice) -> Option<&'static str> {
        if !self.has_cluster_ip() {
            return None;
        }
        if label(&slice.metadata, HEADLESS).is_some() {
            return Some("has the label service.kubernetes.io/headless, which hides it from kube-proxy");
        }
        if !self.service.address_types().iter().any(|family| family.as_str() == slice.address_type) {
            return Some("is of a family that the Service does not have");
        }
        let is_of_service = |port: &EndpointPort| {
            let name = port.name.as_deref().unwrap_or_default();
            let protocol = port.protocol.as_deref().unwrap_or("TCP");
            let is_same = |of: &ServicePort| &*of.name == name && &*of.protocol == protocol;
            port.port.is_some_and(|number| number > 0) && self.service.ports.iter().any(is_same)
        };
        let has_port = slice.ports.iter().flatten().any(is_of_service);
        (!has_port).then_some("has no port with the name and the protocol of one of the Service")
    }
}

impl NamespaceObjects {
    /// The Services.
    pub fn services(&self) -> impl Iterator<Item = &ServiceEntry> {
        self.services.values()
    }

    /// A Service.
    pub fn service(&self, name: &str) -> Option<&ServiceEntry> {
        self.services.get(name)
    }

    /// The pods.
    pub fn pods(&self) -> impl Iterator<Item = &PodEntry> {
        self.pods.values()
    }

    /// A pod.
    pub fn pod(&self, name: &str) -> Option<&PodEntry> {
        self.pods.get(name)
    }

    /// The pods that a Service selects, by name.
    pub fn selected(&self, service: &Service) -> Vec<&PodEntry> {
        let names = service.selector.as_ref().map(|selector| self.labels.selected(selector));
        names.iter().flatten().filter_map(|name| self.pod(name)).collect()
    }

    /// The labels of the pods, for selectors.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The slices, of every Service and manager.
    pub fn slices(&self) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        self.slices.values()
    }

    /// A slice.
    pub fn slice(&self, name: &str) -> Option<&Arc<EndpointSlice>> {
        self.slices.get(name)
    }

    /// The slices whose label names this Service, of every manager.
    pub fn slices_of(&self, service: &str) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        let names = self.slices_of.get(service).into_iter().flatten();
        names.filter_map(|name| self.slices.get(name))
    }

    /// The Endpoints.
    pub fn all_endpoints(&self) -> impl Iterator<Item = &Arc<Endpoints>> {
        self.endpoints.values()
    }

    /// The Endpoints of a name.
    pub fn endpoints(&self, name: &str) -> Option<&Arc<Endpoints>> {
        self.endpoints.get(name)
    }

    /// The names of the objects of a kind.
    pub(super) fn names(&self, kind: Kind) -> Vec<Arc<str>> {
        match kind {
            Kind::Services => self.services.keys().cloned().collect(),
            Kind::Pods => self.pods.keys().cloned().collect(),
            Kind::EndpointSlices => self.slices.keys().cloned().collect(),
            Kind::Endpoints => self.endpoints.keys().cloned().collect(),
            Kind::Nodes | Kind::Namespaces | Kind::ResourceClaims => Vec::new(),
        }
    }

    pub(super) fn upsert(&mut self, object: Object, interner: &mut Interner) {
        let name: Arc<str> = object.key().1.into();
        self.remove(object.kind(), &name);
        match object {
            Object::Service(object) => {
                let service = Arc::new(Service::from_api(&object, interner));
                self.services.insert(name, ServiceEntry { object, service });
            }
            Object::Pod(mut object) => {
                let pod = Arc::new(Pod::from_api(&object, interner));
                if let Some(object) = Arc::get_mut(&mut object) {
                    shrink(object);
                }
                self.labels.add(&name, &pod.labels);
                self.pods.insert(name, PodEntry { object, pod });
            }
            Object::EndpointSlice(mut slice) => {
                if let Some(endpoints) = Arc::get_mut(&mut slice).and_then(|slice| slice.endpoints.as_mut()) {
                    endpoints.shrink_to_fit();
                }
                if let Some(service) = service_of(&slice) {
                    self.slices_of.entry(service.to_owned()).or_default().insert(Arc::clone(&name));
                }
                self.slices.insert(name, slice);
            }
            Object::Endpoints(endpoints) => {
                self.endpoints.insert(name, endpoints);
            }
            Object::Node(_) | Object::Namespace(_) | Object::ResourceClaim(_) => {}
        }
    }

    /// True if there is no object.
    pub(super) fn is_empty(&self) -> bool {
        let Self { services, pods, slices, endpoints, labels: _, slices_of: _ } = self;
        services.is_empty() && pods.is_empty() && slices.is_empty() && endpoints.is_empty()
    }

    pub(super) fn remove(&mut self, kind: Kind, name: &str) {
        match kind {
            Kind::Services => drop(self.services.remove(name)),
            Kind::Pods => {
                if let Some(removed) = self.pods.remove(name) {
                    self.labels.remove(name, &removed.pod.labels);
                }
            }
            Kind::EndpointSlices => {
                let removed = self.slices.remove(name);
                if let Some(service) = removed.as_deref().and_then(service_of)
                    && let Some(names) = self.slices_of.get_mut(service)
                {
                    names.remove(name);
                    if names.is_empty() {
                        self.slices_of.remove(service);
                    }
                }
            }
            Kind::Endpoints => drop(self.endpoints.remove(name)),
            Kind::Nodes | Kind::Namespaces | Kind::ResourceClaims => {}
        }
    }
}

/// Frees what only controllers read of a pod, from which they have taken it, and what decoding has reserved: most of the memory.
fn shrink(pod: &mut core::Pod) {
    if let Some(core::PodSpec { readiness_gates, resource_claims, .. }) = pod.spec.take() {
        pod.spec = Some(core::PodSpec { readiness_gates, resource_claims, ..core::PodSpec::default() });
    }
    if let Some(status) = &mut pod.status {
        status.conditions.iter_mut().for_each(Vec::shrink_to_fit);
        let statuses = [&mut status.container_statuses, &mut status.init_container_statuses];
        statuses.into_iter().flatten().for_each(Vec::shrink_to_fit);
    }
}

/// The Service that a slice's label names.
fn service_of(slice: &EndpointSlice) -> Option<&str> {
    label(&slice.metadata, SERVICE_NAME).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Tenants choose the names, and a snapshot may follow a cluster for weeks.
    #[test]
    fn names_that_are_gone_take_no_memory() {
        let (mut objects, mut interner) = (NamespaceObjects::default(), Interner::default());
        for service in ["web", "db"] {
            let labels = json!({"kubernetes.io/service-name": service});
            let slice = json!({"metadata": {"namespace": "shop", "name": "a", "labels": labels}, "addressType": "IPv4", "endpoints": []});
            let slice = Arc::new(serde_json::from_value(slice).unwrap());
            objects.upsert(Object::EndpointSlice(slice), &mut interner);
            assert_eq!(objects.slices_of.keys().collect::<Vec<_>>(), [service]);
        }
        objects.remove(Kind::EndpointSlices, "a");
        assert!(objects.slices_of.is_empty() && objects.is_empty());
    }

    /// Containers and their volumes are most of a pod.
    #[test]
    fn of_a_pods_spec_only_what_diagnoses_read_is_kept() {
        let (mut objects, mut interner) = (NamespaceObjects::default(), Interner::default());
        let ports = json!([{"name": "http", "containerPort": 80}]);
        let pod = json!({
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {
                "containers": [{"name": "main", "ports": ports}],
                "readinessGates": [{"conditionType": "example.com/ready"}],
                "resourceClaims": [{"name": "network"}],
            },
        });
        objects.upsert(Object::Pod(Arc::new(serde_json::from_value(pod).unwrap())), &mut interner);
        let PodEntry { object, pod } = objects.pod("web").unwrap();
        let spec = object.spec.as_ref().unwrap();
        assert!(spec.containers.is_empty());
        assert_eq!((spec.readiness_gates.iter().len(), spec.resource_claims.iter().len()), (1, 1));
        assert_eq!(pod.ports.len(), 1, "of the whole pod");
    }
}
