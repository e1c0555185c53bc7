//! The protobuf wire format, written field by field.

/// A message being written.
///
/// Nested messages are written in place: [`Self::open`] notes where the body begins, [`Self::close`] puts the length in
/// front of it. That moves the body by the one to three bytes of its length, once per level of nesting, which is
/// cheaper than computing all sizes beforehand and shorter than writing backwards as Go does. The result is the same.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

/// Where the body of a nested message begins.
#[must_use = "a nested message is complete only after close"]
pub(crate) struct Open(usize);

const VARINT: u32 = 0;
const BYTES: u32 = 2;

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
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

    /// Text behind a pointer in Go: absent and empty are two things.
    pub(crate) fn optional_text(&mut self, number: u32, text: Option<&str>) {
        if let Some(text) = text {
            self.text(number, text);
        }
    }

    /// Text that Go holds by value: always written, absent is empty.
    pub(crate) fn plain_text(&mut self, number: u32, text: Option<&str>) {
        self.text(number, text.unwrap_or_default());
    }

    /// Any integer; negative int32 take ten bytes, as everywhere in protobuf.
    pub(crate) fn integer(&mut self, number: u32, value: impl Into<i64>) {
        self.key(number, VARINT);
        self.varint(value.into().cast_unsigned());
    }

    pub(crate) fn open(&mut self, number: u32) -> Open {
        self.key(number, BYTES);
        Open(self.bytes.len())
    }

    pub(crate) fn close(&mut self, Open(start): Open) {
        let (length, used) = varint_bytes((self.bytes.len() - start) as u64);
        self.bytes.splice(start..start, length.into_iter().take(used));
    }

    /// Bytes that are encoded already.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn key(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(number << 3 | wire_type));
    }

    fn varint(&mut self, value: u64) {
        let (bytes, used) = varint_bytes(value);
        self.bytes.extend(bytes.iter().take(used));
    }
}

fn varint_bytes(mut value: u64) -> ([u8; 10], usize) {
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
