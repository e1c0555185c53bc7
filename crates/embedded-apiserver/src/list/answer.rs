//! A list as the body of an answer.

use kube_protobuf::{varint, wrap};
use serde_json::{Map, Value};

use super::read::Page;
use crate::codec::protobuf;
use crate::schema::Type;

/// Tags of the fields `metadata` and `items` of every list.
const METADATA: u8 = 0x0a;
const ITEMS: u8 = 0x12;

/// The list as JSON. `write` appends the JSON of an object from its message; `kind` is that of the list.
pub(crate) fn json_list(
    page: &Page,
    (api_version, kind): (&str, &str),
    bodies: impl Iterator<Item = impl AsRef<[u8]>>,
    write: impl Fn(&[u8], &mut Vec<u8>),
) -> Vec<u8> {
    let (kind, api_version, metadata) = (Value::from(kind), Value::from(api_version), page.metadata_json());
    let head = format!(r#"{{"kind":{kind},"apiVersion":{api_version},"metadata":{metadata},"items":["#);
    let mut out = head.into_bytes();
    for (index, body) in bodies.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(body.as_ref(), &mut out);
    }
    out.extend_from_slice(b"]}\n");
    out
}

/// The list as protobuf in its envelope, byte for byte as Go's serializer writes it.
pub(crate) fn protobuf_list(
    page: &Page,
    (api_version, kind): (&str, &str),
    bodies: impl Iterator<Item = impl AsRef<[u8]>>,
) -> Vec<u8> {
    let mut raw = Vec::new();
    let meta = Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.ListMeta");
    let metadata = meta.map(|of| protobuf::encode(of, &page.metadata())).unwrap_or_default();
    delimited(&mut raw, METADATA, &metadata);
    bodies.for_each(|body| delimited(&mut raw, ITEMS, body.as_ref()));
    wrap(api_version, kind, &raw)
}

impl Page {
    /// `ListMeta`.
    fn metadata(&self) -> Value {
        let mut fields = Map::from_iter([("resourceVersion".to_owned(), self.version.to_string().into())]);
        if !self.continue_token.is_empty() {
            fields.insert("continue".to_owned(), self.continue_token.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            fields.insert("remainingItemCount".to_owned(), remaining.into());
        }
        Value::Object(fields)
    }

    /// `ListMeta` as JSON, with the fields in the order of Go's encoder.
    pub(crate) fn metadata_json(&self) -> String {
        let metadata = self.metadata();
        let keys = ["resourceVersion", "continue", "remainingItemCount"];
        crate::go::ordered(&metadata, &keys)
    }
}

fn delimited(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    let (length, used) = varint(bytes.len() as u64);
    out.push(tag);
    out.extend(length.into_iter().take(used));
    out.extend_from_slice(bytes);
}
