//! What can be wrong with bytes.

use std::fmt;

/// Bytes that aren't what they should be.
///
/// Small and `Copy`: it borrows nothing from the input, so that an error can outlive the buffer it was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    message: &'static str,
    offset: usize,
}

/// The ways in which bytes can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The message ends inside a field.
    Truncated,
    /// A varint doesn't fit 64 bits.
    VarintOverflow,
    /// A field number is zero or beyond 2^29 - 1.
    FieldNumber,
    /// A wire type that doesn't exist, or a group; Kubernetes never used groups.
    WireType,
    /// A known field comes with another wire type than it is declared with.
    UnexpectedType,
    /// Text isn't UTF-8.
    Utf8,
    /// A time that lies outside of the years -9999 to 9999.
    Time,
    /// The four bytes of [`MAGIC`](crate::MAGIC) are missing: not protobuf, or a message without its envelope.
    Magic,
    /// A frame announces this many bytes, more than is allowed.
    FrameTooLarge(u32),
    /// A watch event is of a type that doesn't exist.
    EventType,
}

impl DecodeError {
    pub(crate) const fn new(kind: DecodeErrorKind, message: &'static str, offset: usize) -> Self {
        Self { kind, message, offset }
    }

    /// What is wrong.
    pub const fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The name of the innermost message that was being read, such as `PodSpec`.
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// How many bytes of that message had been read, counted from its own first byte.
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
                return write!(f, "frame of {length} bytes is larger than allowed");
            }
            Self::EventType => "unknown watch event type",
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
