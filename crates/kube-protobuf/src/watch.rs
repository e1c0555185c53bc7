//! Watch events.

use crate::envelope::Unknown;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// The object was created, or existed when the watch began.
    Added,
    /// The object was changed; the event contains the new version.
    Modified,
    /// The object was deleted or no longer matches the selector; the event contains the last version.
    Deleted,
    /// All changes up to the resourceVersion of the object were sent. The object has few other fields.
    Bookmark,
    /// The watch failed; the object is a `Status`, see [`StatusView`](crate::StatusView).
    Error,
}

/// One event: `meta.v1.WatchEvent` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchEvent<'a> {
    /// The type.
    pub event_type: EventType,
    /// The object in its envelope.
    pub object: Unknown<'a>,
}

impl<'a> WatchEvent<'a> {
    /// Parses a frame of a watch body. The event has no envelope; its object has one.
    ///
    /// # Errors
    ///
    /// [`DecodeErrorKind::EventType`] for a missing or unknown type, [`DecodeErrorKind::Magic`] for an object that is missing
    /// or not protobuf.
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
    fn every_event_type_is_parsed() {
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
    fn an_incomplete_event_is_refused() {
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
