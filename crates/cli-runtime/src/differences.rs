//! The differences between two states of a cluster's Endpoints and slices, field by field.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::input::object::{field, text};

/// Fields of metadata that say when and by whom an object was written, not what is in it.
const BOOKKEEPING: [&str; 3] = ["generation", "managedFields", "resourceVersion"];
/// Fields of metadata that the API server sets for a new object.
const SET_BY_SERVER: [&str; 2] = ["creationTimestamp", "uid"];

/// A change of one object.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The action on the object.
    pub action: Action,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Of a new object with a generated name, what the name begins with.
    pub name: String,
    /// True if the API server is asked to complete the name.
    pub is_generated: bool,
    /// The fields that change.
    pub fields: Vec<FieldChange>,
}

/// The change of an object as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// The object is new.
    Create,
    /// The object changes.
    Update,
    /// The object is deleted.
    Delete,
}

impl Action {
    /// The verb of the request.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A field that is there before, after, or both, with different values.
#[derive(Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// The path of the field.
    pub path: String,
    /// The value before; none if the field was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; none if the field is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl Change {
    /// The change that a write of a controller makes: a create without `before`, a deletion without `after`.
    ///
    /// Left out is what the API server sets or keeps, and the annotation `unknown`, whose value only the writer knows.
    pub fn of_write(before: Option<Value>, after: Option<Value>, unknown: &str) -> Self {
        let action = match (&before, &after) {
            (None, _) => Action::Create,
            (_, None) => Action::Delete,
            _ => Action::Update,
        };
        let object = before.as_ref().or(after.as_ref()).unwrap_or(&Value::Null);
        let metadata = |field| text(object, &["metadata", field]).to_owned();
        let kind = text(object, &["kind"]).to_owned();
        let generated =
            Some(metadata("generateName")).filter(|prefix| action == Action::Create && !prefix.is_empty());
        let (is_generated, namespace) = (generated.is_some(), metadata("namespace"));
        let name = generated.unwrap_or_else(|| metadata("name"));
        let fields = fields_of_write(before, after, unknown);
        Self { action, kind, namespace, name, is_generated, fields }
    }
}

/// The fields that a write of a controller changes, as [`Change::of_write`] has them; none of a deletion.
pub fn fields_of_write(before: Option<Value>, after: Option<Value>, unknown: &str) -> Vec<FieldChange> {
    let Some(after) = after else { return Vec::new() };
    let before = before.map(|before| written(before, unknown));
    changed(before.as_ref(), &written(after, unknown))
}

/// An object without what the API server sets, and keeps if a write leaves it out; without the annotation `unknown`; and
/// without empty lists and maps, which no reader distinguishes from none.
fn written(mut object: Value, unknown: &str) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|field, _| !SET_BY_SERVER.contains(&field.as_str()) && field != "generateName");
    }
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        annotations.remove(unknown);
    }
    remove_empty(&mut object);
    object
}

fn remove_empty(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_empty);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

/// The fields that an update of `old` to `new` changes.
pub fn fields_changed(old: &Value, new: &Value) -> Vec<FieldChange> {
    changed(Some(old), new)
}

fn changed(old: Option<&Value>, new: &Value) -> Vec<FieldChange> {
    let mut fields = Vec::new();
    compare(&mut fields, "", old.map(content).as_ref(), Some(&content(new)));
    fields
}

/// An object without its identity, which the change names, and without bookkeeping.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    let Value::Object(fields) = &mut object else { return object };
    fields.retain(|key, _| !["apiVersion", "kind"].contains(&key.as_str()));
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|key, _| {
            !["name", "namespace"].contains(&key.as_str()) && !BOOKKEEPING.contains(&key.as_str())
        });
    }
    object
}

