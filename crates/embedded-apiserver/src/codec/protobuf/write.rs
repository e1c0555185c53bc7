//! Fields of the wire format, appended to a buffer.

use kube_protobuf::varint;

/// Appends the beginning of a field of this number, below 16, whose value has this length.
pub(crate) fn open(out: &mut Vec<u8>, number: u8, length: usize) {
    out.push(number << 3 | 2);
    let (bytes, used) = varint(length as u64);
    out.extend(bytes.into_iter().take(used));
}

/// Appends a field of this number, below 16.
pub(crate) fn delimited(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    open(out, number, bytes.len());
    out.extend_from_slice(bytes);
}

/// The length of such a field.
pub(crate) fn delimited_length(length: usize) -> usize {
    1 + varint(length as u64).1 + length
}

/// Writes messages. The length of a nested message is put before it when it is complete.
pub(super) struct Writer {
    out: Vec<u8>,
}

/// An empty message, with room for a usual object.
impl Default for Writer {
    fn default() -> Self {
        Self { out: Vec::with_capacity(2048) }
    }
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

    /// A message in a field. Cost: its bytes move once more if it has 128 bytes or more.
    pub(super) fn nested(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        self.varint(u64::from(number << 3 | DELIMITED));
        let start = self.out.len();
        self.out.push(0);
        write(self);
        let length = self.out.len() - start - 1;
        if let (Ok(byte @ 0..0x80), Some(place)) = (u8::try_from(length), self.out.get_mut(start)) {
            *place = byte;
            return;
        }
        let (encoded, size) = varint(length as u64);
        let prefix = encoded.get(..size).unwrap_or_default();
        self.out.extend_from_slice(prefix.get(1..).unwrap_or_default());
        self.out.copy_within(start + 1..start + 1 + length, start + size);
        if let Some(place) = self.out.get_mut(start..start + size) {
            place.copy_from_slice(prefix);
        }
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
