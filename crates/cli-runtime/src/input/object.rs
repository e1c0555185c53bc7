//! Objects, taken out of documents and lists.

use serde_json::{Map, Value};

use super::document::Document;

/// The place of an object in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The index of its source.
    pub source: usize,
    /// The number of its document.
    pub document: usize,
    /// Its path in the document, such as `items[3]`; empty for the document itself.
    pub path: String,
}

/// One object of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its fields.
    pub tree: Value,
    /// Its place.
    pub origin: Origin,
}

/// A document or an element of a list that is not an object.
#[derive(Debug, PartialEq, Eq)]
pub struct NoObject {
    /// Its place.
    pub origin: Origin,
    /// The field that is wrong; empty for the whole.
    pub field: &'static str,
    /// The reason why it is refused.
    pub reason: &'static str,
}

impl Object {
    /// The kind; empty if it has none.
    pub fn kind(&self) -> &str {
        text(&self.tree, &["kind"])
    }

    /// The `apiVersion`; empty if it has none.
    pub fn api_version(&self) -> &str {
        text(&self.tree, &["apiVersion"])
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &str {
        text(&self.tree, &["metadata", "name"])
    }

    /// The namespace; empty if it has none.
    pub fn namespace(&self) -> &str {
        text(&self.tree, &["metadata", "namespace"])
    }

    /// Sets the namespace, if it names none.
    pub fn complete(&mut self, namespace: &str) {
        if let Some(Value::Object(metadata)) = self.tree.get_mut("metadata") {
            let own = metadata.entry("namespace").or_insert(Value::Null);
            if own.is_null() || own == "" {
                *own = namespace.into();
            }
        }
    }

    /// True if it was read from an API server, which alone gives uids.
    pub fn is_from_cluster(&self) -> bool {
        !text(&self.tree, &["metadata", "uid"]).is_empty()
    }
}

/// The text at a path; empty if there is none.
pub fn text<'a>(tree: &'a Value, path: &[&str]) -> &'a str {
    field(tree, path).and_then(Value::as_str).unwrap_or_default()
}

/// `namespace/name`.
pub fn key(tree: &Value) -> String {
    format!("{}/{}", text(tree, &["metadata", "namespace"]), text(tree, &["metadata", "name"]))
}

/// The value at a path.
pub fn field<'a>(tree: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(tree, |tree, key| tree.get(key))
}

/// The objects of a document, in order. Lists of any kind, also within lists, are taken apart.
///
/// # Errors
/// An element without `apiVersion` or `kind`.
pub fn objects(source: usize, document: Document) -> Result<Vec<Object>, NoObject> {
    let mut objects = Vec::new();
    let origin = Origin { source, document: document.number, path: String::new() };
    add(&mut objects, document.tree, origin, None)?;
    Ok(objects)
}

/// Adds an object, or the elements of a list. Those of a typed list may lack `apiVersion` and `kind`, which `types` gives.
fn add(
    objects: &mut Vec<Object>,
    mut tree: Value,
    origin: Origin,
    types: Option<(&str, &str)>,
) -> Result<(), NoObject> {
    let Value::Object(map) = &mut tree else {
        return Err(NoObject { origin, field: "", reason: "must be an object with apiVersion and kind" });
    };
    if let Some((api_version, kind)) = types {
        map.entry("apiVersion").or_insert_with(|| api_version.into());
        map.entry("kind").or_insert_with(|| kind.into());
    }
    if let Some(items) = take_items(map) {
        let (api_version, list) = (own(map, "apiVersion"), own(map, "kind"));
        let kind = list.strip_suffix("List").filter(|kind| !kind.is_empty());
        let types = kind.map(|kind| (api_version.as_str(), kind));
        for (index, item) in items.into_iter().enumerate() {
            let joint = if origin.path.is_empty() { "" } else { "." };
            let path = format!("{}{joint}items[{index}]", origin.path);
            add(objects, item, Origin { path, ..origin.clone() }, types)?;
        }
        return Ok(());
    }
    for field in ["apiVersion", "kind"] {
        let reason = match map.get(field) {
            Some(Value::String(text)) if !text.is_empty() => continue,
            None => "missing",
            Some(_) => "must be a text",
        };
        return Err(NoObject { origin, field, reason });
    }
    // A manifest may leave metadata out, and the API server names what is missing in it.
    match map.entry("metadata").or_insert_with(|| Map::new().into()) {
        Value::Object(_) => {}
        _ => return Err(NoObject { origin, field: "metadata", reason: "must be an object" }),
    }
    objects.push(Object { tree, origin });
    Ok(())
}

/// The elements of a list; none if this is not a list.
fn take_items(map: &mut Map<String, Value>) -> Option<Vec<Value>> {
    let kind = own(map, "kind");
    match map.get_mut("items") {
        Some(items) if kind.ends_with("List") => match items.take() {
            Value::Array(items) => Some(items),
            _ => Some(Vec::new()),
        },
        None if kind == "List" => Some(Vec::new()),
        _ => None,
    }
}

fn own(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(tree: Value) -> Result<Vec<(String, Value)>, (String, &'static str, &'static str)> {
        match objects(0, Document { number: 1, tree }) {
            Ok(objects) => Ok(objects.into_iter().map(|object| (object.origin.path, object.tree)).collect()),
            Err(NoObject { origin, field, reason }) => Err((origin.path, field, reason)),
        }
    }

    #[test]
    fn lists_are_taken_apart() {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}});
        let pod = json!({"metadata": {"name": "b"}});
        let whole_pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}});
        let pods = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [pod]});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [node, pods]});
        let expected =
            vec![("items[0]".to_owned(), node.clone()), ("items[1].items[0]".to_owned(), whole_pod)];
        assert_eq!(found(list), Ok(expected));
        assert_eq!(found(node.clone()), Ok(vec![(String::new(), node)]));
        assert_eq!(found(json!({"apiVersion": "v1", "kind": "List", "items": null})), Ok(vec![]));
        assert_eq!(found(json!({"apiVersion": "v1", "kind": "List"})), Ok(vec![]));
    }

    #[test]
    fn what_is_no_object_is_named() {
        let refused = |tree, path: &str, field, reason| {
            assert_eq!(found(tree), Err((path.to_owned(), field, reason)));
        };
        refused(json!("text"), "", "", "must be an object with apiVersion and kind");
        refused(json!({"apiVersion": "v1"}), "", "kind", "missing");
        refused(json!({"apiVersion": 1, "kind": "Pod"}), "", "apiVersion", "must be a text");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}]});
        refused(list, "items[0]", "apiVersion", "missing");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": []});
        refused(pod, "", "metadata", "must be an object");
    }
}
