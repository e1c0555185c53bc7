//! Objects that exist and could not be decoded.

use std::collections::HashMap;

/// Names that are remembered individually. Further names count as objects without a readable name; of them, the
/// namespaces are remembered, as many.
const MAX_NAMES: usize = 1024;

/// An object is missing in the cache and may exist all the same, because it could not be decoded. A caller that would
/// take its absence for a deletion leaves everything as it is and retries later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {name} is not in the cache and may still exist, because a {kind} from the API server could not be read; \
     what depends on it is not changed"
)]
pub struct UnreadableObject {
    /// The kind.
    pub kind: &'static str,
    /// The name, with the namespace before it unless the kind is cluster-scoped.
    pub name: String,
}

impl UnreadableObject {
    /// An object of this kind, which may exist. The namespace of a cluster-scoped one is empty.
    pub(crate) fn new(kind: &'static str, namespace: &str, name: &str) -> Self {
        let name = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        Self { kind, name }
    }
}

/// The names of the objects of one kind that the API server has shown, that could not be decoded, and of which the
/// table has no older state.
///
/// For upstream such an object is a list that fails for ever. Here all other objects are still cached, but a missing
/// object must not be taken for a deleted one.
///
/// Memory: at most [`MAX_NAMES`] names, and as many of namespaces.
#[derive(Default)]
pub(crate) struct UnreadableNames {
    /// Namespace and name, and the generation of the table in which the object was last shown.
    names: HashMap<(Box<str>, Box<str>), u32>,
    /// The generation in which an object without a readable name was last shown.
    unnamed: Option<u32>,
    /// Namespaces with objects whose names are not remembered, and the generation in which one was last shown there. An
    /// empty one stands for all.
    crowded: HashMap<Box<str>, u32>,
}

impl UnreadableNames {
    /// Adds an object that was shown in this generation.
    pub(crate) fn add(&mut self, namespace: &str, name: &str, generation: u32) {
        let key = (Box::from(namespace), Box::from(name));
        if self.names.len() < MAX_NAMES || self.names.contains_key(&key) {
            self.names.insert(key, generation);
        } else {
            self.unnamed = Some(generation);
            let is_known = self.crowded.len() < MAX_NAMES || self.crowded.contains_key(namespace);
            self.crowded.insert(Box::from(if is_known { namespace } else { "" }), generation);
        }
    }

    /// Adds an object without a readable name that was shown in this generation.
    pub(crate) fn add_unnamed(&mut self, generation: u32) {
        self.unnamed = Some(generation);
    }

    /// Removes an object that could be decoded, or was deleted.
    pub(crate) fn remove(&mut self, namespace: &str, name: &str) {
        if !self.names.is_empty() {
            self.names.remove(&(Box::from(namespace), Box::from(name)));
        }
    }

    /// Keeps only what a complete list of this generation has shown.
    pub(crate) fn retain_generation(&mut self, generation: u32) {
        self.names.retain(|_, seen| *seen == generation);
        self.unnamed = self.unnamed.filter(|seen| *seen == generation);
        self.crowded.retain(|_, seen| *seen == generation);
    }

    /// True if an object of this name was shown.
    pub(crate) fn contains(&self, namespace: &str, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains_key(&(Box::from(namespace), Box::from(name)))
    }

    /// The names that were shown in this namespace.
    pub(crate) fn names_in(&self, namespace: &str) -> Vec<Box<str>> {
        let here = self.names.keys().filter(|(other, _)| **other == *namespace);
        here.map(|(_, name)| name.clone()).collect()
    }

    /// True if objects of this namespace were shown whose names are not remembered.
    pub(crate) fn is_crowded(&self, namespace: &str) -> bool {
        self.crowded.contains_key(namespace) || self.crowded.contains_key("")
    }

    /// True if an object without a readable name was shown.
    pub(crate) fn has_unnamed(&self) -> bool {
        self.unnamed.is_some()
    }

    /// True if every object could be decoded.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.unnamed.is_none()
    }
}
