//! `DELETE` of an object, and its response: `handlers/delete.go`.

use serde_json::{Map, Value, json};

use super::call::{Call, Content, Outcome};
use super::delete::{Deletion, delete};
use super::options::DeleteOptions;
use crate::core::Entry;
use crate::http::response::status_type;
use crate::status::Status;

/// Kinds whose deletion answers with the object (`ReturnDeletedObject`).
const SHOWN: &[&str] = &["namespaces", "pods", "serviceaccounts", "services"];

/// Deletes an object.
pub(crate) fn one(call: Call<'_>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let options = DeleteOptions::parse(call.headers, call.query, call.body()?)?;
    let deletion = delete(core, entry, (&target.namespace, &target.name), &options)?;
    let content = if deletion.marked || SHOWN.contains(&entry.kind.plural) {
        Content::Stored(deletion.body)
    } else {
        success(entry, &deletion)?
    };
    Ok(Outcome::new(200, content))
}

/// `Status` of a deleted object.
fn success(entry: &'static Entry, deletion: &Deletion) -> Result<Content, Status> {
    let object = entry.tree(&deletion.body)?;
    let mut details = Map::new();
    let fields = [
        ("name", super::meta::text(&object, "name")),
        ("group", entry.kind.group),
        ("kind", entry.kind.plural),
        ("uid", super::meta::text(&object, "uid")),
    ];
    for (key, value) in fields {
        if !value.is_empty() {
            details.insert(key.to_owned(), value.into());
        }
    }
    let tree = json!({ "metadata": {}, "status": "Success", "details": Value::Object(details) });
    Ok(Content::Other("v1", "Status", status_type(), tree))
}
