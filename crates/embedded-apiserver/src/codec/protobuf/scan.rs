//! Reads single fields of a stored object without decoding it, for selectors and garbage collection.

use kube_protobuf::{DecodeError, Fields, Value as Wire};

use crate::schema::{Entry, Message, Part, Shape, Type};

/// A path to a field, such as `spec.nodeName`, as protobuf field numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    numbers: Vec<u32>,
}

impl Path {
    /// The path of JSON names in an object of this type; `None` if there is no such field. Lists and maps can only be the
    /// last element.
    ///
    /// Cost: one lookup an element; keep the result.
    pub(crate) fn new(of: &'static Type, path: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        let mut current = Some(of);
        for name in path.split('.') {
            let of = current?;
            let position = of.position(name)?;
            push_numbers(&of.message, position, &mut numbers).then_some(())?;
            current = match of.fields.get(position)?.node.shape {
                Shape::Struct(inner) => Some(inner.get()),
                _ => None,
            };
        }
        Some(Self { numbers })
    }

    /// The numbers of the fields on the way, the outermost first.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The bytes of the field: text, or the message of a struct. `None` if it is absent.
    ///
    /// Cost: skips over the fields of each message on the way.
    ///
    /// # Errors
    /// Malformed bytes before the field.
    pub(crate) fn bytes<'a>(&self, object: &'a [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        self.all(object)?.next().transpose()
    }

    /// The text of a string field; empty if it is absent or not UTF-8.
    ///
    /// # Errors
    /// Malformed bytes before the field.
    pub(crate) fn text<'a>(&self, object: &'a [u8]) -> Result<&'a str, DecodeError> {
        Ok(self.bytes(object)?.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default())
    }

    /// The items of a list, or the entries of a map, as bytes.
    ///
    /// # Errors
    /// Malformed bytes before the field.
    pub(crate) fn all<'a>(&self, object: &'a [u8]) -> Result<All<'a>, DecodeError> {
        let mut fields = Fields::new("object", object);
        let Some((&last, above)) = self.numbers.split_last() else { return Ok(All { fields, number: 0 }) };
        for &number in above {
            let inner = find(&mut fields, number)?.unwrap_or_default();
            fields = Fields::new("field", inner);
        }
        Ok(All { fields, number: last })
    }

    /// The value of a number or boolean; 0 if it is absent.
    ///
    /// # Errors
    /// Malformed bytes before the field.
    pub(crate) fn number(&self, object: &[u8]) -> Result<i64, DecodeError> {
        let All { mut fields, number } = self.all(object)?;
        while let Some((found, value)) = fields.next_field()? {
            if found == number {
                return fields.int64(value);
            }
        }
        Ok(0)
    }
}

/// The occurrences of a field.
#[derive(Debug, Clone)]
pub(crate) struct All<'a> {
    fields: Fields<'a>,
    number: u32,
}

impl<'a> Iterator for All<'a> {
    type Item = Result<&'a [u8], DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        find(&mut self.fields, self.number).transpose()
    }
}

/// The keys and values of the entries of a map of strings. Text that is not UTF-8 counts as empty.
pub(crate) fn entries(all: All<'_>) -> impl Iterator<Item = Result<(&str, &str), DecodeError>> {
    all.map(|entry| {
        let mut fields = Fields::new("entry", entry?);
        let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
        while let Some((number, wire)) = fields.next_field()? {
            match number {
                1 => key = fields.bytes(wire)?,
                2 => value = fields.bytes(wire)?,
                _ => {}
            }
        }
        Ok((std::str::from_utf8(key).unwrap_or_default(), std::str::from_utf8(value).unwrap_or_default()))
    })
}

fn find<'a>(fields: &mut Fields<'a>, number: u32) -> Result<Option<&'a [u8]>, DecodeError> {
    while let Some((found, value)) = fields.next_field()? {
        if found == number
            && let Wire::Bytes(bytes) = value
        {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Appends the numbers that lead to a field, through structs that JSON inlines.
fn push_numbers(message: &Message, position: usize, numbers: &mut Vec<u32>) -> bool {
    message.entries.iter().any(|Entry { number, part }| {
        numbers.push(*number);
        let found = match part {
            Part::Field(candidate) => *candidate == position,
            Part::Inlined(inner) => push_numbers(inner, position, numbers),
        };
        if !found {
            numbers.pop();
        }
        found
    })
}
