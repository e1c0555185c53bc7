//! The metadata of any object.

use super::values::{map_entry, text_entry, time_seconds};
use crate::error::DecodeError;
use crate::reader::Fields;

/// The metadata of any object: `meta.v1.ObjectMeta` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`, without
/// owners, finalizers and managedFields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaView<'a> {
    /// The name, unique in its namespace for this kind.
    pub name: &'a str,
    /// The prefix that the name was generated from, or empty.
    pub generate_name: &'a str,
    /// The namespace; empty for Nodes.
    pub namespace: &'a str,
    /// The uid, which a new object of the same name does not share.
    pub uid: &'a str,
    /// The version of this state of the object.
    pub resource_version: &'a str,
    /// The generation of the desired state; 0 for kinds without one.
    pub generation: i64,
    /// Creation time in Unix seconds.
    pub creation_timestamp: Option<i64>,
    /// Time after which the object is removed, in Unix seconds; present once deletion was requested.
    pub deletion_timestamp: Option<i64>,
    /// Labels in the order of the message. The API server sorts them by key.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Annotations in the same order, except for any whose key is not UTF-8. A value that is not is empty.
    pub annotations: Vec<(&'a str, &'a str)>,
}

/// Reads the metadata of any object from its message and ignores the rest. An object without metadata yields an empty
/// view.
///
/// Cost: independent of the size of the object, because all kinds have their metadata in field 1 and Kubernetes writes
/// fields in order.
pub fn meta(raw: &[u8]) -> Result<MetaView<'_>, DecodeError> {
    let mut meta = MetaView::default();
    meta.merge(metadata(raw)?)?;
    Ok(meta)
}

/// Reads the metadata of any object up to the first error. Name, namespace and resourceVersion come first, so that they
/// are usually available.
pub fn meta_lossy(raw: &[u8]) -> MetaView<'_> {
    let mut meta = MetaView::default();
    // Keeps the fields before the error.
    let _ = metadata(raw).and_then(|metadata| meta.merge(metadata));
    meta
}

/// Returns the metadata of any object as a message, without reading what follows; empty if there is none.
pub(crate) fn metadata(raw: &[u8]) -> Result<&[u8], DecodeError> {
    let mut fields = Fields::new("object", raw);
    while let Some((number, value)) = fields.next_field()? {
        if number == 1 {
            return fields.bytes(value);
        }
    }
    Ok(&[])
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
                12 => {
                    let (key, value) = map_entry(fields.bytes(value)?)?;
                    if let Ok(key) = std::str::from_utf8(key) {
                        self.annotations.push((key, std::str::from_utf8(value).unwrap_or_default()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
