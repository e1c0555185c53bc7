//! The envelope of every object: four magic bytes, its type, and its message.

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;
use crate::writer::Writer;

/// The first four bytes of every Kubernetes protobuf object.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// An object in its envelope: `runtime.Unknown` of `k8s.io/apimachinery pkg/runtime/generated.proto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown<'a> {
    /// Group and version, such as `discovery.k8s.io/v1`; empty for items of some old lists.
    pub api_version: &'a str,
    /// The kind, such as `EndpointSlice`.
    pub kind: &'a str,
    /// The message itself.
    pub raw: &'a [u8],
}

impl<'a> Unknown<'a> {
    /// Parses the envelope of a body or of a watch event's object.
    ///
    /// Cost: independent of the size of the object.
    ///
    /// # Errors
    ///
    /// [`DecodeErrorKind::Magic`] for input that does not begin with [`MAGIC`] (JSON, an error page, a message without
    /// envelope), and those of [`Fields::next_field`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Some(body) = bytes.strip_prefix(&MAGIC) else {
            return Err(DecodeError::new(DecodeErrorKind::Magic, "Unknown", 0));
        };
        let mut unknown = Self::default();
        let mut fields = Fields::new("Unknown", body);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => unknown.parse_type(fields.bytes(value)?)?,
                2 => unknown.raw = fields.bytes(value)?,
                _ => {}
            }
        }
        Ok(unknown)
    }

    fn parse_type(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("TypeMeta", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => self.api_version = fields.text(value)?,
                2 => self.kind = fields.text(value)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Wraps a message in its envelope for the body of a request, byte for byte as Go's serializer does.
pub fn wrap(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    // keys and lengths take up to 24 bytes
    let mut writer = Writer::with_capacity(MAGIC.len() + api_version.len() + kind.len() + raw.len() + 32);
    writer.raw(&MAGIC);
    let type_meta = writer.open(1);
    writer.text(1, api_version);
    writer.text(2, kind);
    writer.close(type_meta);
    writer.bytes(2, raw);
    // contentEncoding and contentType: empty, and always written by Go
    writer.text(3, "");
    writer.text(4, "");
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_message_can_be_parsed() {
        let bytes = wrap("v1", "Pod", b"\x0a\x00");
        assert_eq!(Unknown::parse(&bytes), Ok(Unknown { api_version: "v1", kind: "Pod", raw: b"\x0a\x00" }));
    }

    #[test]
    fn input_without_an_envelope_is_refused() {
        for bytes in [&b""[..], b"k8s", b"{\"kind\":\"Pod\"}", b"\x0a\x02\x08\x01"] {
            assert_eq!(Unknown::parse(bytes).unwrap_err().kind(), DecodeErrorKind::Magic);
        }
        assert_eq!(Unknown::parse(b"k8s\0\x12\x05abc").unwrap_err().kind(), DecodeErrorKind::Truncated);
        assert_eq!(Unknown::parse(b"k8s\0\x10\x05").unwrap_err().kind(), DecodeErrorKind::UnexpectedType);
    }

    #[test]
    fn an_envelope_may_be_empty() {
        assert_eq!(Unknown::parse(&MAGIC), Ok(Unknown::default()));
    }
}
