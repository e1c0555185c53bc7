//! `metadata.managedFields`: removal, and the managers that wrote last.

use crate::error::DecodeError;
use crate::reader::Fields;
use crate::scan::{metadata, time_seconds};
use crate::writer::Writer;

/// Copies the message of any object, leaving out `metadata.managedFields`.
///
/// Keeps all other bytes, including unknown fields. A cache that mostly compares objects can store them this way, in a
/// fraction of their decoded size and without losing fields of a newer API. managedFields are a third to half of a
/// typical object; the API server preserves them if an update omits them.
///
/// Cost: one pass over the top two levels and one copy. Deeper levels are copied unread, even if malformed.
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

/// The number of `ObjectMeta.managedFields` in `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
const MANAGED_FIELDS: u32 = 17;

/// Maximum number of managers that [`last_managers`] returns.
pub const MAX_LAST_MANAGERS: usize = 4;

/// Returns the field managers that wrote an object last: those of the newest entries of `metadata.managedFields`. Times
/// are whole seconds, so there may be several; at most [`MAX_LAST_MANAGERS`] are returned.
///
/// A client that only removes fields of other managers, or deletes the object, leaves no entry. Entries without a time and
/// managers that are not UTF-8 are ignored.
///
/// Cost: one pass over the metadata; the sets of fields are skipped.
pub fn last_managers(raw: &[u8]) -> Result<Vec<&str>, DecodeError> {
    let mut newest = (i64::MIN, Vec::new());
    let mut fields = Fields::new("ObjectMeta", metadata(raw)?);
    while let Some((number, value)) = fields.next_field()? {
        if number != MANAGED_FIELDS {
            continue;
        }
        let Some((manager, time)) = manager_and_time(fields.bytes(value)?)? else { continue };
        if time > newest.0 {
            newest = (time, vec![manager]);
        } else if time == newest.0 && newest.1.len() < MAX_LAST_MANAGERS && !newest.1.contains(&manager) {
            newest.1.push(manager);
        }
    }
    Ok(newest.1)
}

fn manager_and_time(entry: &[u8]) -> Result<Option<(&str, i64)>, DecodeError> {
    let (mut manager, mut time) = (None, None);
    let mut fields = Fields::new("ManagedFieldsEntry", entry);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => manager = std::str::from_utf8(fields.bytes(value)?).ok(),
            4 => time = time_seconds(fields.bytes(value)?)?,
            _ => {}
        }
    }
    Ok(manager.zip(time))
}

fn copy_metadata(writer: &mut Writer, bytes: &[u8]) -> Result<(), DecodeError> {
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

    /// Encodes an entry with a manager and its time in seconds.
    fn entry(manager: &str, time: Option<u8>) -> Vec<u8> {
        let mut entry = vec![0x0a, u8::try_from(manager.len()).unwrap()];
        entry.extend(manager.as_bytes());
        entry.extend(time.map(|seconds| [0x22, 2, 0x08, seconds]).into_iter().flatten());
        let mut field = vec![0x8a, 0x01, u8::try_from(entry.len()).unwrap()];
        field.extend(entry);
        field
    }

    fn object(entries: &[Vec<u8>]) -> Vec<u8> {
        let metadata = entries.concat();
        let mut object = vec![0x0a, u8::try_from(metadata.len()).unwrap()];
        object.extend(metadata);
        object
    }

    #[test]
    fn the_last_managers_are_those_of_the_newest_time() {
        let raw =
            object(&[entry("a", Some(5)), entry("b", Some(7)), entry("c", Some(7)), entry("b", Some(7))]);
        assert_eq!(last_managers(&raw).unwrap(), ["b", "c"]);
        let raw = object(&[entry("a", Some(5)), entry("b", None)]);
        assert_eq!(last_managers(&raw).unwrap(), ["a"], "an entry without a time is ignored");
        assert_eq!(last_managers(&object(&[])).unwrap(), [""; 0]);
        for length in 0..raw.len() {
            let _ = last_managers(&raw[..length]);
        }
    }

    #[test]
    fn only_managed_fields_are_removed() {
        // metadata { name: "a", managedFields: {..}, 100: 1 }, 50: "x" (unknown), 51: 0 with a key of three bytes
        let raw = b"\x0a\x0b\x0a\x01a\x8a\x01\x02\x0a\x00\xa0\x06\x01\x92\x03\x01x\x98\x83\x00\x00";
        let expected = b"\x0a\x06\x0a\x01a\xa0\x06\x01\x92\x03\x01x\x98\x83\x00\x00";
        assert_eq!(without_managed_fields(raw).unwrap(), expected);
        assert_eq!(without_managed_fields(expected).unwrap(), expected);
    }
}
