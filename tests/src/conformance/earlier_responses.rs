//! The earlier answers of one server, and the references to them.

use std::collections::HashMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube_protobuf::{Fields, Unknown, Value as Wire};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use scripted_api::wire::field;
use serde_json::Value;

use super::exchange::Answer;
use super::request::{Body, Request};
use super::wire;

/// The answers of one server to one sequence.
#[derive(Debug)]
pub(crate) struct EarlierResponses {
    namespace: String,
    slot: usize,
    answers: HashMap<usize, Answer>,
    /// The numbers of the answers that show an object, by its subject.
    objects: HashMap<String, Vec<usize>>,
}

/// A uid that no object has.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'&')
    .add(b'+')
    .add(b'%')
    .add(b'=')
    .add(b';');
const PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?').add(b'`');

impl EarlierResponses {
    pub(crate) fn new(namespace: &str, slot: usize) -> Self {
        Self { namespace: namespace.to_owned(), slot, answers: HashMap::new(), objects: HashMap::new() }
    }

    /// Keeps an answer.
    pub(crate) fn keep(&mut self, request: &Request, answer: Answer) {
        // Not the Status of a deletion, and no other form of the object.
        let other = ["Status", "Table", "PartialObjectMetadata"]
            .iter()
            .any(|kind| answer.body.starts_with(format!("{{\"kind\":\"{kind}\"").as_bytes()));
        if let Some(subject) = &request.subject
            && (200..300).contains(&answer.status)
            && answer.content_type() == "application/json"
            && !other
        {
            self.objects.entry(subject.clone()).or_default().push(request.number);
        }
        self.answers.insert(request.number, answer);
    }

    /// The request for this server.
    pub(crate) fn resolve(&self, request: &Request) -> http::Request<Bytes> {
        let path = self.text(&request.path);
        let mut uri = utf8_percent_encode(&path, PATH).to_string();
        for (number, (key, value)) in request.query.iter().enumerate() {
            uri.push(if number == 0 { '?' } else { '&' });
            uri.extend(utf8_percent_encode(key, QUERY));
            uri.push('=');
            uri.extend(utf8_percent_encode(&self.text(value), QUERY));
        }
        let mut builder = http::Request::builder().method(request.method).uri(uri);
        if let Some(content_type) = request.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        builder.body(self.body(&request.body).into()).expect("a request")
    }

    fn body(&self, body: &Body) -> Vec<u8> {
        match body {
            Body::None => Vec::new(),
            Body::Text(text) => self.text(text).into_bytes(),
            Body::Json(value) => self.text(&value.to_string()).into_bytes(),
            Body::Latest { subject, unseen, edits } => {
                let last = self.objects.get(subject).and_then(|numbers| numbers.last());
                let mut object = last.and_then(|number| self.json(*number)).unwrap_or_else(|| unseen.clone());
                for edit in edits {
                    edit.apply(&mut object);
                }
                self.text(&object.to_string()).into_bytes()
            }
            Body::Protobuf { of, fresh, label } => {
                // A Status is of another kind.
                let answer = self.answers.get(of).filter(|answer| (200..300).contains(&answer.status));
                let Some(answer) = answer else { return b"k8s\0".to_vec() };
                let label = label.as_ref().map(|(key, value)| (*key, self.text(value)));
                edited(&answer.body, *fresh, label.as_ref()).unwrap_or_else(|| b"k8s\0".to_vec())
            }
            Body::Bytes(bytes) => bytes.to_vec(),
        }
    }

    fn json(&self, number: usize) -> Option<Value> {
        serde_json::from_slice(&self.answers.get(&number)?.body).ok()
    }

    /// A field of an answer.
    fn string(&self, number: usize, pointer: &str) -> Option<String> {
        self.json(number)?.pointer(pointer)?.as_str().map(str::to_owned)
    }

    /// Replaces references.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('⟦') {
            let (reference, after) = after.split_once('⟧').unwrap_or((after, ""));
            out.push_str(before);
            out.push_str(&self.reference(reference));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn reference(&self, reference: &str) -> String {
        let (kind, target) = reference.split_once(':').unwrap_or((reference, ""));
        let number = target.parse().unwrap_or(usize::MAX);
        let seen = self.objects.get(target);
        let last = seen.and_then(|numbers| numbers.last()).copied().unwrap_or(usize::MAX);
        let first = seen.and_then(|numbers| numbers.first()).copied().unwrap_or(usize::MAX);
        let (value, constant) = match kind {
            "ns" => return self.namespace.clone(),
            // As the last number of an address of the part of the range from which nothing is chosen at random.
            "slot" => return (50 + self.slot).to_string(),
            "rv" => (self.string(last, "/metadata/resourceVersion"), "1"),
            "first" => (self.string(first, "/metadata/resourceVersion"), "1"),
            "uid" => (self.string(last, "/metadata/uid"), NO_UID),
            "name" => (self.string(number, "/metadata/name"), "no-name"),
            "continue" => (self.string(number, "/metadata/continue"), "none"),
            "list" => (self.string(number, "/metadata/resourceVersion"), "0"),
            _ => panic!("reference {reference}"),
        };
        value.filter(|value| !value.is_empty()).unwrap_or_else(|| constant.to_owned())
    }
}

/// A protobuf object with other metadata. `fresh` removes uid, version, times and managers, so that it can be created.
fn edited(bytes: &[u8], fresh: bool, label: Option<&(&str, String)>) -> Option<Vec<u8>> {
    let unknown = Unknown::parse(bytes).ok()?;
    let mut object = Vec::new();
    let mut fields = Fields::new("object", unknown.raw);
    while let Some((number, value)) = fields.next_field().ok()? {
        match value {
            Wire::Bytes(bytes) if number == 1 => field(&mut object, 1, &metadata(bytes, fresh, label)?),
            value => wire::copy(&mut object, number, value),
        }
    }
    Some(kube_protobuf::wrap(unknown.api_version, unknown.kind, &object))
}

fn metadata(bytes: &[u8], fresh: bool, label: Option<&(&str, String)>) -> Option<Vec<u8>> {
    let mut metadata = Vec::new();
    let mut fields = Fields::new("ObjectMeta", bytes);
    while let Some((number, value)) = fields.next_field().ok()? {
        // uid, resourceVersion, creationTimestamp, managedFields
        if !(fresh && matches!(number, 5 | 6 | 8 | 17)) {
            wire::copy(&mut metadata, number, value);
        }
    }
    if let Some((key, value)) = label {
        const LABELS: u32 = 11;
        let mut entry = Vec::new();
        field(&mut entry, 1, key.as_bytes());
        field(&mut entry, 2, value.as_bytes());
        field(&mut metadata, LABELS, &entry);
    }
    Some(metadata)
}
