//! Decoding errors.

use std::fmt;

/// Malformed input.
///
/// Small and `Copy`. It borrows nothing from the input, so it can outlive the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    message: &'static str,
    offset: usize,
}

/// The kind of a decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The message ends inside a field.
    Truncated,
    /// A varint exceeds 64 bits.
    VarintOverflow,
    /// A field number is zero or greater than 2^29 - 1.
    FieldNumber,
    /// A wire type is invalid or a group, which Kubernetes never uses.
    WireType,
    /// A known field has another wire type than declared.
    UnexpectedType,
    /// Text is not UTF-8.
    Utf8,
    /// A time is outside of the years -9999 to 9999.
    Time,
    /// The four bytes of [`MAGIC`](crate::MAGIC) are missing: not protobuf, or a message without its envelope.
    Magic,
    /// The length of a frame, in bytes, exceeds the limit.
    FrameTooLarge(u32),
    /// A watch event has no type, or an unknown one.
    EventType,
    /// The reader knows this kind only in JSON.
    JsonOnly,
}

impl DecodeError {
    pub(crate) const fn new(kind: DecodeErrorKind, message: &'static str, offset: usize) -> Self {
        Self { kind, message, offset }
    }

    /// Returns the error of a reader that knows a kind, such as a custom resource, only in JSON.
    pub const fn json_only(kind: &'static str) -> Self {
        Self::new(DecodeErrorKind::JsonOnly, kind, 0)
    }

    /// Returns the kind of the error.
    pub const fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// Returns the name of the innermost message that was being read, such as `PodSpec`.
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// Returns the offset in bytes from the start of that message.
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "message ends inside a field",
            Self::VarintOverflow => "varint longer than 64 bits",
            Self::FieldNumber => "field number out of range",
            Self::WireType => "invalid wire type",
            Self::UnexpectedType => "known field with an unexpected wire type",
            Self::Utf8 => "text is not UTF-8",
            Self::Time => "time out of range",
            Self::Magic => "no Kubernetes protobuf envelope",
            Self::FrameTooLarge(length) => {
                return write!(f, "frame of {length} bytes exceeds the limit");
            }
            Self::EventType => "unknown watch event type",
            Self::JsonOnly => "this kind is read in JSON only",
        })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, message, offset } = self;
        write!(f, "malformed protobuf: {kind} ({message}, byte {offset})")
    }
}

impl std::error::Error for DecodeError {}
