//! The state of a server as JSON, and back: a `v1 List` of all objects with their versions and uids.
//!
//! The history is not part of it: lists and watches at a version before the snapshot get 410 afterwards, as after a restore
//! of etcd.

use serde_json::{Value, json};

use crate::codec::json::{FieldValidation, decode};
use crate::codec::protobuf;
use crate::core::Entry;
use crate::store::{Restored, Store, key};
use crate::tree;

/// A snapshot cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The text is something else.
    #[error("the snapshot is no JSON of kind \"List\" with \"metadata.resourceVersion\" and \"items\"")]
    NoList,
    /// An object is wrong.
    #[error("item {index} of the snapshot ({object}) is wrong: {error}")]
    Item {
        /// Its place, from 0.
        index: usize,
        /// Its kind, namespace and name, as far as they are there.
        object: String,
        /// The reason.
        error: String,
    },
}

/// Writes the state of all resources at one version. Fails if a stored object is malformed.
pub(crate) fn write(store: &Store) -> Result<String, SnapshotError> {
    let (version, objects) = store.everything();
    let mut items = Vec::with_capacity(objects.len());
    for (index, (resource, object)) in objects.into_iter().enumerate() {
        let wrong = |error: &str| {
            let object = object.key().to_owned();
            SnapshotError::Item { index, object, error: error.to_owned() }
        };
        let entry = Entry::stored(resource).ok_or_else(|| wrong("an unknown resource"))?;
        let tree = entry.tree(object.body()).map_err(|error| wrong(&error.message))?;
        items.push(with_head(entry, tree));
    }
    let metadata = json!({ "resourceVersion": version.to_string() });
    Ok(json!({ "apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items }).to_string())
}

/// Reads the version and the objects of a snapshot. Fails if the text is none, or one of its objects is wrong.
pub(crate) fn parse(text: &str) -> Result<(u64, Vec<Restored>), SnapshotError> {
    let mut list: Value = serde_json::from_str(text).map_err(|_| SnapshotError::NoList)?;
    let version: Option<u64> = tree::text(tree::field(&list, "metadata"), "resourceVersion").parse().ok();
    let is_list = tree::text(&list, "kind") == "List";
    let items = list.get_mut("items").filter(|_| is_list).map(Value::take);
    let (Some(version), Some(Value::Array(items))) = (version, items) else {
        return Err(SnapshotError::NoList);
    };
    let read = |(index, item): (usize, Value)| {
        let meta = tree::field(&item, "metadata");
        let [namespace, name] = ["namespace", "name"].map(|field| tree::text(meta, field).to_owned());
        let key = key(&namespace, &name);
        let object = format!("{} {key}", tree::text(&item, "kind"));
        let version = tree::text(meta, "resourceVersion").parse().unwrap_or(version);
        restored(item, key, version).map_err(|error| SnapshotError::Item { index, object, error })
    };
    Ok((version, items.into_iter().enumerate().map(read).collect::<Result<_, _>>()?))
}

fn restored(item: Value, key: String, version: u64) -> Result<Restored, String> {
    let (api_version, kind) = (tree::text(&item, "apiVersion"), tree::text(&item, "kind"));
    let entry = Entry::named(api_version, kind).ok_or_else(|| format!("no kind {kind} in {api_version}"))?;
    let tree = stored_tree(entry, item)?;
    if tree::text(tree::field(&tree, "metadata"), "name").is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    Ok(Restored { resource: entry.resource, key, version, body: protobuf::encode(entry.stored_as, &tree) })
}

/// The canonical tree of an object, as it is stored.
pub(crate) fn stored_tree(entry: &'static Entry, object: Value) -> Result<Value, String> {
    let decoded = decode(entry.type_, object, FieldValidation::Ignore);
    let (mut tree, _) = decoded.map_err(|error| error.to_string())?;
    tree::remove(&mut tree, "kind");
    tree::remove(&mut tree, "apiVersion");
    entry.kind.strategy.to_storage(&mut tree);
    Ok(tree)
}

/// The tree of an object with kind and apiVersion.
pub(crate) fn with_head(entry: &Entry, mut tree: Value) -> Value {
    tree::set(&mut tree, "apiVersion", entry.api_version.as_str());
    tree::set(&mut tree, "kind", entry.kind.kind);
    tree
}
