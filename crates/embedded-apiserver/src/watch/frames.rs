//! The events of a watch as the chunks of a body.

use bytes::Bytes;
use futures::Stream;
use kube_protobuf::MAGIC;

use super::events::WatchEvent;
use super::stream::Watch;
use crate::codec::protobuf::{delimited, delimited_length, open};

/// Size from which a chunk is sent, although more events are ready.
const CHUNK: usize = 64 << 10;

impl Watch {
    /// The body of the response. `write` appends the frame of an event. Events that are ready at the same time share a chunk.
    pub(crate) fn into_chunks(
        self,
        write: impl FnMut(&WatchEvent, &mut Vec<u8>) + Send + 'static,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        futures::stream::unfold((self, write), |(mut watch, mut write)| async move {
            let event = watch.next().await?;
            let mut chunk = Vec::new();
            write(&event, &mut chunk);
            while chunk.len() < CHUNK
                && let Some(event) = watch.next_ready()
            {
                write(&event, &mut chunk);
            }
            Some((Bytes::from(chunk), (watch, write)))
        })
    }
}

/// Appends an event as a line of JSON. `object` appends the object, with kind and apiVersion.
pub(crate) fn json_frame(out: &mut Vec<u8>, event_type: &str, object: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event_type.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    object(out);
    out.extend_from_slice(b"}\n");
}

/// Appends an event as a length and a `meta/v1 WatchEvent`, byte for byte as Go's serializer writes it.
pub(crate) fn protobuf_frame(
    out: &mut Vec<u8>,
    event_type: &str,
    api_version: &str,
    kind: &str,
    body: &[u8],
) {
    // Lengths from the inside out: Unknown in RawExtension in WatchEvent.
    let type_meta = delimited_length(api_version.len()) + delimited_length(kind.len());
    let unknown =
        MAGIC.len() + delimited_length(type_meta) + delimited_length(body.len()) + 2 * delimited_length(0);
    let extension = delimited_length(unknown);
    let event = delimited_length(event_type.len()) + delimited_length(extension);
    // A frame is limited to 4 GiB, an object of the API to some megabytes.
    let length = u32::try_from(event).unwrap_or(u32::MAX);
    out.reserve(event + 4);
    out.extend_from_slice(&length.to_be_bytes());
    delimited(out, 1, event_type.as_bytes());
    open(out, 2, extension);
    open(out, 1, unknown);
    out.extend_from_slice(&MAGIC);
    open(out, 1, type_meta);
    delimited(out, 1, api_version.as_bytes());
    delimited(out, 2, kind.as_bytes());
    delimited(out, 2, body);
    delimited(out, 3, b"");
    delimited(out, 4, b"");
}
