//! Objects as tables, for clients that print them: `Accept: application/json;as=Table;v=v1;g=meta.k8s.io`.
//!
//! Columns, cells and their formats are those of `pkg/printers/internalversion` of Kubernetes 1.36.3. Cells are computed
//! from canonical trees; an absent field is its zero value, so the bare object of a bookmark has a row too, as upstream.

mod columns;
mod duration;
mod endpoints;
mod event;
mod node;
mod object;
mod options;
mod pod;
mod service;
mod workload;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use object::{Age, name, text};

pub(crate) use options::{Include, Options};
pub(crate) use workload::label_selector;

/// The table of objects of one kind.
///
/// `metadata` is the list's, or only the `resourceVersion` of a single object. `headers` is false for all but the first
/// table of a watch.
///
/// Cost: linear in the objects; those that [`Include::Object`] shows are copied.
pub(crate) fn table<'a>(
    (group, kind): (&str, &str),
    metadata: &Value,
    objects: impl IntoIterator<Item = &'a Value>,
    options: Options,
    headers: bool,
    now: Timestamp,
) -> Value {
    let rows = objects.into_iter().map(|object| row((group, kind), object, options, now));
    json!({
        "kind": "Table",
        "apiVersion": options.api_version(),
        "metadata": metadata,
        "columnDefinitions": if headers { columns::of(group, kind).clone() } else { Value::Null },
        "rows": rows.collect::<Value>(),
    })
}

/// The table of one object: the answer to a get, and the object of a watch event.
pub(crate) fn table_of_one(
    group_kind: (&str, &str),
    object: &Value,
    options: Options,
    headers: bool,
    now: Timestamp,
) -> Value {
    let mut metadata = Map::new();
    if let Some(version) = object.pointer("/metadata/resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
    table(group_kind, &Value::Object(metadata), [object], options, headers, now)
}

fn row((group, kind): (&str, &str), object: &Value, options: Options, now: Timestamp) -> Value {
    let mut row = Map::new();
    row.insert("cells".to_owned(), Value::Array(cells(group, kind, object, now)));
    if let Some(condition) = (kind == "Pod").then(|| pod::condition(object)).flatten() {
        row.insert("conditions".to_owned(), json!([condition]));
    }
    row.insert("object".to_owned(), included(object, options));
    Value::Object(row)
}

/// The cells of an object, in the order of the columns of its kind.
pub(crate) fn cells(group: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let age = Age { now };
    match (group, kind) {
        ("", "Pod") => pod::cells(object, age),
        ("", "Service") => service::cells(object, age),
        ("", "Endpoints") => endpoints::endpoints_cells(object, age),
        ("discovery.k8s.io", "EndpointSlice") => endpoints::slice_cells(object, age),
        ("", "Node") => node::cells(object, age),
        ("" | "events.k8s.io", "Event") => event::cells(object, age),
        ("apps", "ReplicaSet") => workload::replica_set_cells(object, age),
        ("apps", "Deployment") => workload::deployment_cells(object, age),
        ("autoscaling", "Scale") => workload::scale_cells(object, age),
        ("", "Namespace") => {
            let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
            vec![name(object), phase.into(), age.of_object(object)]
        }
        ("coordination.k8s.io", "Lease") => {
            let holder = object.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
            vec![name(object), holder.into(), age.of_object(object)]
        }
        ("", "ServiceAccount") => vec![name(object), age.of_object(object)],
        // What the registry prints of kinds without a printer.
        _ => {
            let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
            vec![name(object), created.unwrap_or("0001-01-01T00:00:00Z").into()]
        }
    }
}

fn included(object: &Value, options: Options) -> Value {
    /// The bookmark that ends the initial events keeps its metadata in all cases: clients look for this annotation.
    const INITIAL_EVENTS_END: &str = "/metadata/annotations/k8s.io~1initial-events-end";
    match options.include {
        Include::Object => object.clone(),
        Include::None if object.pointer(INITIAL_EVENTS_END).is_none() => Value::Null,
        Include::None | Include::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": options.api_version(),
            "metadata": object.get("metadata"),
        }),
    }
}

#[cfg(test)]
mod tests;
