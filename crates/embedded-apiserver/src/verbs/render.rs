//! Objects, lists and watches in the agreed encoding.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use crate::codec::{json, protobuf};
use crate::core::Entry;
use crate::environment::Environment;
use crate::http::body::Body;
use crate::http::negotiate::{Format, Media};
use crate::http::query::Query;
use crate::http::response;
use crate::kinds::tree::with_head;
use crate::list::Page;
use crate::schema::Type;
use crate::status::Status;
use crate::table::{Include, Printer};
use crate::watch::{Watch, WatchEvent, json_frame, protobuf_frame};

/// Appends an encoded object as JSON, with its kind and API version or without.
fn write_json(entry: &Entry, bytes: &[u8], head: bool, out: &mut Vec<u8>) {
    // What the store holds was encoded by this server.
    let mut tree = entry.tree(bytes).unwrap_or_default();
    if head {
        tree = with_head(tree, &entry.api_version, entry.kind.kind);
    }
    json::encode(entry.type_, &tree, out);
}

/// The way to show objects of a kind.
#[derive(Clone)]
pub(crate) struct Renderer {
    entry: &'static Entry,
    format: Format,
    /// The objects that rows of tables include, if a table is asked for.
    table: Option<Include>,
    /// Tables show ages.
    environment: Arc<dyn Environment>,
}

impl Renderer {
    /// Reads the parameters of a table, if one is wanted.
    /// Errors: 400 for a table that there is not.
    pub(crate) fn new(
        entry: &'static Entry,
        media: Media,
        query: &Query,
        environment: &Arc<dyn Environment>,
    ) -> Result<Self, Status> {
        let include = || Include::parse(query.first("includeObject"));
        let table = media.table.then(include).transpose()?;
        Ok(Self { entry, format: media.format, table, environment: environment.clone() })
    }

    /// The printer of tables of stored objects, with ages of this moment.
    fn printer(&self, include: Include) -> Printer<'static> {
        let head = (self.entry.api_version.as_str(), self.entry.kind.kind);
        Printer::new(head, self.entry.type_, include, self.environment.now())
    }

    /// The tree of a stored object.
    fn tree(&self, stored: &Bytes) -> Value {
        // What the store holds was encoded by this server.
        self.entry.tree(stored).unwrap_or_default()
    }
}

/// One object.
pub(crate) fn object(code: u16, renderer: &Renderer, stored: &Bytes) -> Response<Body> {
    let &Renderer { entry, format, .. } = renderer;
    if let Some(include) = renderer.table {
        let mut table = Vec::new();
        renderer.printer(include).write_one(renderer.tree(stored), true, &mut table);
        return response::json_bytes(code, table);
    }
    if format == Format::Protobuf {
        let body = kube_protobuf::wrap(&entry.api_version, entry.kind.kind, stored);
        return response::of(code, format.name(), body);
    }
    let mut text = Vec::with_capacity(stored.len() * 2);
    write_json(entry, stored, true, &mut text);
    response::json_bytes(code, text)
}

/// A list.
pub(crate) fn list(renderer: &Renderer, page: &Page) -> Response<Body> {
    let &Renderer { entry, format, .. } = renderer;
    if let Some(include) = renderer.table {
        let mut table = Vec::new();
        let trees = page.items.iter().map(|object| renderer.tree(object.body()));
        renderer.printer(include).write(&page.metadata_json(), trees, true, &mut table);
        return response::json_bytes(200, table);
    }
    let (api_version, kind) = (entry.api_version.as_str(), entry.list_kind.as_str());
    let body = match format {
        Format::Protobuf => page.to_protobuf(api_version, kind),
        Format::Json => page.to_json(api_version, kind, |body, out| write_json(entry, body, false, out)),
    };
    response::of(200, format.name(), body)
}

/// A watch. The media type was checked.
pub(crate) fn watch(renderer: Renderer, watch: Watch) -> Response<Body> {
    let Renderer { entry, format, .. } = renderer;
    if let Some(include) = renderer.table {
        return watch_tables(renderer, include, watch);
    }
    let is_json = format == Format::Json;
    let content_type =
        if is_json { "application/json" } else { "application/vnd.kubernetes.protobuf;stream=watch" };
    let chunks = watch.into_chunks(move |event: &WatchEvent, out: &mut Vec<u8>| match event {
        WatchEvent::Object(kind, object) => frame(entry, is_json, kind.name(), object.body(), out),
        WatchEvent::Bookmark { version, initial_events_end } => {
            frame(entry, is_json, "BOOKMARK", &bookmark(entry.type_, *version, *initial_events_end), out);
        }
        WatchEvent::Error(status) => error_frame(status, is_json, out),
    });
    response::of(200, content_type, Body::endless(chunks))
}

/// A watch whose objects are tables of one row. Only the first has the columns.
fn watch_tables(renderer: Renderer, include: Include, watch: Watch) -> Response<Body> {
    let mut columns = true;
    let chunks = watch.into_chunks(move |event: &WatchEvent, out: &mut Vec<u8>| {
        let (name, bytes) = match event {
            WatchEvent::Object(kind, object) => (kind.name(), object.body().clone()),
            WatchEvent::Bookmark { version, initial_events_end } => {
                let bytes = bookmark(renderer.entry.type_, *version, *initial_events_end);
                ("BOOKMARK", bytes.into())
            }
            WatchEvent::Error(status) => return error_frame(status, true, out),
        };
        let first = std::mem::take(&mut columns);
        json_frame(out, name, |out| {
            renderer.printer(include).write_one(renderer.tree(&bytes), first, out);
        });
    });
    response::of(200, "application/json", Body::endless(chunks))
}

fn frame(entry: &Entry, is_json: bool, event: &str, bytes: &[u8], out: &mut Vec<u8>) {
    if is_json {
        json_frame(out, event, |out| write_json(entry, bytes, true, out));
    } else {
        protobuf_frame(out, event, &entry.api_version, entry.kind.kind, bytes);
    }
}

/// An object with nothing but a version.
fn bookmark(type_: &'static Type, version: u64, initial_events_end: bool) -> Vec<u8> {
    let mut metadata = json!({ "resourceVersion": version.to_string() });
    if initial_events_end && let Value::Object(fields) = &mut metadata {
        fields.insert("annotations".to_owned(), json!({ "k8s.io/initial-events-end": "true" }));
    }
    let mut object = type_.zero();
    if let Value::Object(fields) = &mut object {
        fields.insert("metadata".to_owned(), metadata);
        if let Some(Value::Object(spec)) = fields.get_mut("spec")
            && type_.path.starts_with("k8s.io/api/apps/")
        {
            // A number in upstream's internal types, which a bookmark comes from.
            spec.insert("replicas".to_owned(), 0.into());
        }
    }
    protobuf::encode(type_, &object)
}

fn error_frame(status: &Status, is_json: bool, out: &mut Vec<u8>) {
    let tree = status.to_json();
    let Some(type_) = response::status_type() else { return };
    if is_json {
        json_frame(out, "ERROR", |out| json::encode(type_, &tree, out));
    } else {
        protobuf_frame(out, "ERROR", "v1", "Status", &protobuf::encode(type_, &tree));
    }
}
