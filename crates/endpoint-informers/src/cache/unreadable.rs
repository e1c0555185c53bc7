//! Objects that exist and could not be read.

use std::collections::HashMap;

use endpointslice::{Node, Pod};

use super::State;
use super::store::Cached;

/// Names that are remembered one by one. More than these count as objects without a readable name.
const MAX_NAMES: usize = 1024;

/// An object is not in the cache and may exist all the same, because it could not be read. Whoever would take its absence
/// for a deletion leaves everything as it is and tries again later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {name} is not in the cache and may still exist, because a {kind} from the API server could not be read; \
     leaving what depends on it as it is"
)]
pub struct UnreadableObject {
    /// The kind.
    pub kind: &'static str,
    /// The name, with the namespace before it unless the kind is cluster-wide.
    pub name: String,
}

impl UnreadableObject {
    pub(super) fn of<T: Cached>(namespace: &str, name: &str) -> Self {
        let name = if T::NAMESPACED { format!("{namespace}/{name}") } else { name.to_owned() };
        Self { kind: T::KIND, name }
    }
}

/// The pods of a namespace, and the Nodes, that exist and could not be read. An endpoint that stands for one of them is
/// not to be removed.
///
/// Pods without a readable name are not among them: a pod that is absent because it has ended, as pods do every minute,
/// looks the same, and endpoints of those must go. Nodes without a readable name are.
#[derive(Debug, Default)]
pub struct UnreadableAround {
    namespace: Box<str>,
    pods: Vec<Box<str>>,
    nodes: Vec<Box<str>>,
    any_node: bool,
}

impl UnreadableAround {
    /// Fails if this pod exists and could not be read.
    pub fn check_pod(&self, name: &str) -> Result<(), UnreadableObject> {
        let unreadable = self.pods.iter().any(|pod| **pod == *name);
        if unreadable { Err(UnreadableObject::of::<Pod>(&self.namespace, name)) } else { Ok(()) }
    }

    /// Fails if this Node, which is not in the cache, may exist.
    pub fn check_node(&self, name: &str) -> Result<(), UnreadableObject> {
        let unreadable = self.any_node || self.nodes.iter().any(|node| **node == *name);
        if unreadable { Err(UnreadableObject::of::<Node>("", name)) } else { Ok(()) }
    }
}

impl State {
    /// What could not be read and may have endpoints in this namespace; usually nothing.
    pub fn unreadable_around(&self, namespace: &str) -> Option<UnreadableAround> {
        (self.pods.has_unreadable() || self.nodes.has_unreadable()).then(|| UnreadableAround {
            namespace: namespace.into(),
            pods: self.pods.unreadable().names_in(namespace),
            nodes: self.nodes.unreadable().names_in(""),
            any_node: self.nodes.unreadable().has_unnamed(),
        })
    }
}

/// The objects of one kind that the API server has shown and that could not be read, as far as the store has no older
/// state of them.
///
/// To upstream such an object would be a list that fails for ever. Here everything else goes on, but an absence must
/// not be taken for a deletion.
///
/// Memory: at most [`MAX_NAMES`] names.
#[derive(Default)]
pub(super) struct Unreadable {
    /// With the generation in which each was last seen.
    names: HashMap<(Box<str>, Box<str>), u32>,
    /// The generation in which an object was last seen whose name could not be read either.
    unnamed: Option<u32>,
}

impl Unreadable {
    /// An object was shown in this generation.
    pub(super) fn seen(&mut self, namespace: &str, name: &str, generation: u32) {
        let key = (Box::from(namespace), Box::from(name));
        if self.names.len() < MAX_NAMES || self.names.contains_key(&key) {
            self.names.insert(key, generation);
        } else {
            self.unnamed = Some(generation);
        }
    }

    /// An object without a readable name was shown in this generation.
    pub(super) fn seen_unnamed(&mut self, generation: u32) {
        self.unnamed = Some(generation);
    }

    /// The object has become readable, or is gone.
    pub(super) fn resolved(&mut self, namespace: &str, name: &str) {
        if !self.names.is_empty() {
            self.names.remove(&(Box::from(namespace), Box::from(name)));
        }
    }

    /// A list of this generation is complete: what it did not show is gone or has become readable.
    pub(super) fn listed(&mut self, generation: u32) {
        self.names.retain(|_, seen| *seen == generation);
        self.unnamed = self.unnamed.filter(|seen| *seen == generation);
    }

    /// True if this name was shown.
    pub(super) fn is_named(&self, namespace: &str, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains_key(&(Box::from(namespace), Box::from(name)))
    }

    /// The names that were shown in this namespace.
    fn names_in(&self, namespace: &str) -> Vec<Box<str>> {
        let here = self.names.keys().filter(|(other, _)| **other == *namespace);
        here.map(|(_, name)| name.clone()).collect()
    }

    /// True if an object was shown whose name is not known.
    pub(super) fn has_unnamed(&self) -> bool {
        self.unnamed.is_some()
    }

    /// True if every object could be read.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.unnamed.is_none()
    }
}
