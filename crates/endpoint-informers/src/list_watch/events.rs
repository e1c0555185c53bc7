//! A watch body as a sequence of events, in either encoding.

use std::collections::BTreeMap;

use endpointslice::Interner;
use http_body_util::BodyExt;
use kube::client::Body;
use kube_protobuf::{EventType, FrameReader, Unknown, WatchEvent};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::WatchError;
use crate::kinds::Kind;
use kube_api::{ApiError, Encoding, Status};

/// What a watch says.
pub(super) enum Event<K> {
    /// The object is there, in this form.
    Upsert { object: K, resource_version: String },
    /// The object of that name is gone. Nothing else of it matters, so nothing else is read.
    Delete { namespace: String, name: String, resource_version: String },
    /// Nothing happened up to this resourceVersion. `initial_events_end` closes the list that began the watch.
    Bookmark { resource_version: String, initial_events_end: bool },
    /// An object that can't be read; it is left as it was.
    Unreadable { object: Unreadable, resource_version: String },
}

/// An object of which little more than the name can be read.
pub(super) struct Unreadable {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) error: String,
}

impl Unreadable {
    fn of_json(object: &str, error: &impl ToString) -> Self {
        let (namespace, name) = (json_text(object, "namespace"), json_text(object, "name"));
        Self { namespace, name, error: error.to_string() }
    }

    fn of_protobuf(raw: &[u8], error: &impl ToString) -> Self {
        let meta = kube_protobuf::meta_lossy(raw);
        let (namespace, name) = (meta.namespace.to_owned(), meta.name.to_owned());
        Self { namespace, name, error: error.to_string() }
    }
}

/// Marks the bookmark that ends the initial list (KEP-3157).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
/// The largest event that is read: well above what etcd can store.
const MAX_FRAME: usize = 64 << 20;

/// Cuts a body into events.
pub(super) struct EventStream {
    body: Body,
    frames: Frames,
}

enum Frames {
    Protobuf(FrameReader),
    Json(Lines),
}

impl EventStream {
    pub(super) fn new(encoding: Encoding, body: Body) -> Self {
        let frames = match encoding {
            Encoding::Protobuf => Frames::Protobuf(FrameReader::new(MAX_FRAME)),
            Encoding::Json => Frames::Json(Lines::default()),
        };
        Self { body, frames }
    }

    /// The next event; `None` at the end of the body. A body that ends inside an event was cut off, which is an error.
    pub(super) async fn next<K: Kind>(
        &mut self,
        interner: &Mutex<Interner>,
    ) -> Result<Option<Event<K>>, WatchError> {
        loop {
            if let Some(event) = self.arrived(interner)? {
                return Ok(Some(event));
            }
            let Some(chunk) = self.body.frame().await else {
                return if self.is_empty() { Ok(None) } else { Err(WatchError::Cut) };
            };
            let chunk = chunk.map_err(|error| ApiError::Transport(Box::new(error)))?;
            if let Some(data) = chunk.data_ref() {
                match &mut self.frames {
                    Frames::Protobuf(frames) => frames.push(data),
                    Frames::Json(lines) => lines.push(data),
                }
            }
        }
    }

