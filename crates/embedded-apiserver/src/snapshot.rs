//! The state of a server as YAML, and back: a `v1 List` of all objects with their versions and uids.
//!
//! The history is not part of it: lists and watches at a version before the snapshot get 410 afterwards, as after a restore
//! of etcd.

use std::fmt::Write as _;

use serde_json::Value;

use crate::store::{Resource, Restored, Store, StoreOptions};

/// Translates between stored objects and trees.
pub(crate) trait Translation {
    /// The tree of a stored object, with kind and apiVersion.
    ///
    /// # Errors
    /// The message is malformed.
    fn tree(&self, resource: Resource, body: &[u8]) -> Result<Value, String>;

    /// The resource of an object and its message.
    ///
    /// # Errors
    /// The kind is unknown, or a field is wrong.
    fn stored(&self, object: Value) -> Result<(Resource, Vec<u8>), String>;
}

/// A snapshot cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The text is no YAML.
    #[error("the snapshot is no YAML: {0}")]
    Yaml(String),
    /// The document is something else.
    #[error("the snapshot is no list: it needs kind \"List\" and a list \"items\"")]
    NoList,
    /// The version is no number.
    #[error("the snapshot's metadata.resourceVersion {0:?} is no number above 0")]
    Version(String),
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

/// Writes the state of all resources at one version.
///
/// Cost: the text, which is kept in memory, and one tree at a time.
///
/// # Errors
/// A stored object is malformed.
pub(crate) fn write(store: &Store, translation: &impl Translation) -> Result<String, SnapshotError> {
    let (version, objects) = store.everything();
    let items = if objects.is_empty() { "items: []" } else { "items:" };
    let mut yaml =
        format!("apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"{version}\"\n{items}\n");
    for (index, (resource, object)) in objects.into_iter().enumerate() {
        let wrong = |error| SnapshotError::Item { index, object: object.key().to_owned(), error };
        let tree = translation.tree(resource, object.body()).map_err(wrong)?;
        append_item(&mut yaml, &tree).map_err(wrong)?;
    }
    Ok(yaml)
}

/// Appends a tree as an item of the last list.
fn append_item(yaml: &mut String, tree: &Value) -> Result<(), String> {
    let text = serde_yaml::to_string(tree).map_err(|error| error.to_string())?;
    for (number, line) in text.lines().enumerate() {
        let indent = match (number, line) {
            (0, _) => "- ",
            (_, "") => "",
            _ => "  ",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(yaml, "{indent}{line}");
    }
    Ok(())
}

/// Makes a store with the state of a snapshot.
///
/// # Errors
/// The text is no snapshot, or one of its objects is wrong.
pub(crate) fn read(
    yaml: &str,
    resources: usize,
    options: StoreOptions,
    translation: &impl Translation,
) -> Result<Store, SnapshotError> {
    let (version, objects) = parse(yaml, translation)?;
    Ok(Store::restore(resources, options, version, objects))
}

/// Reads the version and the objects of a snapshot.
///
/// # Errors
/// The text is no snapshot, or one of its objects is wrong.
pub(crate) fn parse(
    yaml: &str,
    translation: &impl Translation,
) -> Result<(u64, Vec<Restored>), SnapshotError> {
    let mut list: Value =
        serde_yaml::from_str(yaml).map_err(|error| SnapshotError::Yaml(error.to_string()))?;
    let version = match list.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        None | Some("") => 0,
        Some(text) => match text.parse() {
            Ok(version) if version > 0 => version,
            _ => return Err(SnapshotError::Version(text.to_owned())),
        },
    };
    let is_list = list.get("kind").and_then(Value::as_str) == Some("List");
    let Some(Value::Array(items)) = list.get_mut("items").filter(|_| is_list).map(Value::take) else {
        return Err(SnapshotError::NoList);
    };
    let mut objects = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let (object, own_version) = (description(&item), text(&item, "resourceVersion").to_owned());
        let (namespace, name) = (text(&item, "namespace").to_owned(), text(&item, "name").to_owned());
        let wrong = |error| SnapshotError::Item { index, object: object.clone(), error };
        if name.is_empty() {
            return Err(wrong("metadata.name is missing".to_owned()));
        }
        let version = match own_version.as_str() {
            "" => version,
            own => {
                own.parse().map_err(|_| wrong(format!("metadata.resourceVersion {own:?} is no number")))?
            }
        };
        let (resource, body) = translation.stored(item).map_err(wrong)?;
        objects.push(Restored { resource, key: crate::store::key(&namespace, &name), version, body });
    }
    Ok((version, objects))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn description(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("no kind");
    format!("{kind} {}", crate::store::key(text(object, "namespace"), text(object, "name")))
}

#[cfg(test)]
mod tests;
