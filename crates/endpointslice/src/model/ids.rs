//! Uid and resourceVersion of objects in few bytes.

use std::fmt;

/// The `metadata.uid` of an object: 24 bytes, without a heap allocation for the usual form.
///
/// The API server assigns lower-case hyphenated UUIDs. Any other uid (of a test, or an aggregated API) is kept as text,
/// so that [`Display`](fmt::Display) always prints the uid as it was read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Uid(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// In bytes, because alignment to sixteen would cost another eight.
    Uuid([u8; 16]),
    Text(Box<str>),
}

/// Positions of the hyphens in a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uid {
    /// True if no uid is set.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Text(text) if text.is_empty())
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(parse_uuid(text).map_or_else(|| Repr::Text(text.into()), |uuid| Repr::Uuid(uuid.to_be_bytes())))
    }
}

/// Reads the canonical form only: a uid that would print differently stays text.
fn parse_uuid(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut value = 0_u128;
    for (position, byte) in text.bytes().enumerate() {
        if HYPHENS.contains(&position) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u128::from(digit);
    }
    Some(value)
}

fn hexadecimal(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Text(text) => f.write_str(text),
            // As one text: a sync makes that of each pod, and five formatted numbers would be most of its cost.
            Repr::Uuid(bytes) => {
                let bytes = bytes.iter();
                let mut digits = bytes.flat_map(|byte| [byte >> 4, byte & 0xf].map(hexadecimal));
                let mut text = [b'-'; 36];
                for (position, place) in text.iter_mut().enumerate() {
                    if !HYPHENS.contains(&position) {
                        *place = digits.next().unwrap_or_default();
                    }
                }
                f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({self})")
    }
}

/// The `metadata.resourceVersion` of an object: eight bytes.
///
/// Resource versions of the API server are decimal numbers, and ordered. Other text is hashed, and can only be compared
/// for equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ResourceVersion(u64);

impl ResourceVersion {
    /// The resourceVersion as a number, if it is one.
    pub fn number(self) -> Option<u64> {
        Some(self.0).filter(|number| number >> 63 == 0)
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        use std::hash::{BuildHasher, Hasher};
        Self(text.parse().unwrap_or_else(|_| {
            let mut hasher = foldhash::quality::FixedState::default().build_hasher();
            hasher.write(text.as_bytes());
            hasher.finish() | 1 << 63
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_uid_prints_what_was_read(value: u128, text in ".{0,40}") {
            let uid = Uid(Repr::Uuid(value.to_be_bytes()));
            prop_assert_eq!(Uid::from(uid.to_string().as_str()), uid);
            prop_assert_eq!(Uid::from(text.as_str()).to_string(), text);
        }

        #[test]
        fn versions_are_equal_exactly_when_the_text_is(a in "[0-9]{1,12}|[a-z]{1,12}", b in "[0-9]{1,12}|[a-z]{1,12}") {
            prop_assume!(!a.starts_with('0') && !b.starts_with('0'));
            prop_assert_eq!(ResourceVersion::from(a.as_str()) == ResourceVersion::from(b.as_str()), a == b);
        }
    }

    #[test]
    fn a_uid_is_small() {
        assert_eq!(size_of::<Uid>(), 24);
    }
}
