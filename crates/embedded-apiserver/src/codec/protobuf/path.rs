//! Places of fields in a stored object, for those who read single fields without decoding it.

use crate::schema::{Entry, Message, Part, Shape, Type};

/// The numbers of the fields on the way to a field, such as `spec.nodeName`, the outermost first; `None` if there is no such
/// field. Lists and maps can only be the last element.
///
/// Cost: one lookup an element; keep the result.
pub(crate) fn field_numbers(of: &'static Type, path: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let mut current = Some(of);
    for name in path.split('.') {
        let of = current?;
        let position = of.fields.iter().position(|field| field.json == name)?;
        push_numbers(&of.message, position, &mut numbers).then_some(())?;
        current = match of.fields.get(position)?.node.shape {
            Shape::Struct(inner) => Some(inner.get()),
            _ => None,
        };
    }
    Some(numbers)
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