/// Adds the differences below a path. Elements of lists are matched by what identifies them, so that one that is added does
/// not change those after it.
fn compare(fields: &mut Vec<FieldChange>, path: &str, before: Option<&Value>, after: Option<&Value>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => compare_maps(fields, path, old, new),
        (None, Some(Value::Object(new))) if is_shown_open(path) => {
            compare_maps(fields, path, &Map::new(), new);
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if identified(old).is_some() => {
            compare_lists(fields, path, old, new);
        }
        (None, Some(Value::Array(new))) if identified(new).is_some() => compare_lists(fields, path, &[], new),
        (before, after) => {
            fields.push(FieldChange {
                path: path.to_owned(),
                before: before.cloned(),
                after: after.cloned(),
            });
        }
    }
}

/// New objects are shown field by field, up to the elements of lists.
fn is_shown_open(path: &str) -> bool {
    !path.contains('[')
}

fn compare_maps(
    fields: &mut Vec<FieldChange>,
    path: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) {
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        compare(fields, &child(path, key), old.get(key), new.get(key));
    }
}

fn child(path: &str, key: &str) -> String {
    if key.contains(['.', '/', '[']) {
        format!("{path}[{key}]")
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn compare_lists(fields: &mut Vec<FieldChange>, path: &str, old: &[Value], new: &[Value]) {
    let (Some(old_keys), Some(new_keys)) = (identified(old), identified(new)) else {
        let list = |list: &[Value]| Some(Value::Array(list.to_vec()));
        fields.push(FieldChange { path: path.to_owned(), before: list(old), after: list(new) });
        return;
    };
    let start = fields.len();
    let (old_by_key, new_by_key): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (old_keys.iter().zip(old).collect(), new_keys.iter().zip(new).collect());
    for key in old_keys.iter().chain(new_keys.iter().filter(|key| !old_by_key.contains_key(*key))) {
        let (before, after) = (old_by_key.get(key).copied(), new_by_key.get(key).copied());
        compare(fields, &format!("{path}[{key}]"), before, after);
    }
    if fields.len() == start && old_keys != new_keys {
        let order = |keys: Vec<String>| Some(keys.into());
        let (before, after) = (order(old_keys), order(new_keys));
        fields.push(FieldChange { path: format!("{path} (order)"), before, after });
    }
}

/// The identity of each element, if all elements have one and no two the same.
fn identified(list: &[Value]) -> Option<Vec<String>> {
    let mut keys = list.iter().map(identity).collect::<Option<Vec<_>>>()?;
    let all = keys.clone();
    keys.sort();
    keys.dedup();
    (keys.len() == list.len()).then_some(all)
}

/// The addresses of an endpoint, the address in Endpoints, the name or number of a port, the ports of a subset.
fn identity(element: &Value) -> Option<String> {
    if let Some(addresses) = element.get("addresses").and_then(Value::as_array)
        && let Some(texts) = addresses.iter().map(Value::as_str).collect::<Option<Vec<_>>>()
    {
        return Some(texts.join(","));
    }
    if let Some(ip) = element.get("ip").and_then(Value::as_str) {
        return Some(ip.to_owned());
    }
    if element.get("addresses").is_some() || element.get("notReadyAddresses").is_some() {
        let ports = element.get("ports").and_then(Value::as_array);
        let ports: Vec<String> = ports.into_iter().flatten().filter_map(port).collect();
        return Some(ports.join(","));
    }
    port(element).or_else(|| field(element, &["uid"]).and_then(Value::as_str).map(str::to_owned))
}

fn port(port: &Value) -> Option<String> {
    let number = port.get("port").map(ToString::to_string);
    let name = port.get("name").and_then(Value::as_str).unwrap_or_default();
    let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or_default();
    number.map(|number| {
        [name, &number, protocol].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const UNKNOWN: &str = "example.com/time";

    fn slice(name: &str, version: u32, more: &Value) -> Value {
        let mut slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": version.to_string(),
                "generateName": "web-", "generation": version},
        });
        slice.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        slice
    }

    fn lines(before: &[Value], after: &[Value]) -> Vec<String> {
        let value = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
        let of = |change: Change| {
            let head = format!("{} {}", change.action.verb(), change.name);
            let field = |field: &FieldChange| {
                format!("{} {} {}", field.path, value(&field.before), value(&field.after))
            };
            [head].into_iter().chain(change.fields.iter().map(field)).collect::<Vec<_>>()
        };
        let name = |object: &Value| text(object, &["metadata", "name"]).to_owned();
        let named = |objects: &[Value], wanted: &str| objects.iter().find(|it| name(it) == wanted).cloned();
        let mut names: Vec<String> = before.iter().chain(after).map(name).collect();
        names.dedup();
        let change = |name: &String| Change::of_write(named(before, name), named(after, name), UNKNOWN);
        names.iter().map(change).flat_map(of).collect()
    }

    fn endpoint(address: &str, ready: bool) -> Value {
        json!({"addresses": [address], "conditions": {"ready": ready}})
    }

    #[test]
    fn what_no_reader_tells_apart_is_the_same() {
        let before = slice("a", 1, &json!({"endpoints": [], "ports": null}));
        let mut after = slice("a", 2, &json!({}));
        after["metadata"]["annotations"] = json!({UNKNOWN: "x"});
        assert_eq!(lines(&[before], &[after]), ["update a"]);
    }

    #[test]
    fn endpoints_are_matched_by_address() {
        let before = [slice("a", 1, &json!({"endpoints": [endpoint("1", true), endpoint("2", true)]}))];
        let after = [slice(
            "a",
            2,
            &json!({"endpoints": [endpoint("0", true), endpoint("1", false), endpoint("2", true)]}),
        )];
        assert_eq!(
            lines(&before, &after),
            [
                "update a",
                "endpoints[1].conditions.ready true false",
                "endpoints[0] - {\"addresses\":[\"0\"],\"conditions\":{\"ready\":true}}",
            ]
        );
    }

    #[test]
    fn a_mere_order_is_a_change() {
        let before = [slice("a", 1, &json!({"endpoints": [endpoint("1", true), endpoint("2", true)]}))];
        let after = [slice("a", 2, &json!({"endpoints": [endpoint("2", true), endpoint("1", true)]}))];
        assert_eq!(lines(&before, &after), ["update a", "endpoints (order) [\"1\",\"2\"] [\"2\",\"1\"]"]);
    }

    #[test]
    fn subsets_are_matched_by_their_ports() {
        let subset = |addresses: Value| json!({"subsets": [{"addresses": addresses, "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}]});
        let before = [slice("a", 1, &subset(json!([{"ip": "1"}, {"ip": "2"}])))];
        let after = [slice("a", 2, &subset(json!([{"ip": "1"}])))];
        assert_eq!(
            lines(&before, &after),
            ["update a", "subsets[http/80/TCP].addresses[2] {\"ip\":\"2\"} -"]
        );
    }

    #[test]
    fn labels_have_brackets() {
        let mut after = slice("a", 2, &json!({}));
        after["metadata"]["labels"] = json!({"app": "x", "a.b/c": "d"});
        let mut before = slice("a", 1, &json!({}));
        before["metadata"]["labels"] = json!({"app": "x"});
        assert_eq!(lines(&[before], &[after]), ["update a", "metadata.labels[a.b/c] - \"d\""]);
    }

    #[test]
    fn new_and_deleted_objects() {
        let before = [slice("web-old", 1, &json!({"addressType": "IPv4"}))];
        let after = [slice("web-x", 2, &json!({"addressType": "IPv4", "endpoints": [endpoint("1", true)]}))];
        assert_eq!(
            lines(&before, &after),
            [
                "delete web-old",
                "create web-",
                "addressType - \"IPv4\"",
                "endpoints[1] - {\"addresses\":[\"1\"],\"conditions\":{\"ready\":true}}",
            ]
        );
    }
}
