//! Objects, lists and watches in the agreed encoding.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use crate::codec::{json, protobuf};
use crate::core::Entry;
use crate::environment::Environment;
use crate::http::accept::{Format, Media};
use crate::http::answer;
use crate::http::body::Body;
use crate::http::query::Query;
use crate::list::{Page, json_list, protobuf_list};
use crate::schema::Type;
use crate::status::Status;
use crate::store::Stored;
use crate::table::{self, Printer};
use crate::watch::{Source, Watch, WatchEvent, json_frame, protobuf_frame};

/// The way to show objects of a kind.
#[derive(Clone)]
pub(crate) struct Renderer {
    entry: &'static Entry,
    media: Media,
    /// The part of its object that a row of a table has, if one is asked for.
    table: Option<table::Include>,
    /// Tables show ages.
    environment: Arc<dyn Environment>,
}

impl Renderer {
    /// Reads the parameters of the wanted view.
    /// Errors: 400 for a table that there is not.
    pub(crate) fn new(
        entry: &'static Entry,
        media: Media,
        query: &Query,
        environment: &Arc<dyn Environment>,
    ) -> Result<Self, Status> {
        let table = media.table.then(|| table::Include::parse(query.first("includeObject"))).transpose()?;
        Ok(Self { entry, media, table, environment: environment.clone() })
    }

    /// The table of an object that is not stored, if one is wanted. Status objects have none.
    pub(crate) fn table_of(
        &self,
        head: (&str, &str),
        type_: Option<&'static Type>,
        object: &Value,
    ) -> Option<Vec<u8>> {
        let include = self.table.filter(|_| head.1 != "Status")?;
        let mut table = Vec::new();
        Printer::new(head, type_?, include, self.environment.now())?.write_one(
            object.clone(),
            true,
            &mut table,
        );
        Some(table)
    }

    /// The printer of tables of stored objects, with ages of this moment.
    fn printer(&self, include: table::Include) -> Result<Printer<'static>, Status> {
        let head = (self.entry.api_version.as_str(), self.entry.kind.kind);
        Printer::new(head, self.entry.type_, include, self.environment.now()).ok_or_else(no_tables)
    }

    /// The bytes of a stored object in the requested version.
    fn bytes(&self, stored: &Bytes) -> Bytes {
        // What the store holds was encoded by this server.
        self.entry.present(stored).unwrap_or_default()
    }

    /// The tree of a stored object in the requested version.
    fn tree(&self, stored: &Bytes) -> Value {
        protobuf::decode(self.entry.type_, &self.bytes(stored)).unwrap_or_default()
    }

    /// Appends the JSON of an object in the requested version, with kind and apiVersion unless it is in a list.
    fn json(&self, bytes: &[u8], head: bool, out: &mut Vec<u8>) {
        // What the store holds was encoded by this server.
        let mut tree = protobuf::decode(self.entry.type_, bytes).unwrap_or_default();
        if let (true, Value::Object(fields)) = (head, &mut tree) {
            fields.insert("kind".to_owned(), self.entry.kind.kind.into());
            fields.insert("apiVersion".to_owned(), self.entry.api_version.as_str().into());
        }
        json::encode(self.entry.type_, &tree, out);
    }
}

/// One object.
pub(crate) fn object(code: u16, renderer: &Renderer, stored: &Bytes) -> Result<Response<Body>, Status> {
    let &Renderer { entry, media, .. } = renderer;
    if let Some(include) = renderer.table {
        let mut table = Vec::new();
        renderer.printer(include)?.write_one(renderer.tree(stored), true, &mut table);
        return Ok(answer::json_bytes(code, table));
    }
    let bytes = renderer.bytes(stored);
    if media.format == Format::Protobuf {
        let body = kube_protobuf::wrap(&entry.api_version, entry.kind.kind, &bytes);
        return Ok(answer::of(code, media.format.name(), body));
    }
    let mut json = Vec::with_capacity(bytes.len() * 2);
    renderer.json(&bytes, true, &mut json);
    Ok(answer::json_bytes(code, json))
}

