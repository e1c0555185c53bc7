//! The objects of one moment, indexed, as far as the caller may read them.
//!
//! A snapshot is filled object by object ([`Snapshot::upsert`]), and may follow a watch ([`Snapshot::remove`]).

mod disruption;
mod labels;
mod namespace;
mod networks;
mod nodes;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use controller_kit::key::ObjectKey;
use endpointslice::{Interner, Pod};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::discovery::v1::EndpointSlice;

pub use disruption::DisruptedNodes;
pub(crate) use labels::is_within;
pub use labels::{Labels, NearMiss};
pub use namespace::{NamespaceObjects, PodEntry, ServiceEntry};
pub use networks::{Attachments, Networks, is_on_pod_network, needs_claims};
pub use nodes::Nodes;
pub use objects::{Kind, Object};

use self::disruption::Disruptions;

/// The fewest Services with slices and without Endpoints from which follows that the controller of Endpoints is off.
const ENOUGH_SERVICES: usize = 3;

/// The objects of one moment.
pub struct Snapshot {
    now: Timestamp,
    unreadable: BTreeSet<Kind>,
    by_namespace: BTreeMap<Arc<str>, NamespaceObjects>,
    nodes: Nodes,
    disruptions: Disruptions,
    namespaces: BTreeMap<String, Arc<Namespace>>,
    interner: Interner,
    networks: Networks,
    /// No controller keeps Endpoints.
    endpoints_off: bool,
    /// Objects of one namespace are here, of others are not.
    is_of_namespace: bool,
    /// [`Self::manages_endpoints`], until something changes.
    manages_endpoints: OnceLock<Option<bool>>,
}

impl Snapshot {
    /// An empty snapshot, to be filled by [`Self::upsert`]. The caller may read all kinds, except the `unreadable` ones.
    pub fn new(now: Timestamp, unreadable: impl IntoIterator<Item = Kind>) -> Self {
        let unreadable: BTreeSet<Kind> = unreadable.into_iter().collect();
        let has_claims = !unreadable.contains(&Kind::ResourceClaims);
        Self {
            now,
            unreadable,
            by_namespace: BTreeMap::new(),
            nodes: Nodes::default(),
            disruptions: Disruptions::default(),
            namespaces: BTreeMap::new(),
            interner: Networks::interner().reading_conditions(),
            networks: if has_claims { Networks::default() } else { Networks::without_claims() },
            endpoints_off: false,
            is_of_namespace: false,
            manages_endpoints: OnceLock::new(),
        }
    }

    /// The time of the snapshot.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves the time, for a snapshot that follows a watch.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// True if the caller may read objects of this kind.
    pub fn can_read(&self, kind: Kind) -> bool {
        !self.unreadable.contains(&kind)
    }

    /// Notes that the caller may read objects of this kind after all.
    pub fn set_readable(&mut self, kind: Kind) {
        if self.unreadable.remove(&kind) && kind == Kind::ResourceClaims {
            self.networks = Networks::default();
        }
    }

    /// Notes that no controller keeps Endpoints, whatever the objects look like.
    pub fn set_endpoints_off(&mut self) {
        self.endpoints_off = true;
        self.manages_endpoints = OnceLock::new();
    }

    /// Notes that only the objects of one namespace are read.
    pub fn set_of_namespace(&mut self) {
        self.is_of_namespace = true;
        self.manages_endpoints = OnceLock::new();
    }

    /// Adds an object, or replaces the one of its name.
    pub fn upsert(&mut self, object: Object) {
        self.manages_endpoints = OnceLock::new();
        match object {
            Object::Node(node) => {
                let node = self.nodes.upsert(&node, &mut self.interner);
                self.disruptions.observe(node, self.now.as_second());
            }
            Object::Namespace(namespace) => {
                let name = namespace.metadata.name.clone().unwrap_or_default();
                self.namespaces.insert(name, namespace);
            }
            Object::ResourceClaim(claim) => self.networks.upsert(claim),
            object => {
                let namespace = self.interner.string(object.key().0);
                self.by_namespace.entry(namespace).or_default().upsert(object, &mut self.interner);
            }
        }
    }

    /// The addresses of pods in other networks.
    pub fn networks(&self) -> &Networks {
        &self.networks
    }

    /// True if the slices of some Service depend on ResourceClaims.
    ///
    /// Cost: linear in Services.
    pub fn needs_claims(&self) -> bool {
        let mut services = self.by_namespace.values().flat_map(NamespaceObjects::services);
        services.any(|entry| needs_claims(&entry.object))
    }

    /// The cluster, then zones by name, in which three nodes and half of all are not ready, or which are disrupted by the rule of
    /// the gate `EndpointsKeepReadyOnDisruption`, which leaves some nodes out.
    ///
    /// Cost: linear in nodes.
    pub fn disruptions(&self) -> Vec<DisruptedNodes> {
        self.disruptions.disrupted(self.nodes.iter())
    }

