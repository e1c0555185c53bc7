//! A list as the chunks of a body. No part of it is built as a whole, except for the list of its objects.

use bytes::Bytes;
use kube_protobuf::{MAGIC, varint};
use serde_json::Value;

use super::read::Page;
use crate::codec::protobuf::{delimited, delimited_length, open};

/// Size from which a chunk is sent.
const CHUNK: usize = 64 << 10;

/// The tag of field 4 with a number.
const VARINT_4: u8 = 0x20;

/// The list as JSON, in chunks of about 64 KiB. `bodies` are the messages of the objects; `kind` is that of the list;
/// `write` appends the JSON of an object.
pub(crate) fn json_chunks<W: Fn(&[u8], &mut Vec<u8>)>(
    page: &Page,
    api_version: &str,
    kind: &str,
    bodies: Vec<Bytes>,
    write: W,
) -> impl Iterator<Item = Bytes> + use<W> {
    let (kind, api_version) = (Value::from(kind), Value::from(api_version));
    let metadata = page.metadata_json();
    let head = format!(r#"{{"kind":{kind},"apiVersion":{api_version},"metadata":{metadata},"items":["#);
    let mut buffer = head.into_bytes();
    let mut bodies = bodies.into_iter();
    let (mut first, mut ended) = (true, false);
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        while buffer.len() < CHUNK {
            let Some(body) = bodies.next() else {
                ended = true;
                buffer.extend_from_slice(b"]}\n");
                break;
            };
            if !std::mem::take(&mut first) {
                buffer.push(b',');
            }
            write(&body, &mut buffer);
        }
        Some(take(&mut buffer))
    })
}

/// The list as protobuf in its envelope, in chunks of about 64 KiB, byte for byte as Go's serializer writes it.
///
/// Cost: the bodies are read twice, first for their lengths.
pub(crate) fn protobuf_chunks(
    page: &Page,
    api_version: &str,
    kind: &str,
    bodies: Vec<Bytes>,
) -> impl Iterator<Item = Bytes> + use<> {
    let metadata = page.metadata_protobuf();
    let items: usize = bodies.iter().map(|body| delimited_length(body.len())).sum();
    let raw = delimited_length(metadata.len()) + items;

    let mut type_meta = Vec::new();
    delimited(&mut type_meta, 1, api_version.as_bytes());
    delimited(&mut type_meta, 2, kind.as_bytes());
    let mut buffer = MAGIC.to_vec();
    delimited(&mut buffer, 1, &type_meta);
    open(&mut buffer, 2, raw);
    delimited(&mut buffer, 1, &metadata);

    let mut bodies = bodies.into_iter();
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        while buffer.len() < CHUNK {
            let Some(body) = bodies.next() else {
                ended = true;
                delimited(&mut buffer, 3, b"");
                delimited(&mut buffer, 4, b"");
                break;
            };
            delimited(&mut buffer, 2, &body);
        }
        Some(take(&mut buffer))
    })
}

impl Page {
    /// `ListMeta`, with the fields in the order of Go's encoder.
    pub(crate) fn metadata_json(&self) -> String {
        let mut fields = vec![format!(r#""resourceVersion":"{}""#, self.version)];
        if !self.continue_token.is_empty() {
            fields.push(format!(r#""continue":"{}""#, self.continue_token));
        }
        if let Some(remaining) = self.remaining {
            fields.push(format!(r#""remainingItemCount":{remaining}"#));
        }
        format!("{{{}}}", fields.join(","))
    }

    /// `ListMeta` as a message.
    pub(crate) fn metadata_protobuf(&self) -> Vec<u8> {
        let mut metadata = Vec::new();
        delimited(&mut metadata, 1, b"");
        delimited(&mut metadata, 2, self.version.to_string().as_bytes());
        delimited(&mut metadata, 3, self.continue_token.as_bytes());
        if let Some(remaining) = self.remaining {
            metadata.push(VARINT_4);
            let (bytes, used) = varint(remaining.cast_unsigned());
            metadata.extend(bytes.into_iter().take(used));
        }
        metadata
    }
}

/// The buffer as a chunk; another of the same size takes its place.
fn take(buffer: &mut Vec<u8>) -> Bytes {
    let next = Vec::with_capacity(buffer.capacity().min(2 * CHUNK));
    Bytes::from(std::mem::replace(buffer, next))
}
