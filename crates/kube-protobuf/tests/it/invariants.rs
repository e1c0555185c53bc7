//! Invariants of all readers on any bytes. Shared by the property tests and the fuzz targets.

use std::fmt::Debug;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Endpoints, Event};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::*;

/// Reads `bytes` as every view. Checks that nothing panics, and that removing managedFields changes no view.
pub(crate) fn scan(bytes: &[u8]) {
    let mut fields = Fields::new("any", bytes);
    while let Ok(Some(_)) = fields.next_field() {}
    assert!(fields.offset() <= bytes.len());
    if let Ok(list) = List::parse(bytes) {
        assert!(list.items().count() <= bytes.len());
    }
    let _ = StatusView::parse(bytes);
    let _ = WatchEvent::parse(bytes);
    let _ = Unknown::parse(bytes);
    let _ = last_managers(bytes);
    let Ok(stripped) = without_managed_fields(bytes) else { return };
    assert_eq!(
        without_managed_fields(&stripped).as_ref(),
        Ok(&stripped),
        "removing managedFields twice changes nothing"
    );
    assert_same(meta(bytes), meta(&stripped));
    assert_same(PodView::parse(bytes), PodView::parse(&stripped));
    assert_same(ServiceView::parse(bytes), ServiceView::parse(&stripped));
    assert_same(NodeView::parse(bytes), NodeView::parse(&stripped));
}

/// Reads `bytes` as every kind with a codec. Checks that a decoded object survives encoding and decoding.
pub(crate) fn message(bytes: &[u8]) {
    codec::<EndpointSlice>(bytes);
    codec::<Endpoints>(bytes);
    codec::<Event>(bytes);
    codec::<Lease>(bytes);
}

fn codec<T: Message + PartialEq + Debug>(bytes: &[u8]) {
    let decoded = T::decode(bytes);
    if let Ok(stripped) = without_managed_fields(bytes) {
        assert_same(T::decode(bytes), T::decode(&stripped));
    }
    let Ok(decoded) = decoded else { return };
    let encoded = decoded.encode();
    let again = T::decode(&encoded);
    assert_eq!(again.as_ref(), Ok(&decoded));
    assert_eq!(again.map(|again| again.encode()), Ok(encoded));
}

/// Checks that `stream` yields the same frames in one chunk and in chunks of these lengths (repeated).
pub(crate) fn frames(stream: &[u8], lengths: &[u8], max: usize) {
    let whole = split(&mut [stream].into_iter(), max);
    let mut rest = stream;
    let mut chunks = lengths.iter().cycle().map_while(|length| {
        let (chunk, tail) = rest.split_at_checked(usize::from(*length).max(1)).unwrap_or((rest, &[]));
        rest = tail;
        Some(chunk).filter(|chunk| !chunk.is_empty())
    });
    let pieces = split(&mut chunks, max);
    if !lengths.is_empty() {
        assert_eq!(whole, pieces);
    }
}

type Frames = (Vec<Vec<u8>>, Option<DecodeError>, bool);

fn split(chunks: &mut dyn Iterator<Item = &[u8]>, max: usize) -> Frames {
    let mut frames = FrameReader::new(max);
    let mut found = Vec::new();
    for chunk in chunks {
        frames.push(chunk);
        loop {
            match frames.next_frame() {
                Ok(Some(frame)) => {
                    assert!(frame.len() <= max);
                    found.push(frame.to_vec());
                }
                Ok(None) => break,
                Err(error) => return (found, Some(error), false),
            }
        }
    }
    let is_empty = frames.is_empty();
    (found, None, is_empty)
}

/// Asserts that two results are equal; errors may differ in their offset.
fn assert_same<T: PartialEq + Debug>(one: Result<T, DecodeError>, other: Result<T, DecodeError>) {
    let kind = |error: DecodeError| (error.kind(), error.message());
    assert_eq!(one.map_err(kind), other.map_err(kind));
}
