//! Lists of any kind.

use crate::error::DecodeError;
use crate::reader::Fields;

/// A list of any kind: its metadata, and its encoded items.
///
/// All list types (`PodList`, `EndpointSliceList`, ... in the `generated.proto` files of `k8s.io/api`) have the same two
/// fields, so one reader suffices. Items have no envelope; their kind is that of the list.
#[derive(Clone, Debug)]
pub struct List<'a> {
    /// The resourceVersion to start a watch from.
    pub resource_version: &'a str,
    /// The token of the next page; empty on the last page.
    pub continue_token: &'a str,
    /// Number of items on the following pages, if the server reports it.
    pub remaining_item_count: Option<i64>,
    raw: &'a [u8],
}

impl<'a> List<'a> {
    /// Reads the metadata of a list from its message (the [`raw`](crate::Unknown::raw) of its envelope).
    ///
    /// Stops after the metadata, which every API server writes first. Items are read only once, by [`Self::items`], which
    /// reports errors in them.
    pub fn parse(raw: &'a [u8]) -> Result<Self, DecodeError> {
        let mut list = Self { resource_version: "", continue_token: "", remaining_item_count: None, raw };
        let mut fields = Fields::new("List", raw);
        while let Some((number, value)) = fields.next_field()? {
            if number == 1 {
                list.parse_meta(fields.bytes(value)?)?;
                break;
            }
        }
        Ok(list)
    }

    /// Returns the items in order, each as the message that [`PodView::parse`](crate::PodView::parse),
    /// [`Message::decode`](crate::Message::decode) and similar functions expect.
    ///
    /// Ends after the first error in the list itself, because the next item cannot be located then. An item whose content
    /// is malformed does not affect the others.
    pub fn items(&self) -> Items<'a> {
        Items { fields: Fields::new("List", self.raw) }
    }

    fn parse_meta(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("ListMeta", bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                2 => self.resource_version = fields.text(value)?,
                3 => self.continue_token = fields.text(value)?,
                4 => self.remaining_item_count = Some(fields.int64(value)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The items of a [`List`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    fields: Fields<'a>,
}

impl<'a> Items<'a> {
    fn next_item(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        while let Some((number, value)) = self.fields.next_field()? {
            if number == 2 {
                return self.fields.bytes(value).map(Some);
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<&'a [u8], DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.next_item().transpose();
        if matches!(item, Some(Err(_))) {
            self.fields = Fields::new("List", &[]);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_and_metadata_from_anywhere() {
        let raw = b"\x12\x01a\x0a\x08\x12\x0242\x1a\x02ct\x12\x01b\x12\x00";
        let list = List::parse(raw).unwrap();
        assert_eq!(
            (list.resource_version, list.continue_token, list.remaining_item_count),
            ("42", "ct", None)
        );
        assert_eq!(list.items().collect::<Result<Vec<_>, _>>().unwrap(), [&b"a"[..], b"b", b""]);
    }

    #[test]
    fn an_error_ends_the_items() {
        let list = List::parse(b"\x0a\x00\x12\x01a\x12\x05b").unwrap();
        let items: Vec<_> = list.items().collect();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0], Ok(&b"a"[..]));
        assert!(items[1].is_err());
    }
}
