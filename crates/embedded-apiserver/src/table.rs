//! Objects as tables, for clients that print them: `Accept: application/json;as=Table;v=v1;g=meta.k8s.io`.
//!
//! Columns, cells and their formats are those of `pkg/printers/internalversion` of Kubernetes 1.37.2. Cells are computed
//! from canonical trees; an absent field is its zero value, so the bare object of a bookmark has a row too, as upstream.

mod columns;
mod duration;
mod endpoints;
mod event;
mod include;
mod node;
mod object;
mod pod;
mod service;
mod workload;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::codec::json;
use crate::kinds::tree::with_head;
use crate::schema::Type;
use object::{Age, name};

pub(crate) use include::Include;

/// Writes tables of objects of one kind as JSON, with the fields of each part in the order of upstream's structs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer<'a> {
    api_version: &'a str,
    kind: &'a str,
    type_: &'static Type,
    include: Include,
    now: Timestamp,
}

impl<'a> Printer<'a> {
    /// The printer of a kind, at a time from which ages count.
    pub(crate) fn new(
        (api_version, kind): (&'a str, &'a str),
        type_: &'static Type,
        include: Include,
        now: Timestamp,
    ) -> Self {
        Self { api_version, kind, type_, include, now }
    }

    /// Appends the table of objects.
    ///
    /// `metadata` is the JSON of the list's. `columns` is false for all but the first table of a watch.
    ///
    /// Cost: linear in the objects, of which one at a time is in memory.
    pub(crate) fn write(
        self,
        metadata: &str,
        objects: impl IntoIterator<Item = Value>,
        columns: bool,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
        out.extend_from_slice(metadata.as_bytes());
        out.extend_from_slice(b",\"columnDefinitions\":");
        out.extend_from_slice(if columns { columns::of(self.group(), self.kind) } else { b"null" });
        out.extend_from_slice(b",\"rows\":");
        let mut separator = b'[';
        for object in objects {
            out.push(separator);
            separator = b',';
            self.row(object, out);
        }
        if separator == b'[' {
            out.push(b'[');
        }
        out.extend_from_slice(b"]}");
    }

    /// Appends the table of one object: the response to a get, and the object of a watch event.
    pub(crate) fn write_one(self, object: Value, columns: bool, out: &mut Vec<u8>) {
        let version = object.pointer("/metadata/resourceVersion");
        let metadata = version.map_or_else(|| json!({}), |version| json!({ "resourceVersion": version }));
        self.write(&metadata.to_string(), [object], columns, out);
    }

    fn group(self) -> &'a str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    fn row(self, object: Value, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"cells\":");
        let cells = cells(self.group(), self.kind, &object, self.now);
        json::encode_untyped(&Value::Array(cells), out);
        if let Some((reason, message)) = (self.kind == "Pod").then(|| pod::completion(&object)).flatten() {
            out.extend_from_slice(
                b",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"",
            );
            out.extend_from_slice(reason.as_bytes());
            out.extend_from_slice(b"\",\"message\":\"");
            out.extend_from_slice(message.as_bytes());
            out.extend_from_slice(b"\"}]");
        }
        out.extend_from_slice(b",\"object\":");
        self.object(object, out);
        out.push(b'}');
    }

    /// Appends what was asked of a row's object.
    fn object(self, mut object: Value, out: &mut Vec<u8>) {
        let (type_, api_version, kind) = match self.include {
            Include::Object => (self.type_, self.api_version, self.kind),
            Include::Metadata => {
                let metadata = object.get_mut("metadata").map_or(Value::Null, Value::take);
                object = Map::from_iter([("metadata".to_owned(), metadata)]).into();
                let type_ = Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata");
                (type_.unwrap_or(self.type_), "meta.k8s.io/v1", "PartialObjectMetadata")
            }
        };
        json::encode(type_, &with_head(object, api_version, kind), out);
    }
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
        ("", "Event") => event::cells(object, age),
        ("apps", "ReplicaSet") => workload::replica_set_cells(object, age),
        ("apps", "Deployment") => workload::deployment_cells(object, age),
        ("", "Namespace") => {
            let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
            vec![name(object), phase.into(), age.of_object(object)]
        }
        ("coordination.k8s.io", "Lease") => {
            let holder = object.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
            vec![name(object), holder.into(), age.of_object(object)]
        }
        // ServiceAccounts.
        _ => vec![name(object), age.of_object(object)],
    }
}

#[cfg(test)]
mod tests;