    /// The time at which a pod ceased to be [kept ready](Self::kept_ready), if by time alone.
    pub(crate) fn kept_until(&self, pod: &Pod) -> Option<Timestamp> {
        let ended = self.disruptions.ended(pod, self.now.as_second());
        ended.and_then(|end| Timestamp::from_second(end).ok())
    }

    /// The pods among `selected` that the gate keeps ready, if `slices` have them as ready: as they are for the controllers, by name.
    ///
    /// Cost: nothing to speak of unless a pod is marked; then linear in endpoints.
    pub(crate) fn kept_ready<'a>(
        &self,
        selected: impl Iterator<Item = &'a PodEntry>,
        slices: impl Iterator<Item = &'a EndpointSlice>,
    ) -> BTreeMap<Box<str>, Pod> {
        self.disruptions.kept_ready(selected, slices, self.now.as_second())
    }

    /// Removes an object by its kind, namespace (empty for cluster-wide kinds) and name.
    pub fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        self.manages_endpoints = OnceLock::new();
        match kind {
            Kind::Nodes => {
                self.nodes.remove(name);
                self.disruptions.forget(name, self.now.as_second());
            }
            Kind::Namespaces => {
                self.namespaces.remove(name);
            }
            Kind::ResourceClaims => self.networks.remove(namespace, name),
            _ => {
                if let Some(objects) = self.by_namespace.get_mut(namespace) {
                    objects.remove(kind, name);
                    if objects.is_empty() {
                        self.by_namespace.remove(namespace);
                    }
                }
            }
        }
    }

    /// Replaces the objects of a kind by those of a new list, which the caller may read from now on.
    pub fn replace(&mut self, kind: Kind, objects: Vec<Object>) {
        self.set_readable(kind);
        for (namespace, name) in self.missing_in(kind, &objects) {
            self.remove(kind, &namespace, &name);
        }
        for object in objects {
            self.upsert(object);
        }
    }

    /// The namespaces and names of the objects of a kind that are not in a list.
    pub fn missing_in(&self, kind: Kind, objects: &[Object]) -> Vec<(String, String)> {
        let listed: BTreeSet<(&str, &str)> = objects.iter().map(Object::key).collect();
        let mut keys = self.keys(kind);
        keys.retain(|(namespace, name)| !listed.contains(&(namespace, name)));
        keys
    }

    fn keys(&self, kind: Kind) -> Vec<(String, String)> {
        let cluster_wide = |name: &str| (String::new(), name.to_owned());
        match kind {
            Kind::Nodes => self.nodes.iter().map(|node| cluster_wide(&node.name)).collect(),
            Kind::Namespaces => self.namespaces.keys().map(|name| cluster_wide(name)).collect(),
            Kind::ResourceClaims => self.networks.claims(),
            _ => {
                let of = |namespace: &Arc<str>, name: Arc<str>| (namespace.to_string(), name.to_string());
                let all = self.by_namespace.iter();
                all.flat_map(|(namespace, objects)| {
                    objects.names(kind).into_iter().map(|name| of(namespace, name))
                })
                .collect()
            }
        }
    }

    /// The namespaces with objects, by name.
    pub fn by_namespace(&self) -> impl Iterator<Item = (&Arc<str>, &NamespaceObjects)> {
        self.by_namespace.iter()
    }

    /// The objects of one namespace.
    pub fn namespace(&self, name: &str) -> Option<&NamespaceObjects> {
        self.by_namespace.get(name)
    }

    /// The Namespace objects by name; empty also if they may not be read.
    pub fn namespaces(&self) -> &BTreeMap<String, Arc<Namespace>> {
        &self.namespaces
    }

    /// The nodes; empty also if they may not be read.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The keys of all Services, by namespace and name.
    pub fn services(&self) -> impl Iterator<Item = ObjectKey> {
        self.by_namespace.values().flat_map(|objects| objects.services().map(ServiceEntry::key))
    }

    /// A Service.
    pub fn service(&self, key: &ObjectKey) -> Option<&ServiceEntry> {
        self.namespace(&key.namespace)?.service(&key.name)
    }

    /// False if no Service with a selector has Endpoints, though some have slices: then their controller is off, and no
    /// report expects them. None if the objects of one namespace are too few to tell.
    ///
    /// Cost: linear in Services after a change, if there are no Endpoints.
    pub fn manages_endpoints(&self) -> Option<bool> {
        *self.manages_endpoints.get_or_init(|| {
            if self.endpoints_off {
                return Some(false);
            }
            let mut without = 0;
            for objects in self.by_namespace.values() {
                for entry in objects.services().filter(|entry| entry.service.selects_pods()) {
                    if objects.endpoints(&entry.service.name).is_some() {
                        return Some(true);
                    }
                    without += usize::from(objects.slices_of(&entry.service.name).next().is_some());
                }
            }
            let is_open = self.is_of_namespace && (1..ENOUGH_SERVICES).contains(&without);
            (!is_open).then_some(without < ENOUGH_SERVICES)
        })
    }
}
