//! Changes the metadata of an encoded object without decoding it.

use kube_protobuf::{Fields, Value, varint};

/// Number of `metadata` in all kinds.
const METADATA: u32 = 1;
/// Number of `resourceVersion` in `ObjectMeta`.
const RESOURCE_VERSION: u32 = 6;
const METADATA_TAG: u8 = 0x0a;
const RESOURCE_VERSION_TAG: u8 = 0x32;

/// An encoded object, cut where its resourceVersion belongs.
///
/// The cut is made before the store is locked; [`Self::stamp`] only copies.
#[derive(Debug)]
pub(crate) struct Template<'a> {
    /// Fields of the metadata before the resourceVersion.
    head: &'a [u8],
    /// Fields of the metadata after it.
    tail: &'a [u8],
    /// Fields of the object after the metadata.
    rest: &'a [u8],
}

impl<'a> Template<'a> {
    /// Cuts a message whose fields are in order, as Kubernetes and this crate's encoder write them. A resourceVersion that
    /// it has already is left out.
    pub(crate) fn cut(body: &'a [u8]) -> Self {
        let mut fields = Fields::new("object", body);
        let (metadata, rest) = match fields.next_field() {
            Ok(Some((METADATA, Value::Bytes(metadata)))) => {
                (metadata, body.get(fields.offset()..).unwrap_or_default())
            }
            _ => (&[][..], body),
        };
        let (head, tail) = cut_metadata(metadata);
        Self { head, tail, rest }
    }

    /// The object with this version.
    pub(crate) fn stamp(&self, version: u64) -> Vec<u8> {
        let digits = version.to_string();
        // A version has at most twenty digits, so that its length takes one byte.
        let metadata = self.head.len() + 2 + digits.len() + self.tail.len();
        let (length, used) = varint(metadata as u64);
        let mut body = Vec::with_capacity(1 + used + metadata + self.rest.len());
        body.push(METADATA_TAG);
        body.extend(length.into_iter().take(used));
        body.extend_from_slice(self.head);
        body.push(RESOURCE_VERSION_TAG);
        body.push(u8::try_from(digits.len()).unwrap_or_default());
        body.extend_from_slice(digits.as_bytes());
        body.extend_from_slice(self.tail);
        body.extend_from_slice(self.rest);
        body
    }
}

fn cut_metadata(metadata: &[u8]) -> (&[u8], &[u8]) {
    let mut fields = Fields::new("ObjectMeta", metadata);
    let mut before = 0;
    while let Ok(Some((number, _))) = fields.next_field() {
        if number >= RESOURCE_VERSION {
            let after = if number == RESOURCE_VERSION { fields.offset() } else { before };
            return (metadata.get(..before).unwrap_or_default(), metadata.get(after..).unwrap_or_default());
        }
        before = fields.offset();
    }
    (metadata, &[])
}
