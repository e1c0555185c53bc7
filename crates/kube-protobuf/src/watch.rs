//! Watch events.

use crate::envelope::Unknown;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;

/// What happened to the object of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// It was created, or it existed when the watch began.
    Added,
    /// It was changed; the object is its new form.
    Modified,
    /// It was deleted or no longer matches the selector; the object is its last form.
    Deleted,
    /// Nothing happened up to this resourceVersion; the object has little else.
    Bookmark,
    /// The watch failed; the object is a Status, see [`StatusView`](crate::StatusView).
    Error,
}

/// One event: `meta.v1.WatchEvent` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchEvent<'a> {
    /// What happened.
    pub event_type: EventType,
    /// To what.
    pub object: Unknown<'a>,
}

impl<'a> WatchEvent<'a> {
    /// Reads a frame of a watch body. The event itself has no envelope; its object has one.
    ///
    /// # Errors
    ///
    /// [`DecodeErrorKind::EventType`] for a type that is missing or none of the five, [`DecodeErrorKind::Magic`] for an
    /// object that is missing or not protobuf.
    pub fn parse(frame: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut event_type, mut object) = (&b""[..], &b""[..]);
        let mut fields = Fields::new("WatchEvent", frame);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => event_type = fields.bytes(value)?,
                2 => object = raw_extension(fields.bytes(value)?)?,
                _ => {}
            }
        }
        let event_type = match event_type {
            b"ADDED" => EventType::Added,
            b"MODIFIED" => EventType::Modified,
            b"DELETED" => EventType::Deleted,
            b"BOOKMARK" => EventType::Bookmark,
            b"ERROR" => EventType::Error,
            _ => return Err(fields.error(DecodeErrorKind::EventType)),
        };
        Ok(Self { event_type, object: Unknown::parse(object)? })
    }
}

fn raw_extension(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let mut raw = &b""[..];
    let mut fields = Fields::new("RawExtension", bytes);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            raw = fields.bytes(value)?;
        }
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::wrap;
    use crate::writer::Writer;

    fn event(event_type: &str, object: &[u8]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.text(1, event_type);
        let extension = writer.open(2);
        writer.bytes(1, object);
        writer.close(extension);
        writer.finish()
    }

    #[test]
    fn every_type_is_known() {
        let object = wrap("v1", "Pod", b"");
        for (text, event_type) in [
            ("ADDED", EventType::Added),
            ("MODIFIED", EventType::Modified),
            ("DELETED", EventType::Deleted),
            ("BOOKMARK", EventType::Bookmark),
            ("ERROR", EventType::Error),
        ] {
            let frame = event(text, &object);
            let expected =
                WatchEvent { event_type, object: Unknown { api_version: "v1", kind: "Pod", raw: b"" } };
            assert_eq!(WatchEvent::parse(&frame), Ok(expected));
        }
    }

    #[test]
    fn half_an_event_is_none() {
        let object = wrap("v1", "Pod", b"");
        assert_eq!(WatchEvent::parse(b"").unwrap_err().kind(), DecodeErrorKind::EventType);
        assert_eq!(
            WatchEvent::parse(&event("RENAMED", &object)).unwrap_err().kind(),
            DecodeErrorKind::EventType
        );
        assert_eq!(WatchEvent::parse(&event("ADDED", b"{}")).unwrap_err().kind(), DecodeErrorKind::Magic);
        assert_eq!(WatchEvent::parse(b"\x0a\x05ADDED").unwrap_err().kind(), DecodeErrorKind::Magic);
    }
}
