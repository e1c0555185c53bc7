//! A stored object and its key.

use std::sync::Arc;

use bytes::Bytes;

use crate::codec::protobuf::Template;

/// A kind of stored objects, as an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Resource(pub(crate) u16);

/// One version of one object.
///
/// Cost: the encoded object and about 150 bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    version: u64,
    /// Shared by all versions of the object.
    key: Arc<str>,
    body: Bytes,
}

/// The key of an object within its resource: `namespace/name`, or `name` if it has no namespace.
///
/// Lists are in the byte order of this text, as in etcd, where `a-b/x` sorts before `a/x`.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl Stored {
    pub(super) fn new(version: u64, key: Arc<str>, body: Vec<u8>) -> Self {
        Self { version, key, body: Bytes::from(body) }
    }

    /// The same object with another version, as an event of its deletion has it.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        Self::new(version, Arc::clone(&self.key), Template::cut(&self.body).stamp(version))
    }

    /// The version of the commit that wrote it, which is also its `metadata.resourceVersion`.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// `namespace/name` or `name`.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The same, for indexes that would copy it.
    pub(crate) fn shared_key(&self) -> Arc<str> {
        Arc::clone(&self.key)
    }

    /// The namespace; empty for cluster-scoped objects.
    pub(crate) fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// The protobuf message of its type, without an envelope.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }
}
