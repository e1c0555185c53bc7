//! The Services whose report a change may concern. One too many costs a report; one too few would show an old one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::{Kind, NamespaceObjects, ServiceEntry, is_on_pod_network};
use endpointslice::model::LabelSet;
use endpointslice::well_known::SERVICE_NAME;
use endpointslice::{Node, Service};

/// The pods of the last report on each Service, in order, by namespace and name of the Service.
pub(super) type Reported = BTreeMap<ObjectKey, Vec<String>>;

/// The changes of a batch, as far as they decide which Services are reported again.
#[derive(Default)]
pub(super) struct Touched {
    everything: bool,
    namespaces: BTreeSet<String>,
    /// The namespaces of changed ResourceClaims, on which Services on pod networks depend.
    claims: BTreeSet<String>,
    services: BTreeSet<ObjectKey>,
    pods: BTreeMap<String, Pods>,
}

/// The changed pods of a namespace.
#[derive(Default)]
struct Pods {
    names: BTreeSet<String>,
    /// The labels of pods that are new or gone or have ended, and those of others before and after they changed.
    labels: Vec<LabelSet>,
}

/// An object before its change, as far as it decides.
pub(super) enum Before {
    Pod(Option<Membership>),
    Node(Option<Node>),
    Other,
}

/// The fields of a pod that decide whether reports mention it: they also count those that they don't list.
#[derive(PartialEq, Eq)]
pub(super) struct Membership {
    labels: LabelSet,
    has_ended: bool,
}

impl Touched {
    /// All Services.
    pub(super) fn all() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// These Services.
    pub(super) fn services(services: BTreeSet<ObjectKey>) -> Self {
        Self { services, ..Self::default() }
    }

    pub(super) fn add_all(&mut self) {
        self.everything = true;
    }

    /// Notes what an object that is about to change decides.
    pub(super) fn before(&mut self, snapshot: &Snapshot, kind: Kind, namespace: &str, name: &str) -> Before {
        match kind {
            Kind::Pods => Before::Pod(membership(snapshot, namespace, name)),
            Kind::Nodes => Before::Node(snapshot.nodes().get(name).cloned()),
            _ => {
                self.add(snapshot, kind, namespace, name);
                Before::Other
            }
        }
    }

    /// Notes what the changed object decides.
    pub(super) fn after(
        &mut self,
        snapshot: &Snapshot,
        kind: Kind,
        namespace: &str,
        name: &str,
        before: Before,
    ) {
        match before {
            Before::Pod(before) => {
                let pods = self.pods.entry(namespace.to_owned()).or_default();
                pods.names.insert(name.to_owned());
                let now = membership(snapshot, namespace, name);
                if now != before {
                    pods.labels.extend([before, now].into_iter().flatten().map(|pod| pod.labels));
                }
            }
            // A heartbeat is not a change. Any other may move the hints of all Services.
            Before::Node(before) => self.everything |= snapshot.nodes().get(name) != before.as_ref(),
            Before::Other => self.add(snapshot, kind, namespace, name),
        }
    }

    fn add(&mut self, snapshot: &Snapshot, kind: Kind, namespace: &str, name: &str) {
        match kind {
            Kind::Services | Kind::Endpoints => {
                self.services.insert(ObjectKey::new(namespace, name));
            }
            Kind::EndpointSlices => {
                let service = snapshot.namespace(namespace).and_then(|objects| slice_owner(objects, name));
                self.services.extend(service.map(|service| ObjectKey::new(namespace, service)));
            }
            Kind::Namespaces => {
                self.namespaces.insert(name.to_owned());
            }
            Kind::ResourceClaims => {
                self.claims.insert(namespace.to_owned());
            }
            Kind::Pods | Kind::Nodes => {}
        }
    }

    /// The keys, of Services that exist or have been reported.
    pub(super) fn into_keys(mut self, snapshot: &Snapshot, reported: &Reported) -> BTreeSet<ObjectKey> {
        if self.everything {
            return snapshot.services().chain(reported.keys().cloned()).collect();
        }
        for namespace in &self.namespaces {
            self.services.extend(snapshot.namespace(namespace).into_iter().flat_map(|objects| {
                objects.services().map(|service| ObjectKey::new(namespace.as_str(), service.name()))
            }));
            self.services.extend(of_namespace(reported, namespace).map(|(key, _)| key.clone()));
        }
        for namespace in &self.claims {
            let services = snapshot.namespace(namespace).into_iter().flat_map(NamespaceObjects::services);
            let services = services.filter(|entry| is_on_pod_network(&entry.service));
            self.services.extend(services.map(ServiceEntry::key));
        }
        for (namespace, pods) in &self.pods {
            for (key, mentioned) in of_namespace(reported, namespace) {
                if mentioned.iter().any(|pod| pods.names.contains(pod)) {
                    self.services.insert(key.clone());
                }
            }
            let Some(objects) = snapshot.namespace(namespace) else { continue };
            let concerned = objects
                .services()
                .filter(|entry| pods.labels.iter().any(|pod| may_mention(&entry.service, pod)));
            self.services.extend(concerned.map(|entry| ObjectKey::new(namespace.as_str(), entry.name())));
        }
        self.services
    }
}

/// True if a report on the Service may mention a pod with these labels: one that is selected, or that the selector misses
/// by a label. Reports decide by the number of pods with the other labels which of these they list.
fn may_mention(service: &Service, pod: &LabelSet) -> bool {
    let Some(selector) = &service.selector else { return false };
    let has_one = selector.iter().any(|(key, value)| pod.get(key) == Some(value));
    has_one || (selector.len() == 1 && selector.iter().all(|(key, _)| pod.get(key).is_some()))
}

fn membership(snapshot: &Snapshot, namespace: &str, name: &str) -> Option<Membership> {
    let pod = &snapshot.namespace(namespace)?.pod(name)?.pod;
    Some(Membership { labels: pod.labels.clone(), has_ended: pod.terminal })
}

/// The Service that the label of a slice names.
fn slice_owner(objects: &NamespaceObjects, slice: &str) -> Option<String> {
    objects.slice(slice)?.metadata.labels.as_ref()?.get(SERVICE_NAME).cloned()
}

fn of_namespace<'a>(
    reported: &'a Reported,
    namespace: &'a str,
) -> impl Iterator<Item = (&'a ObjectKey, &'a Vec<String>)> {
    let first = Bound::Included(ObjectKey::new(namespace, ""));
    reported.range((first, Bound::Unbounded)).take_while(move |(key, _)| *key.namespace == *namespace)
}
