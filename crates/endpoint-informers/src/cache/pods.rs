//! Pods, found by selector without looking at the rest of their namespace.
//!
//! Pods are grouped by label set, because a selector selects all pods of a set or none. Every label of a set leads to
//! the sets that carry it; a selector is answered from its rarest label. So the cost of a lookup is what it finds plus
//! the few sets that share that label, where upstream scans every pod of the namespace (kubernetes#130961: 18 ms
//! against 35 µs for 500,000 pods).

use std::hash::BuildHasher;
use std::sync::Arc;

use endpointslice::Pod;
use endpointslice::model::LabelSet;
use foldhash::quality::RandomState;
use hashbrown::HashMap;

use super::few::Few;
use super::hash::{Seed, spread};
use super::split::Split;
use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, State};
use controller_kit::queue::Lane;

impl Cached for Pod {
    type Index = PodIndex;
    const KIND: &'static str = "Pod";

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.uid == other.uid
    }
}

impl CachedKind for Pod {
    fn store(state: &State) -> &Store<Self> {
        &state.pods
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.pods
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.pod(change, state, lane);
    }
}

/// Pods by namespace and label, and by node.
#[derive(Default)]
pub struct PodIndex {
    namespaces: HashMap<Arc<str>, NamespacePods, RandomState>,
    nodes: HashMap<Arc<str>, Few<Arc<Pod>>, RandomState>,
    /// For the names of pods in both.
    names: RandomState,
}

/// The pods of one namespace.
///
/// Adding and removing a pod costs its labels, however many other label sets carry them: pods of jobs and stateful sets
/// have labels that no other pod has, so a namespace may have as many label sets as pods.
#[derive(Default)]
struct NamespacePods {
    /// By identity of the label set.
    sets: Split<LabelledPods>,
    /// From the key of a label to its values, and from each to the identities of the label sets that carry it.
    by_label: HashMap<Arc<str>, Values, RandomState>,
    identities: RandomState,
    seed: Seed,
}

/// The values of one label key.
type Values = Split<LabelValue>;

struct LabelValue {
    text: Arc<str>,
    hash: u32,
    sets: Few<usize>,
}

struct LabelledPods {
    labels: LabelSet,
    pods: Few<Arc<Pod>>,
}

fn same_name(a: &Pod, b: &Pod) -> bool {
    a.name == b.name && a.namespace == b.namespace
}

/// A hash of a pod's name; namespaces are apart in one of the two tables, and rarely share names in the other.
fn name_hash(names: &RandomState) -> impl Fn(&Arc<Pod>) -> u64 + Copy {
    move |pod| names.hash_one(&*pod.name)
}

impl Index<Pod> for PodIndex {
    fn insert(&mut self, pod: &Arc<Pod>) {
        let hash_of = name_hash(&self.names);
        self.namespaces.entry(Arc::clone(&pod.namespace)).or_default().insert(pod, hash_of);
        let Some(node) = &pod.node_name else { return };
        match self.nodes.get_mut(node) {
            Some(pods) => pods.insert_unique(Arc::clone(pod), hash_of),
            None => {
                self.nodes.insert(Arc::clone(node), Few::One(Arc::clone(pod)));
            }
        }
    }

    fn remove(&mut self, pod: &Arc<Pod>) {
        let hash = name_hash(&self.names)(pod);
        if let Some(node) = &pod.node_name
            && let Some(pods) = self.nodes.get_mut(node)
            && pods.remove(hash, |other| same_name(other, pod))
        {
            self.nodes.remove(node);
        }
        let Some(namespace) = self.namespaces.get_mut(&*pod.namespace) else { return };
        namespace.remove(pod, hash);
        if namespace.sets.is_empty() {
            self.namespaces.remove(&*pod.namespace);
        }
    }

    fn replace(&mut self, old: &Arc<Pod>, new: &Arc<Pod>) {
        if old.labels.same(&new.labels) && old.node_name == new.node_name {
            let hash = name_hash(&self.names)(old);
            let on_node = old.node_name.as_ref().and_then(|node| self.nodes.get_mut(node));
            if let Some(found) = on_node.and_then(|pods| pods.find_mut(hash, |pod| same_name(pod, old))) {
                *found = Arc::clone(new);
            }
            let namespace = self.namespaces.get_mut(&*old.namespace);
            let set = namespace.and_then(|namespace| namespace.set_mut(old.labels.identity()));
            if let Some(found) = set.and_then(|set| set.pods.find_mut(hash, |pod| pod.name == old.name)) {
                *found = Arc::clone(new);
                return;
            }
        }
        self.remove(old);
        self.insert(new);
    }
}

#[cfg(test)]
impl PodIndex {
    pub(super) fn is_empty(&self) -> bool {
        self.namespaces.is_empty() && self.nodes.is_empty()
    }
}

