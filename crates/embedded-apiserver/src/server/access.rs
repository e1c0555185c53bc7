//! Direct access to the state, past HTTP.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;

use super::ApiServer;
use crate::codec::json::{self, FieldValidation};
use crate::core::{Core, Entry, entries};
use crate::kinds::tree;
use crate::store::{Expect, Resource, Span, Stored, key};

/// An object that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The server does not have this kind.
    #[error("no kind {kind:?} in {api_version:?}")]
    UnknownKind {
        /// `apiVersion` of the object.
        api_version: String,
        /// `kind` of the object.
        kind: String,
    },
    /// A field has the wrong type.
    #[error("{0}")]
    Malformed(String),
    /// The object has no name.
    #[error("metadata.name is missing")]
    NoName,
    /// An object of this name exists.
    #[error("{0} exists")]
    Exists(String),
}

/// The objects of a kind as they were at the last call of [`ApiServer::objects_known`].
#[derive(Debug, Default)]
pub struct KnownObjects(Vec<(Arc<Stored>, Arc<Value>)>);

/// The state of a server at one version, without its history: lists and watches at an older version get 410 once it is
/// restored, as after a restore of etcd.
///
/// Cost: the objects are those of the server, not copies.
#[derive(Debug, Clone)]
pub struct Snapshot {
    version: u64,
    objects: Vec<(Resource, Arc<Stored>)>,
}

impl ApiServer {
    /// Stores an object as it is: without defaults, rules, a uid (which owners need), or a check that its namespace exists.
    /// Fields that its kind does not have are dropped. Watches see it.
    ///
    /// # Errors
    /// The object is of an unknown kind, malformed, or exists.
    pub fn load(&self, object: &Value) -> Result<(), LoadError> {
        let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(entry) = Entry::named(&api_version, &kind) else {
            return Err(LoadError::UnknownKind { api_version, kind });
        };
        let tree = stored_tree(entry, object).map_err(LoadError::Malformed)?;
        let meta = |field| tree.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (meta("/metadata/namespace"), meta("/metadata/name"));
        if name.is_empty() {
            return Err(LoadError::NoName);
        }
        let key = key(if entry.kind.namespaced { namespace } else { "" }, name);
        let body = entry.encode(&tree);
        let core = &self.core;
        let write = || core.store.put(entry.resource, &key, Expect::Absent, &body);
        let stored = core.owners.commit(entry.resource, &key, None, Some(&body), write);
        stored.map_err(|_| LoadError::Exists(format!("{kind} {key}")))?;
        entry.kind.strategy.adopt(&core.allocators, &tree);
        Ok(())
    }

    /// All objects of a kind in the order of their namespaces and names, with kind and apiVersion. Empty for an unknown kind.
    ///
    /// Cost: a tree of each object.
    pub fn objects(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let Some(entry) = Entry::named(api_version, kind) else { return Vec::new() };
        stored(&self.core, entry).iter().filter_map(|object| presented(entry, object)).collect()
    }

    /// The same as [`objects`](Self::objects), without another tree of what has not changed since the last call with the same
    /// `known`, which is for one kind of one server.
    pub fn objects_known(&self, api_version: &str, kind: &str, known: &mut KnownObjects) -> Vec<Arc<Value>> {
        let Some(entry) = Entry::named(api_version, kind) else { return Vec::new() };
        let mut before = std::mem::take(&mut known.0).into_iter().peekable();
        for object in stored(&self.core, entry) {
            while before.next_if(|(known, _)| known.key() < object.key()).is_some() {}
            let same = before.next_if(|(known, _)| Arc::ptr_eq(known, &object));
            let tree = same.map(|(_, tree)| tree).or_else(|| presented(entry, &object).map(Arc::new));
            known.0.extend(tree.map(|tree| (object, tree)));
        }
        known.0.iter().map(|(_, tree)| Arc::clone(tree)).collect()
    }

    /// The version of the last write, which is the `resourceVersion` of a list.
    pub fn version(&self) -> u64 {
        self.core.store.version()
    }

    /// Forgets the history: lists at older versions and watches from them get 410, as after a compaction of etcd.
    pub fn compact(&self) {
        self.core.store.compact(self.core.store.version());
    }

    /// Ends all watches, now and for ever.
    pub fn close(&self) {
        self.core.store.close();
    }

    /// The state, for [`restore`](Self::restore).
    pub fn snapshot(&self) -> Snapshot {
        let (version, objects) = self.core.store.everything();
        Snapshot { version, objects }
    }

    /// Replaces the state by that of a snapshot of this server or of another, as the restore of a backup of etcd does under a
    /// running API server: objects and versions go back, all watches end, and the history is gone. The next write gets
    /// `next_version` if it is given and greater than the snapshot's.
    pub fn restore(&self, snapshot: &Snapshot, next_version: Option<u64>) {
        let Snapshot { version, objects } = snapshot;
        let version = next_version.map_or(*version, |next| next.saturating_sub(1).max(*version));
        let core = &self.core;
        let _alone = core.cascading.lock();
        each_object(core, |entry, object| {
            if let Ok(tree) = entry.tree(object.body()) {
                entry.kind.strategy.release(&core.allocators, &tree);
            }
        });
        core.owners.clear();
        core.store.reset(version, objects.clone());
        each_object(core, |entry, object| {
            let written = Arc::clone(object);
            _ = core.owners.commit(entry.resource, object.key(), None, Some(object.body()), || Ok(written));
            if let Ok(tree) = entry.tree(object.body()) {
                entry.kind.strategy.adopt(&core.allocators, &tree);
            }
        });
    }
}

/// Calls `visit` for all objects.
fn each_object(core: &Core, visit: impl Fn(&'static Entry, &Arc<Stored>)) {
    for entry in entries() {
        for object in &stored(core, entry) {
            visit(entry, object);
        }
    }
}

/// All objects of a kind in the order of their keys.
fn stored(core: &Core, entry: &Entry) -> Vec<Arc<Stored>> {
    let mut objects = Vec::new();
    let span = Span { prefix: "", start: "" };
    _ = core.store.visit(entry.resource, None, span, |object| {
        objects.push(Arc::clone(object));
        ControlFlow::Continue(())
    });
    objects
}

/// The canonical tree of an object, as it is stored.
pub(super) fn stored_tree(entry: &'static Entry, object: &Value) -> Result<Value, String> {
    let decoded = json::decode(entry.type_, object.clone(), FieldValidation::Ignore);
    let (tree, _) = decoded.map_err(|error| error.to_string())?;
    Ok(tree::without_head(tree))
}

/// The tree of a stored object, as a client gets it.
fn presented(entry: &Entry, object: &Stored) -> Option<Value> {
    let tree = entry.tree(object.body()).ok()?;
    Some(tree::with_head(tree, &entry.api_version, entry.kind.kind))
}
