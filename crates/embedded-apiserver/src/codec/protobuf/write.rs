//! Fields of the wire format, appended to a buffer.

use kube_protobuf::varint;

/// Appends a field of this number, below 16.
pub(crate) fn delimited(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    let (length, used) = varint(bytes.len() as u64);
    out.extend(length.into_iter().take(used));
    out.extend_from_slice(bytes);
}

/// Writes messages.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
}

const VARINT: u32 = 0;
const DELIMITED: u32 = 2;

impl Writer {
    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    #[inline]
    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number << 3 | DELIMITED));
        self.varint(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    /// An int32 or int64: negative numbers take ten bytes.
    #[inline]
    pub(super) fn int(&mut self, number: u32, value: i64) {
        self.varint_field(number, value.cast_unsigned());
    }

    #[inline]
    pub(super) fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(u64::from(number << 3 | VARINT));
        self.varint(value);
    }

    /// A message in a field. Cost: its bytes are copied once for each message around it.
    pub(super) fn nested(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut message = Self::default();
        write(&mut message);
        self.bytes(number, &message.out);
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        if let Ok(byte @ 0..0x80) = u8::try_from(value) {
            return self.out.push(byte);
        }
        let (encoded, size) = varint(value);
        self.out.extend_from_slice(encoded.get(..size).unwrap_or_default());
    }
}
