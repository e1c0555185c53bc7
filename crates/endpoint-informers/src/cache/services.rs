//! Services, found by the labels of a pod without looking at the rest of their namespace.
//!
//! Each Service with a selector is filed under one of its selector's labels, the one with fewest Services so far. A
//! pod can only be selected through a label it carries, so its labels lead to every candidate.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use endpointslice::model::LabelSet;
use endpointslice::{Pod, Service};
use foldhash::quality::RandomState;
use hashbrown::{Equivalent, HashMap};

use super::few::Few;
use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, ObjectKey, State};
use controller_kit::queue::Lane;

impl Cached for Service {
    type Index = ServiceIndex;
    const KIND: &'static str = "Service";

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
        self.version == other.version && self.uid == other.uid
    }
}

impl CachedKind for Service {
    fn store(state: &State) -> &Store<Self> {
        &state.services
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.services
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.service(change, state, lane);
    }
}

/// Services by namespace and one label of their selector.
#[derive(Default)]
pub struct ServiceIndex {
    namespaces: HashMap<Arc<str>, Files, RandomState>,
    /// For the names of Services.
    names: RandomState,
}

type Files = HashMap<LabelKey, Few<Arc<Service>>, RandomState>;

/// A label as the key of a map; can be looked up by borrowed text.
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
        let filed = |key: &Arc<str>, value: &Arc<str>| files.get(&LabelRef(key, value)).map_or(0, Few::len);
        let Some((key, value)) = selector.iter().min_by_key(|(key, value)| filed(key, value)) else { return };
        if let Some(file) = files.get_mut(&LabelRef(key, value)) {
            let names = &self.names;
            file.insert_unique(Arc::clone(service), |service| names.hash_one(&*service.name));
        } else {
            let label = LabelKey(Arc::clone(key), Arc::clone(value));
            files.insert(label, Few::One(Arc::clone(service)));
        }
    }

    fn remove(&mut self, service: &Arc<Service>) {
        let Some(files) = self.namespaces.get_mut(&*service.namespace) else { return };
        let hash = self.names.hash_one(&*service.name);
        let is_it = |other: &Arc<Service>| other.name == service.name;
        for (key, value) in service.selector.iter().flat_map(LabelSet::iter) {
            let label = LabelRef(key, value);
            let Some(file) = files.get_mut(&label) else { continue };
            if file.find_mut(hash, is_it).is_none() {
                continue;
            }
            if file.remove(hash, is_it) {
                files.remove(&label);
            }
            break;
        }
        if files.is_empty() {
            self.namespaces.remove(&*service.namespace);
        }
    }
}

#[cfg(test)]
impl ServiceIndex {
    pub(super) fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}

impl State {
    /// The Services of `namespace` whose selector selects a pod with these labels, in no particular order.
    ///
    /// Cost: one lookup for each label, plus the Services filed there.
    pub fn services_selecting<'a>(
        &'a self,
        namespace: &str,
        labels: &'a LabelSet,
    ) -> impl Iterator<Item = &'a Arc<Service>> {
        let files = self.services.index().namespaces.get(namespace);
        let filed = labels
            .iter()
            .filter_map(move |(key, value)| files?.get(&LabelRef(key, value)))
            .flat_map(Few::iter);
        filed.filter(|service| service.selector.as_ref().is_some_and(|selector| selector.selects(labels)))
    }

    /// The Services whose endpoints a pod's change may concern; a Service may be named twice.
    ///
    /// A pod whose labels changed leaves the Services that no longer select it and joins others; the rest only care if
    /// the pod itself changed (`util/controller_utils.go` `determineNeededServiceUpdates`).
    pub fn services_concerned_by(&self, change: &Change<Pod>) -> Vec<ObjectKey> {
        match change {
            Change::Added(pod) | Change::Deleted(pod) => self.keys_selecting(pod),
            Change::Updated { old, new } => {
                let relabelled = !LabelSet::eq(&old.labels, &new.labels);
                match (relabelled, old.differs_as_endpoint(new)) {
                    (false, false) => Vec::new(),
                    (false, true) => self.keys_selecting(new),
                    (true, true) => [self.keys_selecting(old), self.keys_selecting(new)].concat(),
                    (true, false) => symmetric_difference(self.keys_selecting(old), self.keys_selecting(new)),
                }
            }
        }
    }

    fn keys_selecting(&self, pod: &Pod) -> Vec<ObjectKey> {
        let services = self.services_selecting(&pod.namespace, &pod.labels);
        services.map(|service| service.key()).collect()
    }
}

fn symmetric_difference(mut left: Vec<ObjectKey>, mut joined: Vec<ObjectKey>) -> Vec<ObjectKey> {
    let stayed: Vec<ObjectKey> = left.iter().filter(|key| joined.contains(key)).cloned().collect();
    left.append(&mut joined);
    left.retain(|key| !stayed.contains(key));
    left
}
