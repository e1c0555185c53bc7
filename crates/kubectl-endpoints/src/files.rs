//! The objects of files.

use std::sync::Arc;

use cli_runtime::input::object::text;
use cli_runtime::input::{self, problem, source};
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{Object, Snapshot};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::exit::Failure;
use super::flags::Target;
use super::live::claim;

/// The namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// Reads files. A kind of which they have no object counts as one that may not be read: a dump without nodes does not mean
/// that there are none.
///
/// The time is that of the newest change in the objects, so that a dump is read as of its own moment.
///
/// # Errors
/// A line about the first object that is wrong, with its file and line.
pub(crate) fn read(target: &Target) -> Result<Snapshot, Failure> {
    let sources = source::read(&target.files, target.recursive).map_err(Failure::Input)?;
    let inputs = input::objects(&sources).map_err(Failure::Input)?;
    let now = Timestamp::now();
    let newest = inputs.iter().filter_map(|input| newest(&input.tree, now)).max();
    let mut objects = vec![];
    for mut input in inputs {
        if !matches!(input.kind(), "Node" | "Namespace") {
            input.complete(target.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE));
        }
        let origin = input.origin.clone();
        let name = format!("{} {}", input.kind(), input.name());
        match object(input.tree) {
            None => {}
            Some(Ok(object)) => objects.push(object),
            Some(Err(error)) => {
                let line = problem::of_field(&sources, &origin, "", &format!("{name}: {error}"));
                return Err(Failure::Input(line));
            }
        }
    }
    let missing = Kind::ALL.into_iter().filter(|kind| !objects.iter().any(|object| object.kind() == *kind));
    let mut snapshot = Snapshot::new(newest.unwrap_or(now), missing.collect::<Vec<_>>());
    for object in objects {
        snapshot.upsert(object);
    }
    Ok(snapshot)
}

/// An object of a kind that diagnoses read; none for other kinds.
pub(crate) fn object(tree: Value) -> Option<Result<Object, serde_json::Error>> {
    fn read<T: DeserializeOwned>(tree: Value) -> Result<Arc<T>, serde_json::Error> {
        serde_json::from_value(tree).map(Arc::new)
    }
    let (version, kind) = (text(&tree, &["apiVersion"]), text(&tree, &["kind"]));
    Some(match (version, kind) {
        ("v1", "Service") => read(tree).map(Object::Service),
        ("v1", "Pod") => read(tree).map(Object::Pod),
        ("v1", "Node") => read(tree).map(Object::Node),
        ("v1", "Endpoints") => read(tree).map(Object::Endpoints),
        ("v1", "Namespace") => read(tree).map(Object::Namespace),
        ("discovery.k8s.io/v1", "EndpointSlice") => read(tree).map(Object::EndpointSlice),
        ("resource.k8s.io/v1", "ResourceClaim") => claim(&tree.to_string()).map(Object::ResourceClaim),
        _ => return None,
    })
}

/// The newest time in an object that is not after `now`.
fn newest(tree: &Value, now: Timestamp) -> Option<Timestamp> {
    match tree {
        Value::Object(fields) => {
            // The time of a deletion is the end of its grace period.
            let grace = fields.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
            let begin = |end: Timestamp| end.checked_sub(SignedDuration::from_secs(grace)).ok();
            let of_field = |(name, value): (&String, &Value)| match value {
                Value::String(text) if name == "deletionTimestamp" => {
                    text.parse().ok().and_then(begin).filter(|time| *time <= now)
                }
                Value::String(text) if is_time(name) => text.parse().ok().filter(|time| *time <= now),
                other => newest(other, now),
            };
            fields.iter().filter_map(of_field).max()
        }
        Value::Array(items) => items.iter().filter_map(|item| newest(item, now)).max(),
        _ => None,
    }
}

fn is_time(field: &str) -> bool {
    field == "time" || ["Timestamp", "Time", "At"].iter().any(|end| field.ends_with(end))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_text(content: &str) -> Result<Snapshot, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("dump.yaml");
        fs::write(&file, content).unwrap();
        let target = Target { files: vec![file.display().to_string()], ..Target::default() };
        read(&target).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_dump_is_read_as_of_its_newest_change() {
        let text = "{apiVersion: v1, kind: Service, metadata: {name: web, creationTimestamp: '2001-01-01T00:00:00Z'}}\n---\n\
                    {apiVersion: v1, kind: Pod, metadata: {name: web-1, deletionTimestamp: '2099-01-01T00:00:00Z', \
                    managedFields: [{time: '2001-01-01T00:00:05Z'}]}}\n---\n{apiVersion: apps/v1, kind: Deployment}";
        let snapshot = read_text(text).unwrap();
        assert_eq!(snapshot.now().to_string(), "2001-01-01T00:00:05Z");
        let terminating =
            text.replace("2099-01-01T00:00:00Z'", "2001-01-01T00:00:37Z', deletionGracePeriodSeconds: 30");
        assert_eq!(read_text(&terminating).unwrap().now().to_string(), "2001-01-01T00:00:07Z");
        assert_eq!(snapshot.services().map(|key| key.to_string()).collect::<Vec<_>>(), ["default/web"]);
        assert!(snapshot.can_read(Kind::Pods) && !snapshot.can_read(Kind::Nodes));
    }

    #[test]
    fn a_broken_object_is_named_by_file_and_line() {
        let text = "{apiVersion: v1, kind: Service, metadata: {name: web}}\n---\n\
                    apiVersion: v1\nkind: Pod\nmetadata: {name: web-1}\nspec: {containers: 7}\n";
        let error = read_text(text).err().unwrap();
        assert!(
            error.contains("dump.yaml: document 2: Pod web-1: ") && error.contains("(line 3)"),
            "{error}"
        );
        assert!(read_text("a: [").is_err());
    }
}
