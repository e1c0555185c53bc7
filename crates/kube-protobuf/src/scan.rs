//! Borrowed views: the fields that endpoints are made of, read in one pass without decoding the rest.
//!
//! A view fails as a whole if one of the fields it wants is damaged, and only then: what it steps over is not looked at.
//! Two rules follow from what users may store unchecked. Annotations that aren't UTF-8 are left out (the API server
//! doesn't validate their values, and one Pod must not be able to stop a cluster's watch), and where only equality with
//! a known word matters, bytes are compared, so text that isn't UTF-8 is simply another word.
//!
//! A field that occurs twice counts as protobuf says: the last wins, nested messages merge, lists and maps append.

mod meta;
mod node;
mod pod;
mod service;

pub use meta::{MetaView, meta, meta_until_damage};
pub use node::NodeView;
pub use pod::{PodView, PortView};
pub use service::{ServicePortView, ServiceView, TargetPort};

use crate::error::DecodeError;
use crate::reader::Fields;

/// Key and value of a map entry.
fn map_entry(bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let (mut key, mut content) = (&b""[..], &b""[..]);
    let mut fields = Fields::new("map entry", bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => key = fields.bytes(value)?,
            2 => content = fields.bytes(value)?,
            _ => {}
        }
    }
    Ok((key, content))
}

/// Whole Unix seconds; Kubernetes writes the absent time as a message of no bytes.
pub(crate) fn time_seconds(bytes: &[u8]) -> Result<Option<i64>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut seconds = 0;
    let mut fields = Fields::new("Time", bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            seconds = fields.int64(value)?;
        }
    }
    Ok(Some(seconds))
}

/// What endpoints need of a condition. `PodCondition` and `NodeCondition` agree in the numbers of these fields.
struct Condition<'a> {
    kind: &'a [u8],
    is_true: bool,
    last_transition: Option<i64>,
}

impl<'a> Condition<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut condition = Self { kind: b"", is_true: false, last_transition: None };
        let mut fields = Fields::new("condition", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => condition.kind = fields.bytes(value)?,
                2 => condition.is_true = fields.bytes(value)? == b"True",
                4 => condition.last_transition = time_seconds(fields.bytes(value)?)?,
                _ => {}
            }
        }
        Ok(condition)
    }
}

#[cfg(test)]
mod tests;
