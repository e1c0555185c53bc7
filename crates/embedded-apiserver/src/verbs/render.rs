//! Objects, lists and watches in the agreed encoding.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::Response;
use kube_protobuf::{Fields, Value as Wire};
use serde_json::{Value, json};

use crate::codec::protobuf;
use crate::core::Entry;
use crate::environment::Environment;
use crate::http::accept::{Format, Media, View};
use crate::http::answer;
use crate::http::body::Body;
use crate::http::query::Query;
use crate::list::{Page, json_chunks, protobuf_chunks};
use crate::schema::Type;
use crate::status::Status;
use crate::store::Stored;
use crate::table::{self, Printer};
use crate::watch::{Source, Watch, WatchEvent, json_frame, protobuf_frame};

/// Number of `metadata` in all kinds.
const METADATA: u32 = 1;

/// The representation of objects of a kind: themselves, or their metadata only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    entry: &'static Entry,
    api_version: &'static str,
    kind: &'static str,
    type_: &'static Type,
    metadata_only: bool,
}

impl Look {
    /// The look that was agreed on. `None` for tables, which are no objects.
    fn new(entry: &'static Entry, view: Option<(View, &'static str)>) -> Option<Self> {
        let (api_version, kind, type_, metadata_only) = match view {
            None => (entry.api_version.as_str(), entry.kind.kind, entry.type_, false),
            Some((View::Table, _)) => return None,
            Some((View::Metadata | View::MetadataList, version)) => {
                let type_ = Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata")?;
                (version, "PartialObjectMetadata", type_, true)
            }
        };
        Some(Self { entry, api_version, kind, type_, metadata_only })
    }

    /// The bytes of a stored object in this look.
    fn bytes(&self, stored: &Bytes) -> Bytes {
        if self.metadata_only {
            return metadata_of(stored);
        }
        // What the store holds was encoded by this server.
        self.entry.present(stored).unwrap_or_default()
    }

    fn json(&self, bytes: &[u8], head: bool, out: &mut Vec<u8>) {
        let head = (head || self.metadata_only).then_some((self.api_version, self.kind));
        // What the store holds was encoded by this server.
        _ = protobuf::to_json(self.type_, bytes, head, out);
    }
}

/// The field `metadata` of an encoded object, with its tag.
fn metadata_of(body: &Bytes) -> Bytes {
    let mut fields = Fields::new("object", body);
    let mut start = 0;
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == METADATA && matches!(value, Wire::Bytes(_)) {
            return body.slice(start..fields.offset());
        }
        start = fields.offset();
    }
    Bytes::new()
}

/// The way to show objects of a kind.
#[derive(Clone)]
pub(crate) struct Renderer {
    entry: &'static Entry,
    media: Media,
    /// The options of tables, if one is asked for.
    table: Option<table::Options>,
    /// Tables show ages.
    environment: Arc<dyn Environment>,
}

impl Renderer {
    /// Reads the parameters of the wanted view.
    ///
    /// # Errors
    /// 400 and 406 for a table that there is not.
    pub(crate) fn new(
        entry: &'static Entry,
        media: Media,
        query: &Query,
        environment: &Arc<dyn Environment>,
    ) -> Result<Self, Status> {
        let table = match media.view {
            Some((View::Table, version)) => {
                let version = version.rsplit('/').next().unwrap_or_default();
                Some(table::Options::parse(version, query.first("includeObject"))?)
            }
            _ => None,
        };
        Ok(Self { entry, media, table, environment: environment.clone() })
    }

    /// The table of an object that is not stored, if one is wanted. Status objects have none.
    pub(crate) fn table_of(
        &self,
        head: (&str, &str),
        type_: Option<&'static Type>,
        object: &Value,
    ) -> Option<Vec<u8>> {
        let options = self.table.filter(|_| head.1 != "Status")?;
        let mut table = Vec::new();
        Printer::new(head, type_?, options, self.environment.now())?.write_one(
            object.clone(),
            true,
            &mut table,
        );
        Some(table)
    }

    /// The printer of tables of stored objects, with ages of this moment.
    fn printer(&self, options: table::Options) -> Result<Printer<'static>, Status> {
        let head = (self.entry.api_version.as_str(), self.entry.kind.kind);
        Printer::new(head, self.entry.type_, options, self.environment.now()).ok_or_else(no_tables)
    }

    /// The tree of a stored object in the requested version.
    fn tree(&self, stored: &Bytes) -> Value {
        // What the store holds was encoded by this server.
        let bytes = self.entry.present(stored).unwrap_or_default();
        protobuf::decode(self.entry.type_, &bytes).unwrap_or_default()
    }
}

/// One object.
///
/// # Errors
/// 406 for a list of objects of which there is one.
pub(crate) fn object(code: u16, renderer: &Renderer, stored: &Bytes) -> Result<Response<Body>, Status> {
    let &Renderer { entry, media, .. } = renderer;
    if let Some(options) = renderer.table {
        let mut table = Vec::new();
        renderer.printer(options)?.write_one(renderer.tree(stored), true, &mut table);
        return Ok(answer::json_bytes(code, media, table));
    }
    if let Some((View::MetadataList, _)) = media.view {
        let kind = go_type(entry, "");
        return Err(Status::new(
            406,
            "NotAcceptable",
            format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
            ),
        ));
    }
    let look = Look::new(entry, media.view).ok_or_else(no_tables)?;
    let bytes = look.bytes(stored);
    if media.format == Format::Protobuf {
        let body = kube_protobuf::wrap(look.api_version, look.kind, &bytes);
        return Ok(answer::of(code, media.format.name(), body));
    }
    let mut json = Vec::with_capacity(bytes.len() * 2);
    look.json(&bytes, true, &mut json);
    Ok(answer::json_bytes(code, media, json))
}

