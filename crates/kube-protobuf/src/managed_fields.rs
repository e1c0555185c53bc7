//! Objects without the bookkeeping of server-side apply.

use crate::error::DecodeError;
use crate::reader::Fields;
use crate::writer::Writer;

/// Copies the message of any object, leaving out `metadata.managedFields`.
///
/// Everything else is kept byte for byte, known or not: this is how to hold an object that is mostly compared, in a
/// fraction of its decoded size and without losing fields of a newer API. managedFields are a third to half of a
/// typical object; the API server keeps them by itself when they are left out of an update.
///
/// Cost: one pass over the top two levels and one copy. Deeper levels are not read, so damage in them is kept as well.
pub fn without_managed_fields(raw: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut writer = Writer::with_capacity(raw.len());
    let mut fields = Fields::new("object", raw);
    while let Some((number, value, source)) = fields.next_with_source()? {
        if number == 1 {
            let metadata = writer.open(number);
            copy_metadata(&mut writer, fields.bytes(value)?)?;
            writer.close(metadata);
        } else {
            writer.raw(source);
        }
    }
    Ok(writer.finish())
}

fn copy_metadata(writer: &mut Writer, bytes: &[u8]) -> Result<(), DecodeError> {
    const MANAGED_FIELDS: u32 = 17;
    let mut fields = Fields::new("ObjectMeta", bytes);
    while let Some((number, _, source)) = fields.next_with_source()? {
        if number != MANAGED_FIELDS {
            writer.raw(source);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_managed_fields_are_left_out() {
        // metadata { name: "a", managedFields: {..}, 100: 1 }, 50: "x" (unknown), 51: 0 with a key of three bytes
        let raw = b"\x0a\x0b\x0a\x01a\x8a\x01\x02\x0a\x00\xa0\x06\x01\x92\x03\x01x\x98\x83\x00\x00";
        let expected = b"\x0a\x06\x0a\x01a\xa0\x06\x01\x92\x03\x01x\x98\x83\x00\x00";
        assert_eq!(without_managed_fields(raw).unwrap(), expected);
        assert_eq!(without_managed_fields(expected).unwrap(), expected);
    }
}
