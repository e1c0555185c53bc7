//! `Status`, the response to a failed request.

use crate::error::DecodeError;
use crate::reader::{Fields, Value};

/// The response to a refused request, or the error of a watch: `meta.v1.Status` of
/// `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusView<'a> {
    /// The HTTP status code; 0 if absent.
    pub code: i32,
    /// The machine-readable reason, such as `AlreadyExists`.
    pub reason: &'a str,
    /// The message for people. It may quote the request, so it ends at the first byte that is not UTF-8.
    pub message: &'a str,
    /// The machine-readable causes, such as `NamespaceTerminating`; `reason` in JSON, `Type` in Go.
    pub causes: Vec<&'a str>,
    /// Delay before a retry, in seconds; 0 if absent.
    pub retry_after_seconds: i32,
}

impl<'a> StatusView<'a> {
    /// Reads a Status from its message (the [`raw`](crate::Unknown::raw) of its envelope).
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut status = Self::default();
        let mut fields = Fields::new("Status", raw);
        while let Some((number, value)) = fields.next_field()? {
            match number {
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
                4 => self.causes.push(cause(fields.bytes(value)?)?),
                5 => self.retry_after_seconds = fields.int32(value)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The machine-readable part of a cause.
fn cause(bytes: &[u8]) -> Result<&str, DecodeError> {
    let mut reason = "";
    let mut fields = Fields::new("StatusCause", bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            reason = fields.text(value)?;
        }
    }
    Ok(reason)
}

/// Returns text up to the first byte that is not UTF-8.
fn valid_prefix<'a>(fields: &Fields<'a>, value: Value<'a>) -> Result<&'a str, DecodeError> {
    Ok(fields.bytes(value)?.utf8_chunks().next().map_or("", |chunk| chunk.valid()))
}
