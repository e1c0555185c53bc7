//! Encoding of the protobuf wire format, field by field.

/// A message being written.
///
/// Nested messages are written in place: [`Self::open`] records the start of the body, [`Self::close`] inserts its length.
/// That moves the body by one to three bytes per level of nesting, which is cheaper than computing all sizes in advance
/// and simpler than writing backwards as Go does. The result is the same.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

/// Offset of the body of a nested message.
#[must_use = "a nested message is incomplete before `close`"]
pub(crate) struct NestedMessage(usize);

const VARINT: u32 = 0;
const BYTES: u32 = 2;

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    /// Writes into the memory of `bytes`, whose content is dropped.
    pub(crate) fn reusing(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.key(number, BYTES);
        self.varint(bytes.len() as u64);
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    /// Writes text that Go holds behind a pointer: absent and empty differ.
    pub(crate) fn optional_text(&mut self, number: u32, text: Option<&str>) {
        if let Some(text) = text {
            self.text(number, text);
        }
    }

    /// Writes text that Go holds by value: absent text is written as empty.
    pub(crate) fn plain_text(&mut self, number: u32, text: Option<&str>) {
        self.text(number, text.unwrap_or_default());
    }

    /// Writes any integer. A negative int32 takes ten bytes, as protobuf requires.
    pub(crate) fn integer(&mut self, number: u32, value: impl Into<i64>) {
        self.key(number, VARINT);
        self.varint(value.into().cast_unsigned());
    }

    pub(crate) fn open(&mut self, number: u32) -> NestedMessage {
        self.key(number, BYTES);
        NestedMessage(self.bytes.len())
    }

    pub(crate) fn close(&mut self, NestedMessage(start): NestedMessage) {
        let (length, used) = varint((self.bytes.len() - start) as u64);
        self.bytes.splice(start..start, length.into_iter().take(used));
    }

    /// Appends encoded bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn key(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(number << 3 | wire_type));
    }

    fn varint(&mut self, value: u64) {
        let (bytes, used) = varint(value);
        self.bytes.extend(bytes.iter().take(used));
    }
}

/// Encodes a varint: its bytes, and the number of bytes that are used.
pub fn varint(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut used = 0;
    for byte in &mut bytes {
        used += 1;
        *byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            break;
        }
        *byte |= 0x80;
    }
    (bytes, used)
}