/// A list.
pub(crate) fn list(renderer: &Renderer, page: &Page) -> Result<Response<Body>, Status> {
    let &Renderer { entry, media, .. } = renderer;
    if let Some(include) = renderer.table {
        let mut table = Vec::new();
        let trees = page.items.iter().map(|object| renderer.tree(&entry.read(object.body())));
        renderer.printer(include)?.write(&page.metadata_json(), trees, true, &mut table);
        return Ok(answer::json_bytes(200, table));
    }
    let bodies = page.items.iter().map(|object| renderer.bytes(&entry.read(object.body())));
    let head = (entry.api_version.as_str(), entry.list_kind.as_str());
    let body = match media.format {
        Format::Protobuf => protobuf_list(page, head, bodies),
        Format::Json => json_list(page, head, bodies, |body, out| renderer.json(body, false, out)),
    };
    Ok(answer::of(200, media.format.name(), body))
}

/// A watch. The media type was checked.
pub(crate) fn watch(renderer: Renderer, watch: Watch) -> Result<Response<Body>, Status> {
    let Renderer { entry, media, .. } = renderer;
    if let Some(include) = renderer.table {
        renderer.printer(include)?;
        return Ok(watch_tables(renderer, include, watch));
    }
    let is_json = media.format == Format::Json;
    let content_type =
        if is_json { "application/json" } else { "application/vnd.kubernetes.protobuf;stream=watch" };
    let chunks = watch.into_chunks(move |event: &WatchEvent, out: &mut Vec<u8>| {
        let (name, bytes) = match event {
            WatchEvent::Object(kind, object, source) => {
                (kind.name(), renderer.bytes(&shown(entry, object, *source)))
            }
            WatchEvent::Bookmark { version, initial_events_end } => {
                ("BOOKMARK", bookmark(entry.type_, *version, *initial_events_end).into())
            }
            WatchEvent::Error(status) => return error_frame(status, is_json, out),
        };
        if is_json {
            json_frame(out, name, |out| renderer.json(&bytes, true, out));
        } else {
            protobuf_frame(out, name, &entry.api_version, entry.kind.kind, &bytes);
        }
    });
    Ok(answer::of(200, content_type, Body::chunks(chunks)))
}

/// The object of an event. Upstream's cache shares an event between its watches, which then read it as it is stored.
fn shown(entry: &Entry, object: &Stored, source: Source) -> Bytes {
    match source {
        Source::Shared => object.body().clone(),
        Source::State => entry.read(object.body()),
    }
}

/// A watch whose objects are tables of one row. Only the first has the columns.
fn watch_tables(renderer: Renderer, include: table::Include, watch: Watch) -> Response<Body> {
    let mut columns = true;
    let chunks = watch.into_chunks(move |event: &WatchEvent, out: &mut Vec<u8>| {
        let (name, bytes) = match event {
            WatchEvent::Object(kind, object, source) => (kind.name(), shown(renderer.entry, object, *source)),
            WatchEvent::Bookmark { version, initial_events_end } => {
                let bytes = bookmark(renderer.entry.stored_as, *version, *initial_events_end);
                ("BOOKMARK", bytes.into())
            }
            WatchEvent::Error(status) => return error_frame(status, true, out),
        };
        let first = std::mem::take(&mut columns);
        // The caller has seen that there is one.
        let Ok(printer) = renderer.printer(include) else { return };
        json_frame(out, name, |out| printer.write_one(renderer.tree(&bytes), first, out));
    });
    answer::of(200, "application/json", Body::chunks(chunks))
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
    let Some(type_) = answer::status_type() else { return };
    if is_json {
        json_frame(out, "ERROR", |out| json::encode(type_, &tree, out));
    } else {
        protobuf_frame(out, "ERROR", "v1", "Status", &protobuf::encode(type_, &tree));
    }
}

fn no_tables() -> Status {
    Status::new(406, "NotAcceptable", "tables are not served here")
}
