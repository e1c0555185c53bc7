//! The events of a watch and the pages of a list, in both encodings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use endpointslice::Interner;
use kube_api::{ApiError, Encoding, Status};
use kube_protobuf::{DecodeError, EventType, Unknown, WatchEvent};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::WatchError;
use crate::resource::Resource;

/// One event of a watch.
pub(super) enum Event<K> {
    /// The object exists in this state.
    Upsert { object: K, resource_version: String },
    /// The object of this name was deleted. Nothing else of the object is decoded.
    Delete { namespace: String, name: String, resource_version: String },
    /// Nothing more has happened up to this resourceVersion. `initial_events_end` marks the end of a streaming list.
    Bookmark { resource_version: String, initial_events_end: bool },
    /// An object that can't be decoded; the cache keeps its old state.
    Unreadable { object: Unreadable, resource_version: String },
}

/// An object of which little more than the name can be decoded.
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

/// The annotation of the bookmark that ends a streaming list (KEP-3157).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Decodes an event. The metadata of an object that exists is scanned once, by the decoder of its kind.
pub(super) fn protobuf_event<K: Resource>(
    frame: &[u8],
    interner: &Mutex<Interner>,
) -> Result<Event<K>, WatchError> {
    let WatchEvent { event_type, object } = WatchEvent::parse(frame)?;
    match event_type {
        EventType::Error => Err(refused(Status::from_raw(object.raw)?)),
        EventType::Added | EventType::Modified => {
            let read = K::read_protobuf(object.raw, &mut interner.lock());
            match read {
                Ok((object, resource_version)) => {
                    Ok(Event::Upsert { object, resource_version: resource_version.to_owned() })
                }
                Err(error) => unreadable_protobuf(object.raw, &error),
            }
        }
        EventType::Deleted => {
            let meta = kube_protobuf::meta(object.raw)?;
            Ok(Event::Delete {
                namespace: meta.namespace.to_owned(),
                name: meta.name.to_owned(),
                resource_version: meta.resource_version.to_owned(),
            })
        }
        EventType::Bookmark => {
            let meta = kube_protobuf::meta(object.raw)?;
            Ok(Event::Bookmark {
                resource_version: meta.resource_version.to_owned(),
                initial_events_end: meta.annotations.contains(&(INITIAL_EVENTS_END, "true")),
            })
        }
    }
}

/// An object that can't be decoded. If its metadata can't be either and it has no name, it may be no object at all:
/// then only a list can tell.
fn unreadable_protobuf<K>(raw: &[u8], error: &DecodeError) -> Result<Event<K>, WatchError> {
    let object = Unreadable::of_protobuf(raw, error);
    if object.name.is_empty() {
        kube_protobuf::meta(raw)?;
    }
    let resource_version = kube_protobuf::meta_lossy(raw).resource_version.to_owned();
    Ok(Event::Unreadable { object, resource_version })
}

/// The envelope of a JSON event. The object is decoded once its kind is known.
#[derive(Deserialize)]
struct JsonEvent<'a> {
    #[serde(rename = "type")]
    event_type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// The metadata that identifies an object and its version.
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

/// The metadata alone, field by field.
#[derive(Default, Deserialize)]
struct JsonFields<'a> {
    #[serde(borrow)]
    metadata: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// A string of an object's metadata, whatever the rest of the object is; empty if it is missing.
fn json_text(object: &str, field: &str) -> String {
    let JsonFields { metadata } = serde_json::from_str(object).unwrap_or_default();
    let value = metadata.get(field).and_then(|value| serde_json::from_str(value.get()).ok());
    value.unwrap_or_default()
}

/// The text of a message. The API server passes on what it does not read (`RawExtension`) as the client sent it, which need not be
/// UTF-8: one such object must not end the list-watch.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub(super) fn json_event<K: Resource>(
    line: &[u8],
    interner: &Mutex<Interner>,
) -> Result<Event<K>, WatchError> {
    let line = utf8(line);
    let event: JsonEvent<'_> = serde_json::from_str(&line)?;
    let object = event.object.get();
    match event.event_type {
        "ADDED" | "MODIFIED" => {
            let read = K::read_json(object, &mut interner.lock());
            match read {
                Ok((read, resource_version)) => {
                    if read.name().is_empty() {
                        // Decoders accept an object without metadata, which may be no object at all.
                        serde_json::from_str::<JsonObject>(object)?;
                    }
                    Ok(Event::Upsert { object: read, resource_version })
                }
                Err(error) => unreadable_json(object, &error),
            }
        }
        "DELETED" => {
            let JsonObject { metadata } = serde_json::from_str(object)?;
            Ok(Event::Delete {
                namespace: metadata.namespace.unwrap_or_default(),
                name: metadata.name.unwrap_or_default(),
                resource_version: metadata.resource_version.unwrap_or_default(),
            })
        }
        "BOOKMARK" => {
            let JsonObject { metadata } = serde_json::from_str(object)?;
            let annotations = metadata.annotations.unwrap_or_default();
            Ok(Event::Bookmark {
                resource_version: metadata.resource_version.unwrap_or_default(),
                initial_events_end: annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true"),
            })
        }
        "ERROR" => Err(refused(Status::from_json(serde_json::from_str(object)?))),
        other => Err(WatchError::UnknownEvent(other.chars().take(32).collect())),
    }
}

/// The counterpart of [`unreadable_protobuf`].
fn unreadable_json<K>(text: &str, error: &serde_json::Error) -> Result<Event<K>, WatchError> {
    let object = Unreadable::of_json(text, error);
    if object.name.is_empty() {
        serde_json::from_str::<JsonObject>(text)?;
    }
    Ok(Event::Unreadable { object, resource_version: json_text(text, "resourceVersion") })
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

/// Decodes one page of a list. The interner is locked for one object at a time, so that other list-watches can decode
/// theirs meanwhile.
pub(super) fn list_page<K: Resource>(
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
            let body = utf8(body);
            let list: JsonList<'_> = serde_json::from_str(&body)?;
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

#[cfg(test)]
mod tests {
    use endpointslice::Node;

    use super::*;

    const OBJECT: &[u8] = b"{\"metadata\": {\"name\": \"a\", \"resourceVersion\": \"7\"}, \"spec\": {\"parameters\": \"\xff\"}}";

    #[test]
    fn an_object_that_is_not_utf8_ends_neither_watch_nor_list() {
        let interner = Mutex::default();
        let line = [b"{\"type\": \"ADDED\", \"object\": ", OBJECT, b"}"].concat();
        let event = json_event::<Node>(&line, &interner).unwrap();
        let Event::Upsert { object, resource_version } = event else { panic!("not an upsert") };
        assert_eq!((object.name(), &*resource_version), ("a", "7"));
        let body = [b"{\"metadata\": {\"resourceVersion\": \"9\"}, \"items\": [", OBJECT, b"]}"].concat();
        let page = list_page::<Node>(Encoding::Json, &body, &interner).unwrap();
        assert!(page.items.iter().all(Result::is_ok) && page.items.len() == 1);
    }

    #[test]
    fn metadata_is_found_whatever_the_rest_is() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let object = format!(r#"{{"metadata": {{"labels": 7, "name": "a"}}, "spec": {deep}}}"#);
        assert_eq!((&*json_text(&object, "name"), &*json_text(&object, "namespace")), ("a", ""));
        assert_eq!(json_text("[]", "name"), "");
    }
}
