//! Every reader on the same bytes. Used by the property tests and by the fuzz targets.

use std::fmt::Debug;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Endpoints, Event};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::*;

/// Reads `bytes` as whatever a view knows; only the absence of panics is checked, and that objects stay the same
/// without their managedFields.
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
        "stripping twice is stripping once"
    );
    same(meta(bytes), meta(&stripped));
    same(PodView::parse(bytes), PodView::parse(&stripped));
    same(ServiceView::parse(bytes), ServiceView::parse(&stripped));
    same(NodeView::parse(bytes), NodeView::parse(&stripped));
}

/// Reads `bytes` as every kind with a codec: what can be read can be written and read again.
pub(crate) fn message(bytes: &[u8]) {
    codec::<EndpointSlice>(bytes);
    codec::<Endpoints>(bytes);
    codec::<Event>(bytes);
    codec::<Lease>(bytes);
}

fn codec<T: Message + PartialEq + Debug>(bytes: &[u8]) {
    let decoded = T::decode(bytes);
    if let Ok(stripped) = without_managed_fields(bytes) {
        same(T::decode(bytes), T::decode(&stripped));
    }
    let Ok(decoded) = decoded else { return };
    let encoded = decoded.encode();
    let again = T::decode(&encoded);
    assert_eq!(again.as_ref(), Ok(&decoded));
    assert_eq!(again.map(|again| again.encode()), Ok(encoded));
}

/// Cuts `stream` into frames as it comes in pieces of these lengths (over and over), and in one piece.
pub(crate) fn frames(stream: &[u8], lengths: &[u8], max: usize) {
    let whole = cut(&mut [stream].into_iter(), max);
    let mut rest = stream;
    let mut chunks = lengths.iter().cycle().map_while(|length| {
        let (chunk, tail) = rest.split_at_checked(usize::from(*length).max(1)).unwrap_or((rest, &[]));
        rest = tail;
        Some(chunk).filter(|chunk| !chunk.is_empty())
    });
    let pieces = cut(&mut chunks, max);
    if !lengths.is_empty() {
        assert_eq!(whole, pieces);
    }
}

type Cut = (Vec<Vec<u8>>, Option<DecodeError>, bool);

fn cut(chunks: &mut dyn Iterator<Item = &[u8]>, max: usize) -> Cut {
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

/// Equal, or wrong in the same way; where it is wrong may differ.
fn same<T: PartialEq + Debug>(one: Result<T, DecodeError>, other: Result<T, DecodeError>) {
    let kind = |error: DecodeError| (error.kind(), error.message());
    assert_eq!(one.map_err(kind), other.map_err(kind));
}
