//! Pods and Nodes that could not be decoded, for syncs that would remove their endpoints.

use endpointslice::{Node, Pod};

use crate::resource::Resource as _;
use crate::store::unreadable::UnreadableObject;

/// The pods of one namespace, and the Nodes, that exist and could not be decoded. An endpoint that stands for one of
/// them must not be removed.
///
/// Pods without a readable name are not included: a pod that is missing because it has ended, as pods do every minute,
/// looks the same, and its endpoints must be removed. Nodes without a readable name are included, and so is each missing pod
/// of a namespace with more unreadable pods than are remembered.
#[derive(Debug, Default)]
pub struct UnreadableObjects {
    pub(crate) namespace: Box<str>,
    pub(crate) pods: Vec<Box<str>>,
    pub(crate) any_pod: bool,
    pub(crate) nodes: Vec<Box<str>>,
    pub(crate) any_node: bool,
}

impl UnreadableObjects {
    /// Fails if this pod, which is not in the cache, exists and could not be decoded.
    pub fn check_pod(&self, name: &str) -> Result<(), UnreadableObject> {
        let unreadable = self.any_pod || self.pods.iter().any(|pod| **pod == *name);
        if unreadable { Err(UnreadableObject::new(Pod::KIND, &self.namespace, name)) } else { Ok(()) }
    }

    /// Fails if this Node, which is not in the cache, may exist.
    pub(crate) fn check_node(&self, name: &str) -> Result<(), UnreadableObject> {
        let unreadable = self.any_node || self.nodes.iter().any(|node| **node == *name);
        if unreadable { Err(UnreadableObject::new(Node::KIND, "", name)) } else { Ok(()) }
    }
}
