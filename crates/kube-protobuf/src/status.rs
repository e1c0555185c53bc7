//! What the API server answers instead of an object.

use crate::error::DecodeError;
use crate::reader::{Fields, Value};

/// A refusal, or the reason why a watch failed: `meta.v1.Status` of
/// `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusView<'a> {
    /// `Success` or `Failure`.
    pub status: &'a str,
    /// The HTTP status code; 0 if absent.
    pub code: i32,
    /// The reason for machines, such as `AlreadyExists`.
    pub reason: &'a str,
    /// The reason for people. It may quote what somebody sent, so it ends early where it isn't UTF-8.
    pub message: &'a str,
    /// The causes in detail.
    pub causes: Vec<CauseView<'a>>,
    /// How long to wait before trying again; 0 if the server doesn't say.
    pub retry_after_seconds: i32,
}

/// One cause of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseView<'a> {
    /// The cause for machines, such as `NamespaceTerminating`; JSON calls it `reason` too, Go calls it `Type`.
    pub reason: &'a str,
    /// The cause for people, up to where it isn't UTF-8.
    pub message: &'a str,
    /// The field of the object that is at fault, such as `spec.ports[0].name`.
    pub field: &'a str,
}

impl<'a> StatusView<'a> {
    /// Reads a Status from its message (the [`raw`](crate::Unknown::raw) of its envelope).
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut status = Self::default();
        let mut fields = Fields::new("Status", raw);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                2 => status.status = fields.text(value)?,
                3 => status.message = readable(&fields, value)?,
                4 => status.reason = fields.text(value)?,
                5 => status.parse_details(fields.bytes(value)?)?,
                6 => status.code = fields.int32(value)?,
                _ => {}
            }
        }
        Ok(status)
    }

    fn parse_details(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("StatusDetails", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                4 => self.causes.push(CauseView::parse(fields.bytes(value)?)?),
                5 => self.retry_after_seconds = fields.int32(value)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> CauseView<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cause = Self::default();
        let mut fields = Fields::new("StatusCause", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => cause.reason = fields.text(value)?,
                2 => cause.message = readable(&fields, value)?,
                3 => cause.field = fields.text(value)?,
                _ => {}
            }
        }
        Ok(cause)
    }
}

/// Text for people, up to where it isn't UTF-8.
fn readable<'a>(fields: &Fields<'a>, value: Value<'a>) -> Result<&'a str, DecodeError> {
    Ok(fields.bytes(value)?.utf8_chunks().next().map_or("", |chunk| chunk.valid()))
}
