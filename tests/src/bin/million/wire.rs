//! The wire format of a server: items of lists, frames of watches, and metadata that a codec of ours does not write.

use kube_protobuf::wrap;
use scripted_api::wire::{field, varint};

/// The media type of single objects and lists.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Appends an event of a watch in its frame.
pub(crate) fn event(out: &mut Vec<u8>, event_type: &str, (api_version, kind): (&str, &str), raw: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    field(out, 1, event_type.as_bytes());
    let object = wrap(api_version, kind, raw);
    let mut extension = Vec::with_capacity(object.len() + 8);
    field(&mut extension, 1, &object);
    field(out, 2, &extension);
    let length = u32::try_from(out.len() - start - 4).expect("a frame of less than 4 GB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a bookmark; one that ends the initial events says so.
pub(crate) fn bookmark(out: &mut Vec<u8>, types: (&str, &str), version: u64, ends_list: bool) {
    let mut metadata = Vec::new();
    field(&mut metadata, 6, version.to_string().as_bytes());
    if ends_list {
        let mut annotation = Vec::new();
        field(&mut annotation, 1, b"k8s.io/initial-events-end");
        field(&mut annotation, 2, b"true");
        field(&mut metadata, 12, &annotation);
    }
    let mut object = Vec::new();
    field(&mut object, 1, &metadata);
    event(out, "BOOKMARK", types, &object);
}

/// The body of a list: its items, each of them appended as a [`field`] with number 2, after its metadata.
pub(crate) fn list((api_version, kind): (&str, &str), version: u64, next: &str, items: &[u8]) -> Vec<u8> {
    let mut metadata = Vec::new();
    field(&mut metadata, 2, version.to_string().as_bytes());
    field(&mut metadata, 3, next.as_bytes());
    let mut raw = Vec::with_capacity(items.len() + 64);
    field(&mut raw, 1, &metadata);
    raw.extend_from_slice(items);
    wrap(api_version, &format!("{kind}List"), &raw)
}

/// An encoded object with an entry of `metadata.managedFields`, which the API server adds to what is written.
pub(crate) fn with_manager(object: &[u8], manager: &str, api_version: &str, fields: &str) -> Vec<u8> {
    let (metadata, rest) = metadata(object);
    let mut time = vec![1 << 3];
    varint(&mut time, 1_795_000_000);
    let mut raw = Vec::new();
    field(&mut raw, 1, fields.as_bytes());
    let mut entry = Vec::new();
    field(&mut entry, 1, manager.as_bytes());
    field(&mut entry, 2, b"Update");
    field(&mut entry, 3, api_version.as_bytes());
    field(&mut entry, 4, &time);
    field(&mut entry, 6, b"FieldsV1");
    field(&mut entry, 7, &raw);
    field(&mut entry, 8, b"");
    let mut changed = metadata.to_vec();
    field(&mut changed, 17, &entry);
    let mut out = Vec::with_capacity(object.len() + entry.len() + 8);
    field(&mut out, 1, &changed);
    out.extend_from_slice(rest);
    out
}

/// The metadata of an object, which is its first field, and the rest.
fn metadata(object: &[u8]) -> (&[u8], &[u8]) {
    assert_eq!(object.first(), Some(&0x0a), "an object begins with its metadata");
    let (mut length, mut at) = (0, 1);
    loop {
        let byte = object[at];
        length |= usize::from(byte & 0x7f) << (7 * (at - 1));
        at += 1;
        if byte < 0x80 {
            break;
        }
    }
    object[at..].split_at(length)
}
