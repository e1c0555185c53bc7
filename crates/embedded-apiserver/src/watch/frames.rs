//! The events of a watch as the chunks of a body.

use bytes::Bytes;
use futures::Stream;
use kube_protobuf::wrap;

use super::events::WatchEvent;
use super::stream::Watch;
use crate::codec::protobuf::delimited;

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
    let mut extension = Vec::with_capacity(body.len() + 64);
    delimited(&mut extension, 1, &wrap(api_version, kind, body));
    let mut event = Vec::with_capacity(extension.len() + 32);
    delimited(&mut event, 1, event_type.as_bytes());
    delimited(&mut event, 2, &extension);
    // A frame is limited to 4 GiB, an object of the API to some megabytes.
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&event);
}
