//! `Status`, the response to a failed request.

use crate::error::DecodeError;
use crate::reader::{Fields, Value};

/// The response to a refused request, or the error of a watch: `meta.v1.Status` of
/// `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusView<'a> {
    /// `Success` or `Failure`.
    pub status: &'a str,
    /// The HTTP status code; 0 if absent.
    pub code: i32,
    /// The machine-readable reason, such as `AlreadyExists`.
    pub reason: &'a str,
    /// The message for people. It may quote the request, so it ends at the first byte that is not UTF-8.
    pub message: &'a str,
    /// The detailed causes.
    pub causes: Vec<CauseView<'a>>,
    /// Delay before a retry, in seconds; 0 if absent.
    pub retry_after_seconds: i32,
}

/// One cause of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseView<'a> {
    /// The machine-readable cause, such as `NamespaceTerminating`; `reason` in JSON, `Type` in Go.
    pub reason: &'a str,
    /// The message for people, up to the first byte that is not UTF-8.
    pub message: &'a str,
    /// The invalid field of the object, such as `spec.ports[0].name`.
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
                3 => status.message = valid_prefix(&fields, value)?,
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
                2 => cause.message = valid_prefix(&fields, value)?,
                3 => cause.field = fields.text(value)?,
                _ => {}
            }
        }
        Ok(cause)
    }
}

/// Returns text up to the first byte that is not UTF-8.
fn valid_prefix<'a>(fields: &Fields<'a>, value: Value<'a>) -> Result<&'a str, DecodeError> {
    Ok(fields.bytes(value)?.utf8_chunks().next().map_or("", |chunk| chunk.valid()))
}
