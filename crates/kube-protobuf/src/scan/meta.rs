//! The metadata of any object.

use super::{map_entry, time_seconds};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Fields;

/// What every object has: `meta.v1.ObjectMeta` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`, without
/// owners, finalizers and managedFields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaView<'a> {
    /// The name, unique in its namespace for this kind.
    pub name: &'a str,
    /// The prefix that the name was generated from, or empty.
    pub generate_name: &'a str,
    /// The namespace; empty for Nodes.
    pub namespace: &'a str,
    /// Identity over time: a new object of the same name has another.
    pub uid: &'a str,
    /// The version of this state of the object.
    pub resource_version: &'a str,
    /// Counts changes of the desired state; 0 for kinds that don't count.
    pub generation: i64,
    /// When it was created, in Unix seconds.
    pub creation_timestamp: Option<i64>,
    /// When it is (or was) due to go, in Unix seconds; present once deletion was asked for.
    pub deletion_timestamp: Option<i64>,
    /// Labels in the order of the message, which is that of the keys if the API server wrote it.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Annotations likewise, except any that aren't UTF-8.
    pub annotations: Vec<(&'a str, &'a str)>,
}

/// Reads the metadata of any object from its message, stopping right behind it.
///
/// All kinds have their metadata in field 1, and Kubernetes writes fields in order; so this costs the same for a large
/// object as for a small one. An object without metadata yields an empty view.
pub fn meta(raw: &[u8]) -> Result<MetaView<'_>, DecodeError> {
    let mut meta = MetaView::default();
    let mut fields = Fields::new("object", raw);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            meta.merge(fields.bytes(value)?)?;
            break;
        }
    }
    Ok(meta)
}

/// The same, up to where the metadata can no longer be read: the name, the namespace and the resourceVersion stand at the
/// beginning, so that most damage leaves them.
pub fn meta_until_damage(raw: &[u8]) -> MetaView<'_> {
    let mut meta = MetaView::default();
    let mut fields = Fields::new("object", raw);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == 1 {
            let metadata = fields.bytes(value).unwrap_or_default();
            // What came before the damage stands.
            let _ = meta.merge(metadata);
            break;
        }
    }
    meta
}

impl<'a> MetaView<'a> {
    pub(super) fn merge(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("ObjectMeta", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => self.name = fields.text(value)?,
                2 => self.generate_name = fields.text(value)?,
                3 => self.namespace = fields.text(value)?,
                5 => self.uid = fields.text(value)?,
                6 => self.resource_version = fields.text(value)?,
                7 => self.generation = fields.int64(value)?,
                8 => self.creation_timestamp = time_seconds(fields.bytes(value)?)?,
                9 => self.deletion_timestamp = time_seconds(fields.bytes(value)?)?,
                11 => self.labels.push(text_entry(fields.bytes(value)?)?),
                12 => match text_entry(fields.bytes(value)?) {
                    Err(error) if error.kind() == DecodeErrorKind::Utf8 => {}
                    entry => self.annotations.push(entry?),
                },
                _ => {}
            }
        }
        Ok(())
    }
}

/// An entry of a map of strings.
pub(super) fn text_entry(bytes: &[u8]) -> Result<(&str, &str), DecodeError> {
    let (key, value) = map_entry(bytes)?;
    match (std::str::from_utf8(key), std::str::from_utf8(value)) {
        (Ok(key), Ok(value)) => Ok((key, value)),
        _ => Err(DecodeError::new(DecodeErrorKind::Utf8, "map entry", bytes.len())),
    }
}