impl NamespacePods {
    fn insert(&mut self, pod: &Arc<Pod>, name_hash: impl Fn(&Arc<Pod>) -> u64) {
        let identity = pod.labels.identity();
        if let Some(set) = self.set_mut(identity) {
            set.pods.insert_unique(Arc::clone(pod), name_hash);
            return;
        }
        for (key, value) in pod.labels.iter() {
            self.file(identity, key, value);
        }
        let set = LabelledPods { labels: pod.labels.clone(), pods: Few::One(Arc::clone(pod)) };
        let identities = &self.identities;
        let hash_of = |set: &LabelledPods| identities.hash_one(set.labels.identity());
        self.sets.insert_unique(hash_of(&set), set, hash_of);
    }

    fn set_mut(&mut self, identity: usize) -> Option<&mut LabelledPods> {
        let hash = self.identities.hash_one(identity);
        self.sets.find_mut(hash, |set| set.labels.identity() == identity)
    }

    fn set(&self, identity: usize) -> Option<&LabelledPods> {
        let hash = self.identities.hash_one(identity);
        self.sets.find(hash, |set| set.labels.identity() == identity)
    }

    fn remove(&mut self, pod: &Arc<Pod>, name_hash: u64) {
        let identity = pod.labels.identity();
        let hash = self.identities.hash_one(identity);
        let is_it = |set: &LabelledPods| set.labels.identity() == identity;
        let Some(set) = self.sets.find_mut(hash, is_it) else { return };
        if !set.pods.remove(name_hash, |other| other.name == pod.name) {
            return;
        }
        self.sets.remove(hash, is_it);
        for (key, value) in pod.labels.iter() {
            self.unfile(identity, key, value);
        }
    }

    /// Notes that a label set carries a label.
    fn file(&mut self, identity: usize, key: &Arc<str>, value: &Arc<str>) {
        let hash = self.seed.short(value);
        let values = self.by_label.entry(Arc::clone(key)).or_default();
        if let Some(found) = values.find_mut(spread(hash), |other| *other.text == **value) {
            found.sets.insert_unique(identity, |identity| self.identities.hash_one(identity));
        } else {
            let new = LabelValue { text: Arc::clone(value), hash, sets: Few::One(identity) };
            values.insert_unique(spread(hash), new, |value| spread(value.hash));
        }
    }

    /// Takes back [`Self::file`].
    fn unfile(&mut self, identity: usize, key: &Arc<str>, value: &Arc<str>) {
        let hash = spread(self.seed.short(value));
        let Some(values) = self.by_label.get_mut(key) else { return };
        let is_it = |other: &LabelValue| *other.text == **value;
        if let Some(found) = values.find_mut(hash, is_it)
            && found.sets.remove(self.identities.hash_one(identity), |other| *other == identity)
        {
            values.remove(hash, is_it);
        }
        if values.is_empty() {
            self.by_label.remove(key);
        }
    }

    /// The label sets that carry the selector's rarest label; none if one of its labels is nowhere.
    fn candidates(&self, selector: &LabelSet) -> Option<&Few<usize>> {
        let mut rarest: Option<&Few<usize>> = None;
        for (key, value) in selector.iter() {
            let hash = spread(self.seed.short(value));
            let found = self.by_label.get(key)?.find(hash, |other| *other.text == **value)?;
            if rarest.is_none_or(|rarest| found.sets.len() < rarest.len()) {
                rarest = Some(&found.sets);
            }
        }
        rarest
    }
}

/// Pods that were found under the cache's lock and are to be put in order without it.
///
/// A type of its own, because they stand in no particular order and nothing that is published may depend on that.
#[derive(Debug, Default)]
#[must_use]
pub struct SelectedPods(Vec<Arc<Pod>>);

impl SelectedPods {
    /// The pods in order of their names. Cost: a sort; 10 ms for 50,000 pods.
    pub fn sorted(self) -> Vec<Arc<Pod>> {
        let Self(mut pods) = self;
        pods.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        pods
    }

    /// The pods, in no particular order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Pod>> {
        self.0.iter()
    }
}

impl State {
    /// The pods that run on a node, in no particular order. Cost: the pods found.
    pub fn pods_on_node(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.index().nodes.get(node).into_iter().flat_map(Few::iter)
    }

    /// The pods of `namespace` that `selector` selects. An empty selector selects none.
    ///
    /// Cost: the pods found, and the label sets that carry the rarest label of the selector.
    pub fn pods_selected(&self, namespace: &str, selector: &LabelSet) -> SelectedPods {
        let Some(pods) = self.pods.index().namespaces.get(namespace) else { return SelectedPods::default() };
        let candidates = pods.candidates(selector).into_iter().flat_map(Few::iter);
        let sets = candidates.filter_map(|identity| pods.set(*identity));
        let selected = sets.filter(|set| selector.selects(&set.labels));
        SelectedPods(selected.flat_map(|set| set.pods.iter()).cloned().collect())
    }
}
