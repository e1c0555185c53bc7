//! An entry of `metadata.managedFields` from its parts, for which no tree is made.

use serde_json::Value;

use super::encode::moment;
use super::write::Writer;

/// Number of `managedFields` in `ObjectMeta`. It is the last field.
const MANAGED_FIELDS: u32 = 17;
// Numbers in `ManagedFieldsEntry`. Source: apimachinery `meta/v1/generated.proto`.
const MANAGER: u32 = 1;
const OPERATION: u32 = 2;
const API_VERSION: u32 = 3;
const TIME: u32 = 4;
const FIELDS_TYPE: u32 = 6;
const FIELDS_V1: u32 = 7;
const SUBRESOURCE: u32 = 8;
/// Number of `Raw` in `FieldsV1`.
const RAW: u32 = 1;

/// An entry of `metadata.managedFields`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManagedFieldsEntry<'a> {
    pub(crate) manager: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) api_version: &'a str,
    /// As in JSON: RFC 3339 in UTC.
    pub(crate) time: &'a str,
    /// The text of `fieldsV1`.
    pub(crate) fields: &'a [u8],
    pub(crate) subresource: &'a str,
}

/// Encodes `managedFields` of an `ObjectMeta` with one entry, as [`encode`](super::encode) does.
pub(crate) fn managed_fields(entry: ManagedFieldsEntry<'_>) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.nested(MANAGED_FIELDS, |writer| {
        writer.bytes(MANAGER, entry.manager.as_bytes());
        writer.bytes(OPERATION, entry.operation.as_bytes());
        writer.bytes(API_VERSION, entry.api_version.as_bytes());
        moment(writer, TIME, &Value::from(entry.time));
        writer.bytes(FIELDS_TYPE, b"FieldsV1");
        writer.nested(FIELDS_V1, |writer| writer.bytes(RAW, entry.fields));
        writer.bytes(SUBRESOURCE, entry.subresource.as_bytes());
    });
    writer.finish()
}
