//! The objects of one moment, indexed, as far as the caller may read them.
//!
//! A snapshot is filled by one list ([`Snapshot::from_objects`]), and may follow a watch ([`Snapshot::upsert`],
//! [`Snapshot::remove`]).

mod disruption;
mod labels;
mod namespace;
mod nodes;
mod objects;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use controller_kit::key::ObjectKey;
use endpointslice::Interner;
use endpointslice::desired::Attachment;
use endpointslice::model::Uid;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;

pub use disruption::DisruptedNodes;
pub use labels::{Labels, NearMiss};
pub use namespace::{NamespaceObjects, PodEntry, ServiceEntry};
pub use nodes::Nodes;
pub use objects::{Kind, Object, Objects};

/// The fewest Services with slices and without Endpoints from which follows that the controller of Endpoints is off.
const ENOUGH_SERVICES: usize = 3;

/// The objects of one moment.
pub struct Snapshot {
    now: Timestamp,
    coverage: Coverage,
    unreadable: BTreeSet<Kind>,
    by_namespace: BTreeMap<Arc<str>, NamespaceObjects>,
    nodes: Nodes,
    namespaces: BTreeMap<String, Arc<Namespace>>,
    interner: Interner,
    attachments: BTreeMap<ObjectKey, Attachments>,
    /// [`Self::keeps_endpoints`], until something changes.
    keeps_endpoints: OnceLock<bool>,
}

/// The addresses of a Service's pods in its network, by uid, as `pod-network-controller` reads them; or the reason for which a pod has
/// none.
pub type Attachments = HashMap<Uid, Result<Attachment<Vec<IpAddr>>, String>>;

/// The namespaces that a snapshot covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every namespace.
    All,
    /// These only; nothing is known about others.
    Namespaces(BTreeSet<String>),
}

impl Snapshot {
    /// An empty snapshot, to be filled by [`Self::upsert`]. The caller may read all kinds, except the `unreadable` ones.
    pub fn new(now: Timestamp, coverage: Coverage, unreadable: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            now,
            coverage,
            unreadable: unreadable.into_iter().collect(),
            by_namespace: BTreeMap::new(),
            nodes: Nodes::default(),
            namespaces: BTreeMap::new(),
            interner: Interner::default(),
            attachments: BTreeMap::new(),
            keeps_endpoints: OnceLock::new(),
        }
    }

    /// A snapshot of lists. A kind without a list is one that the caller may not read.
    ///
    /// Cost: linear in objects, times the logarithm of their number.
    pub fn from_objects(objects: Objects, now: Timestamp, coverage: Coverage) -> Self {
        let mut snapshot = Self::new(now, coverage, objects.missing());
        for object in objects.into_objects() {
            snapshot.upsert(object);
        }
        snapshot
    }

    /// The time of the snapshot.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves the time, for a snapshot that follows a watch.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The namespaces that are covered.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// True if the caller may read objects of this kind.
    pub fn can_read(&self, kind: Kind) -> bool {
        !self.unreadable.contains(&kind)
    }

    /// Adds an object, or replaces the one of its name.
    pub fn upsert(&mut self, object: Object) {
        self.keeps_endpoints = OnceLock::new();
        match object {
            Object::Node(node) => self.nodes.upsert(&node, &mut self.interner),
            Object::Namespace(namespace) => {
                let name = namespace.metadata.name.clone().unwrap_or_default();
                self.namespaces.insert(name, namespace);
            }
            object => {
                let namespace = self.interner.string(object.key().0);
                self.by_namespace.entry(namespace).or_default().upsert(object, &mut self.interner);
            }
        }
    }

    /// Sets the attachments of a Service's pods to its network.
    pub fn set_attachments(&mut self, service: ObjectKey, attachments: Attachments) {
        self.attachments.insert(service, attachments);
    }

    /// The attachments of a Service's pods; none if [`Self::set_attachments`] has not set them.
    pub fn attachments(&self, service: &ObjectKey) -> Option<&Attachments> {
        self.attachments.get(service)
    }

    /// Removes an object by its kind, namespace (empty for cluster-wide kinds) and name.
    pub fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        self.keeps_endpoints = OnceLock::new();
        match kind {
            Kind::Nodes => self.nodes.remove(name),
            Kind::Namespaces => {
                self.namespaces.remove(name);
            }
            _ => {
                if let Some(objects) = self.by_namespace.get_mut(namespace) {
                    objects.remove(kind, name);
                }
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
    /// report expects them.
    ///
    /// Cost: linear in Services after a change, if there are no Endpoints.
    pub fn keeps_endpoints(&self) -> bool {
        *self.keeps_endpoints.get_or_init(|| {
            let mut without = 0;
            for objects in self.by_namespace.values() {
                for entry in
                    objects.services().filter(|entry| endpoints_controller::is_served(&entry.service))
                {
                    if objects.endpoints(&entry.service.name).is_some() {
                        return true;
                    }
                    without += usize::from(objects.slices_of(&entry.service.name).next().is_some());
                }
            }
            without < ENOUGH_SERVICES
        })
    }
}
