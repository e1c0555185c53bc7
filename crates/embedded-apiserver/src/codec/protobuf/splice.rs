//! Changes the metadata of a stored object without decoding it.

use bytes::Bytes;
use kube_protobuf::{DecodeError, Fields};

use super::write::varint;

/// `metadata` of every object, and of every list.
const METADATA: u32 = 1;
/// `resourceVersion` in `ObjectMeta`.
const RESOURCE_VERSION: u32 = 6;
/// The key of `metadata` on the wire.
const METADATA_KEY: u8 = 0x0a;
/// The key of `resourceVersion` on the wire.
const RESOURCE_VERSION_KEY: u8 = 0x32;

/// The object with another `metadata.resourceVersion`; empty as it is stored in etcd, where the version is not part of it.
///
/// Cost: one allocation and copy. The fields before resourceVersion are scanned.
///
/// # Errors
/// The bytes are no message, or have no metadata.
pub(crate) fn set_resource_version(object: &[u8], version: &str) -> Result<Bytes, DecodeError> {
    let (before_metadata, metadata, after_metadata) = cut(object, METADATA)?;
    let (before, _, after) = cut(metadata, RESOURCE_VERSION)?;
    let (version_length, version_size) = varint(version.len() as u64);
    let length = before.len() + 1 + version_size + version.len() + after.len();
    let (metadata_length, metadata_size) = varint(length as u64);

    let mut out =
        Vec::with_capacity(before_metadata.len() + 1 + metadata_size + length + after_metadata.len());
    out.extend_from_slice(before_metadata);
    out.push(METADATA_KEY);
    out.extend(metadata_length.iter().take(metadata_size));
    out.extend_from_slice(before);
    out.push(RESOURCE_VERSION_KEY);
    out.extend(version_length.iter().take(version_size));
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(after);
    out.extend_from_slice(after_metadata);
    Ok(Bytes::from(out))
}

/// The object with more fields at the end of its metadata: those of greater numbers than it has, or more items of its last.
///
/// Cost: one allocation and copy.
///
/// # Errors
/// The bytes are no message.
pub(crate) fn append_to_metadata(object: &[u8], more: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let (before, metadata, after) = cut(object, METADATA)?;
    let length = metadata.len() + more.len();
    let (encoded, size) = varint(length as u64);
    let mut out = Vec::with_capacity(before.len() + 1 + size + length + after.len());
    out.extend_from_slice(before);
    out.push(METADATA_KEY);
    out.extend(encoded.iter().take(size));
    out.extend_from_slice(metadata);
    out.extend_from_slice(more);
    out.extend_from_slice(after);
    Ok(out)
}

/// The `metadata.resourceVersion` of a stored object.
///
/// # Errors
/// The bytes are no message.
pub(crate) fn resource_version(object: &[u8]) -> Result<&str, DecodeError> {
    let (_, metadata, _) = cut(object, METADATA)?;
    let (_, version, _) = cut(metadata, RESOURCE_VERSION)?;
    Ok(std::str::from_utf8(version).unwrap_or_default())
}

/// The bytes before a field, its value, and the bytes after it. Without the field, the value is empty and belongs after the
/// fields of smaller numbers.
fn cut(message: &[u8], wanted: u32) -> Result<(&[u8], &[u8], &[u8]), DecodeError> {
    let mut fields = Fields::new("object", message);
    let mut start = 0;
    while let Some((number, value)) = fields.next_field()? {
        if number == wanted {
            let (before, rest) = message.split_at_checked(start).unwrap_or((message, &[]));
            let after = rest.get(fields.offset() - start..).unwrap_or_default();
            return Ok((before, fields.bytes(value)?, after));
        }
        if number > wanted {
            break;
        }
        start = fields.offset();
    }
    let (before, after) = message.split_at_checked(start).unwrap_or((message, &[]));
    Ok((before, &[], after))
}