/// A list.
///
/// # Errors
/// 406 for one object of many.
pub(crate) fn list(renderer: &Renderer, page: &Page) -> Result<Response<Body>, Status> {
    let &Renderer { entry, media, .. } = renderer;
    if let Some(options) = renderer.table {
        let mut table = Vec::new();
        let trees = page.items.iter().map(|object| renderer.tree(&entry.read(object.body())));
        renderer.printer(options)?.write(&page.metadata_json(), trees, true, &mut table);
        return Ok(answer::json_bytes(200, media, table));
    }
    if let Some((View::Metadata, _)) = media.view {
        let kind = go_type(entry, "List");
        return Err(Status::new(
            406,
            "NotAcceptable",
            format!("you requested PartialObjectMetadata, but the requested object is a list ({kind})"),
        ));
    }
    let look = Look::new(entry, media.view).ok_or_else(no_tables)?;
    let kind = if look.metadata_only { "PartialObjectMetadataList" } else { &entry.list_kind };
    let bodies: Vec<Bytes> = page.items.iter().map(|object| look.bytes(&entry.read(object.body()))).collect();
    let api_version = look.api_version;
    if media.format == Format::Protobuf {
        // The iterator is cloned to count the bytes first.
        let bodies: Arc<[Bytes]> = bodies.into();
        let bodies = (0..bodies.len()).filter_map(move |index| bodies.get(index).cloned());
        let chunks = protobuf_chunks(page, api_version, kind, bodies);
        return Ok(answer::of(200, media.format.name(), Body::chunks(stream::iter(chunks))));
    }
    let empty = bodies.is_empty();
    let chunks = json_chunks(page, api_version, kind, bodies, move |body: &[u8], out: &mut Vec<u8>| {
        look.json(body, false, out);
    });
    if media.format == Format::Json && !media.pretty && !(empty && look.metadata_only) {
        return Ok(answer::of(200, media.format.name(), Body::chunks(stream::iter(chunks))));
    }
    let mut json: Vec<u8> = chunks.flatten().collect();
    json.pop();
    if empty && look.metadata_only {
        // Upstream forgets to make this list.
        json.truncate(json.len().saturating_sub(b"[]}".len()));
        json.extend_from_slice(b"null}");
    }
    Ok(answer::json_bytes(200, media, json))
}

/// A watch. The media type was checked.
///
/// # Errors
/// 406 for a table.
pub(crate) fn watch(renderer: Renderer, watch: Watch) -> Result<Response<Body>, Status> {
    let Renderer { entry, media, .. } = renderer;
    if let Some(options) = renderer.table {
        renderer.printer(options)?;
        return Ok(watch_tables(renderer, options, watch));
    }
    let look = Look::new(entry, media.view).ok_or_else(no_tables)?;
    let is_json = media.format == Format::Json;
    let content_type =
        if is_json { "application/json" } else { "application/vnd.kubernetes.protobuf;stream=watch" };
    let chunks = watch.into_chunks(move |event: &WatchEvent, out: &mut Vec<u8>| match event {
        WatchEvent::Object(kind, object, source) => {
            frame(look, is_json, kind.name(), &look.bytes(&shown(entry, object, *source)), out);
        }
        WatchEvent::Bookmark { version, initial_events_end } => {
            frame(look, is_json, "BOOKMARK", &bookmark(look.type_, *version, *initial_events_end), out);
        }
        WatchEvent::Error(status) => error_frame(status, is_json, out),
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
fn watch_tables(renderer: Renderer, options: table::Options, watch: Watch) -> Response<Body> {
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
        let Ok(printer) = renderer.printer(options) else { return };
        json_frame(out, name, |out| printer.write_one(renderer.tree(&bytes), first, out));
    });
    answer::of(200, "application/json", Body::chunks(chunks))
}

fn frame(look: Look, is_json: bool, event: &str, bytes: &[u8], out: &mut Vec<u8>) {
    if is_json {
        json_frame(out, event, |out| look.json(bytes, true, out));
    } else {
        protobuf_frame(out, event, look.api_version, look.kind, bytes);
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
    let Some(type_) = answer::status_type() else { return };
    let bytes = protobuf::encode(type_, &tree);
    if is_json {
        json_frame(out, "ERROR", |out| _ = protobuf::to_json(type_, &bytes, Some(("v1", "Status")), out));
    } else {
        protobuf_frame(out, "ERROR", "v1", "Status", &bytes);
    }
}

/// The internal Go type of a kind, such as `*core.PodList`.
fn go_type(entry: &Entry, suffix: &str) -> String {
    let package = match entry.kind.group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("*{package}.{}{suffix}", entry.kind.kind)
}

fn no_tables() -> Status {
    Status::new(406, "NotAcceptable", "tables are not served here")
}