    /// The next event, if all of it has arrived.
    pub(super) fn arrived<K: Kind>(
        &mut self,
        interner: &Mutex<Interner>,
    ) -> Result<Option<Event<K>>, WatchError> {
        match &mut self.frames {
            Frames::Protobuf(frames) => {
                frames.next_frame()?.map(|frame| protobuf_event(frame, interner)).transpose()
            }
            Frames::Json(lines) => lines.next_line()?.map(|line| json_event(line, interner)).transpose(),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.frames {
            Frames::Protobuf(frames) => frames.is_empty(),
            Frames::Json(lines) => lines.buffer.len() == lines.start,
        }
    }
}

fn protobuf_event<K: Kind>(frame: &[u8], interner: &Mutex<Interner>) -> Result<Event<K>, WatchError> {
    let WatchEvent { event_type, object } = WatchEvent::parse(frame)?;
    if event_type == EventType::Error {
        return Err(refused(Status::from_raw(object.raw)?));
    }
    let meta = match kube_protobuf::meta(object.raw) {
        Err(error) if matches!(event_type, EventType::Added | EventType::Modified) => {
            let resource_version = kube_protobuf::meta_lossy(object.raw).resource_version.to_owned();
            let object = Unreadable::of_protobuf(object.raw, &error);
            // Without a name it may be no object at all: a list tells more.
            if object.name.is_empty() {
                return Err(error.into());
            }
            return Ok(Event::Unreadable { object, resource_version });
        }
        meta => meta?,
    };
    let resource_version = meta.resource_version.to_owned();
    if event_type == EventType::Bookmark {
        let initial_events_end = meta.annotations.contains(&(INITIAL_EVENTS_END, "true"));
        return Ok(Event::Bookmark { resource_version, initial_events_end });
    }
    if event_type == EventType::Deleted {
        let (namespace, name) = (meta.namespace.to_owned(), meta.name.to_owned());
        return Ok(Event::Delete { namespace, name, resource_version });
    }
    let read = K::from_protobuf(object.raw, &mut interner.lock());
    let read = read.map_err(|error| Unreadable::of_protobuf(object.raw, &error));
    Ok(object_event(read, resource_version))
}

/// The outer form of a JSON event; the object is read once its kind is known.
#[derive(Deserialize)]
struct JsonEvent<'a> {
    #[serde(rename = "type")]
    event_type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What every object has, as far as it is needed to tell which object it is and when.
#[derive(Default, Deserialize)]
struct JsonObject {
    metadata: JsonMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonMeta {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

/// A string of an object's metadata, whatever the rest of it is; empty if there is none.
fn json_text(object: &str, field: &str) -> String {
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let value = object.get("metadata").and_then(|metadata| metadata.get(field));
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn json_event<K: Kind>(line: &[u8], interner: &Mutex<Interner>) -> Result<Event<K>, WatchError> {
    let event: JsonEvent<'_> = serde_json::from_slice(line)?;
    let event_type = match event.event_type {
        "ADDED" => EventType::Added,
        "MODIFIED" => EventType::Modified,
        "DELETED" => EventType::Deleted,
        "BOOKMARK" => EventType::Bookmark,
        "ERROR" => {
            return Err(refused(Status::from_json(serde_json::from_str(event.object.get())?)));
        }
        other => return Err(WatchError::UnknownEvent(other.chars().take(32).collect())),
    };
    let JsonObject { metadata } = match serde_json::from_str(event.object.get()) {
        Err(error) if matches!(event_type, EventType::Added | EventType::Modified) => {
            let object = Unreadable::of_json(event.object.get(), &error);
            if object.name.is_empty() {
                return Err(error.into());
            }
            let resource_version = json_text(event.object.get(), "resourceVersion");
            return Ok(Event::Unreadable { object, resource_version });
        }
        object => object?,
    };
    let resource_version = metadata.resource_version.unwrap_or_default();
    if event_type == EventType::Bookmark {
        let annotations = metadata.annotations.unwrap_or_default();
        let initial_events_end = annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
        return Ok(Event::Bookmark { resource_version, initial_events_end });
    }
    if event_type == EventType::Deleted {
        let (namespace, name) = (metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default());
        return Ok(Event::Delete { namespace, name, resource_version });
    }
    let read = K::from_json(event.object.get(), &mut interner.lock());
    let read = read.map_err(|error| Unreadable::of_json(event.object.get(), &error));
    Ok(object_event(read, resource_version))
}

fn object_event<K>(object: Result<K, Unreadable>, resource_version: String) -> Event<K> {
    match object {
        Ok(object) => Event::Upsert { object, resource_version },
        Err(object) => Event::Unreadable { object, resource_version },
    }
}

fn refused(status: Status) -> WatchError {
    WatchError::Api(ApiError::Refused(Box::new(status)))
}

/// One page of a list.
pub(super) struct ListPage<K> {
    pub(super) items: Vec<Result<K, Unreadable>>,
    pub(super) resource_version: String,
    pub(super) continue_token: String,
}

#[derive(Deserialize)]
struct JsonList<'a> {
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads one page of a list. The interner is locked for one object at a time: others read theirs meanwhile.
pub(super) fn list_page<K: Kind>(
    encoding: Encoding,
    body: &[u8],
    interner: &Mutex<Interner>,
) -> Result<ListPage<K>, WatchError> {
    match encoding {
        Encoding::Protobuf => {
            let envelope = Unknown::parse(body)?;
            let list = kube_protobuf::List::parse(envelope.raw)?;
            let mut items = Vec::new();
            for raw in list.items() {
                let raw = raw?;
                let read = K::from_protobuf(raw, &mut interner.lock());
                items.push(read.map_err(|error| Unreadable::of_protobuf(raw, &error)));
            }
            Ok(ListPage {
                items,
                resource_version: list.resource_version.to_owned(),
                continue_token: list.continue_token.to_owned(),
            })
        }
        Encoding::Json => {
            let list: JsonList<'_> = serde_json::from_slice(body)?;
            let items = list.items.into_iter().flatten();
            let items = items.map(|item| {
                let read = K::from_json(item.get(), &mut interner.lock());
                read.map_err(|error| Unreadable::of_json(item.get(), &error))
            });
            Ok(ListPage {
                items: items.collect(),
                resource_version: list.metadata.resource_version.unwrap_or_default(),
                continue_token: list.metadata.continue_.unwrap_or_default(),
            })
        }
    }
}

/// Newline-delimited JSON, in pieces.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    start: usize,
    /// Up to here there is no newline.
    searched: usize,
}

impl Lines {
    fn push(&mut self, chunk: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next line that isn't blank.
    fn next_line(&mut self) -> Result<Option<&[u8]>, WatchError> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                if self.searched - self.start > MAX_FRAME {
                    return Err(WatchError::TooLarge(MAX_FRAME));
                }
                return Ok(None);
            };
            let (start, end) = (self.start, self.searched + length);
            self.start = end + 1;
            self.searched = self.start;
            let is_blank = self.buffer.get(start..end).is_none_or(|line| line.trim_ascii().is_empty());
            if !is_blank {
                return Ok(self.buffer.get(start..end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use endpointslice::Pod;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The watch of a real server, and a list of one.
    const FRAMES: &[u8] = include_bytes!("../../../kube-protobuf/testdata/watch.frames");
    const LIST: &[u8] = include_bytes!("../../../kube-protobuf/testdata/podlist.pb");
    const JSON_LIST: &[u8] = include_bytes!("../../../kube-protobuf/testdata/podlist.json");

    /// The number of events up to the end, or to the first error.
    fn read_all(encoding: Encoding, bytes: Vec<u8>) -> (usize, Result<(), WatchError>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let interner = Mutex::default();
        let mut stream = EventStream::new(encoding, Body::from(bytes));
        let mut events = 0;
        runtime.block_on(async {
            loop {
                match stream.next::<Pod>(&interner).await {
                    Ok(Some(_)) => events += 1,
                    Ok(None) => return (events, Ok(())),
                    Err(error) => return (events, Err(error)),
                }
            }
        })
    }

    #[test]
    fn a_real_watch_is_read_to_its_end() {
        let (events, end) = read_all(Encoding::Protobuf, FRAMES.to_vec());
        assert!(events >= 2, "{events} events, then {end:?}");
    }

    #[test]
    fn a_page_is_the_same_in_both_encodings() {
        let interner = Mutex::default();
        let protobuf = list_page::<Pod>(Encoding::Protobuf, LIST, &interner).unwrap();
        let json = list_page::<Pod>(Encoding::Json, JSON_LIST, &interner).unwrap();
        assert_eq!((&*protobuf.resource_version, &*protobuf.continue_token), ("424242", "eyJ2IjoibWV0YSJ9"));
        assert_eq!(protobuf.resource_version, json.resource_version);
        assert_eq!(protobuf.continue_token, json.continue_token);
        let pods =
            |page: ListPage<Pod>| -> Vec<Pod> { page.items.into_iter().filter_map(Result::ok).collect() };
        let (protobuf, json) = (pods(protobuf), pods(json));
        assert!(protobuf.len() >= 2);
        assert_eq!(protobuf, json);
    }

    proptest! {
        #[test]
        fn noise_is_an_error_or_nothing_but_no_panic(bytes in vec(any::<u8>(), 0..200)) {
            for encoding in [Encoding::Protobuf, Encoding::Json] {
                let _ = read_all(encoding, bytes.clone());
                let _ = list_page::<Pod>(encoding, &bytes, &Mutex::default());
            }
        }

        #[test]
        fn damage_is_an_error_or_nothing_but_no_panic(
            flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        ) {
            let damaged = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for (index, flip) in &flips {
                    let position = index.index(bytes.len());
                    bytes[position] ^= flip;
                }
                bytes
            };
            let _ = read_all(Encoding::Protobuf, damaged(FRAMES));
            let _ = list_page::<Pod>(Encoding::Protobuf, &damaged(LIST), &Mutex::default());
            let _ = list_page::<Pod>(Encoding::Json, &damaged(JSON_LIST), &Mutex::default());
        }
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"{\"a\":1}\n{\"b\":2}\n{\"c\"";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                while let Some(line) = lines.next_line().unwrap() {
                    found.push(line.to_vec());
                }
            }
            assert_eq!(found, [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()], "in pieces of {size}");
            assert_ne!(lines.buffer.len(), lines.start, "the rest is not a line");
        }
    }
}
