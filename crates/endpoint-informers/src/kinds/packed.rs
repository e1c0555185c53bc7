//! Encoded objects at rest, in about a third of their size.
//!
//! A packed object is a list of operations that write it: bytes as they are, copies of what was written before, and uids.
//! The endpoints of an object are alike, so that most of an endpoint is copied from the one before it, at the same distance
//! as the last copy. A uid is 36 characters, which no general compressor of bytes makes 16 of; here they are a third of an
//! endpoint.
//!
//! | operation | bytes |
//! |---|---|
//! | up to 64 bytes | `00nnnnnn`, the bytes |
//! | a copy of 3 to 66 bytes, at the distance of the last copy | `01nnnnnn` |
//! | a copy of 5 to 68 bytes | `10nnnnnn`, the distance (two bytes, little endian) |
//! | a uid | `11000000`, 16 bytes |

use std::borrow::Cow;
use std::sync::LazyLock;
use std::{fmt, mem};

/// A sequence of bytes that is kept packed. Packed bytes are equal exactly if the bytes are.
///
/// Cost: packing takes six microseconds for an object of ten endpoints and fifty for one of a hundred; unpacking one and
/// eight, and an allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Packed(Box<[u8]>);

/// The first byte: whether the rest is the content itself, or operations that write it.
const PLAIN: u8 = 0;
const OPERATIONS: u8 = 1;

/// Larger objects, of about two hundred endpoints, are not packed: they are few, and a change of any endpoint is one of the
/// whole object.
const LARGEST: usize = 32 * 1024;

const AGAIN: u8 = 0b01 << 6;
const COPY: u8 = 0b10 << 6;
const UID: u8 = 0b11 << 6;
/// The highest number in an operation.
const MAX: usize = 0b11_1111;
/// The shortest copies.
const MIN_AGAIN: usize = 3;
const MIN_COPY: usize = 5;

/// Bytes that stand before each object, to be copied from: what most objects contain, as Go encodes it.
const COMMON: &[u8] = b"Z&\x0a\x20app.kubernetes.io/managed-by\x12\x04Helm\x0a\x16app.kubernetes.io/name\x12\
    \x0a\x1aapp.kubernetes.io/instance\x12Z9\x0a\x22endpoints.kubernetes.io/managed-by\x12\x13endpoint-controller\
    bH\x0a0endpoints.kubernetes.io/last-change-trigger-time\x12\x142026-11-20T08:00:00Z\
    j>\x0a\x07Service\x1a\x22$\x2a\x02v10\x018\x01z\x00\
    $\x2a\x00\x32\x00:\x00\x1a\x00\x22\x0a\x0a\x04http\x10\x90?\x1a\x03TCP\x0a\x07metrics\
    ZI\x0a&endpointslice.kubernetes.io/managed-by\x12\x1fendpointslice-controller.k8s.io\
    Z(\x0a\x1akubernetes.io/service-name\x12\
    Z\x22\x0a\x1eservice.kubernetes.io/headless\x12\x00z\x00\x12\x06\x08\x01\x10\x01\x18\x00\
    \x22O\x0a\x03Pod\x12\x2a\x00\x32\x00:\x00\x32\x1a\x0c\x0a\x04http\x12\x03TCP\x18\x90?\x22\x04IPv4\
    \x22\x00\x2a$8\x01B\x08\x08";

impl Packed {
    /// Packs bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let packed =
            (bytes.len() <= LARGEST).then(|| pack(bytes)).filter(|packed| packed.len() <= bytes.len());
        Self(packed.unwrap_or_else(|| [&[PLAIN], bytes].concat()).into())
    }

    /// The bytes.
    pub fn unpack(&self) -> Cow<'_, [u8]> {
        match self.0.split_first() {
            Some((&OPERATIONS, operations)) => Cow::Owned(unpack(operations)),
            Some((_, bytes)) => Cow::Borrowed(bytes),
            None => Cow::Borrowed(&[]),
        }
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.unpack(), f)
    }
}

/// The byte [`OPERATIONS`], two bytes of length, and the operations that write `bytes`.
fn pack(bytes: &[u8]) -> Vec<u8> {
    let input = [COMMON, bytes].concat();
    let mut output = Vec::with_capacity(bytes.len() / 2 + 64);
    output.push(OPERATIONS);
    output.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or_default().to_le_bytes());
    let mut packer = Packer { input: &input, output, plain: COMMON.len(), distance: 0 };
    let mut seen = SEEN_IN_COMMON.clone();
    let mut at = COMMON.len();
    let mut uid = next_uid(&input, at);
    while at < input.len() {
        let (start, end) = uid.map_or((input.len(), input.len()), |(start, _)| (start, start + UID_LEN));
        // A copy that ended within a uid would leave the rest of it.
        let end = if at < start { start } else { end };
        let copy = four(&input, at).and_then(|here| packer.find(at, here, seen.replace(here, at), end));
        at = match (copy, uid) {
            (copy, Some((start, value))) if start == at && copy.is_none_or(|copy| copy.length < UID_LEN) => {
                packer.uid(at, value)
            }
            (Some(copy), _) => packer.copy(at, copy),
            (None, _) => at + 1,
        };
        if at > start {
            uid = next_uid(&input, at);
        }
    }
    packer.plain_until(input.len());
    packer.output
}

/// Bytes that stand before a position, too.
#[derive(Clone, Copy)]
struct Repetition {
    distance: usize,
    length: usize,
}

struct Packer<'a> {
    /// [`COMMON`], and the bytes to pack.
    input: &'a [u8],
    output: Vec<u8>,
    /// The position from which on nothing is written yet.
    plain: usize,
    /// The distance of the last copy.
    distance: usize,
}

impl Packer<'_> {
    /// The copy to `at` from the last distance, or from `candidate` if that is longer by what it costs. No further than `end`.
    fn find(&self, at: usize, here: u32, candidate: Option<usize>, end: usize) -> Option<Repetition> {
        // Most positions have neither: their first bytes are compared first.
        let there = |from| four(self.input, from).unwrap_or_default();
        let again =
            at.checked_sub(self.distance).filter(|from| *from < at && (there(*from) ^ here) << 8 == 0);
        let candidate = candidate.filter(|from| there(*from) == here);
        let length = |from| self.common_length(from, at, end);
        let again = Repetition { distance: self.distance, length: again.map_or(0, length) };
        let new = Repetition { distance: at - candidate.unwrap_or(at), length: candidate.map_or(0, length) };
        if new.length >= MIN_COPY.max(again.length + 3) && u16::try_from(new.distance).is_ok() {
            return Some(new);
        }
        (again.length >= MIN_AGAIN).then_some(again)
    }

    /// The number of bytes that are the same from `from` on as from `at` to `end`.
    fn common_length(&self, from: usize, at: usize, end: usize) -> usize {
        // One operation copies from one of both parts.
        let before = if from < COMMON.len() { COMMON.get(from..) } else { self.input.get(from..) };
        common_prefix(before.unwrap_or_default(), self.input.get(at..end).unwrap_or_default())
    }

    fn copy(&mut self, at: usize, Repetition { distance, length }: Repetition) -> usize {
        self.plain_until(at);
        let mut left = length;
        if distance != self.distance {
            let count = left.min(MIN_COPY + MAX);
            self.output.push(operation(COPY, count - MIN_COPY));
            self.output.extend_from_slice(&u16::try_from(distance).unwrap_or_default().to_le_bytes());
            self.distance = distance;
            left -= count;
        }
        while left >= MIN_AGAIN {
            let count = left.min(MIN_AGAIN + MAX);
            self.output.push(operation(AGAIN, count - MIN_AGAIN));
            left -= count;
        }
        self.plain = at + length - left;
        self.plain
    }

    fn uid(&mut self, at: usize, value: [u8; 16]) -> usize {
        self.plain_until(at);
        self.output.push(UID);
        self.output.extend_from_slice(&value);
        self.plain = at + UID_LEN;
        self.plain
    }

    fn plain_until(&mut self, end: usize) {
        for bytes in self.input.get(self.plain..end).unwrap_or_default().chunks(MAX + 1) {
            self.output.push(operation(0, bytes.len() - 1));
            self.output.extend_from_slice(bytes);
        }
        self.plain = end;
    }
}

fn operation(code: u8, count: usize) -> u8 {
    code | u8::try_from(count).unwrap_or_default()
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let length = 8 * words.take_while(|(a, b)| a == b).count();
    let rest = a.iter().zip(b).skip(length);
    length + rest.take_while(|(a, b)| a == b).count()
}

/// The four bytes at a position.
fn four(input: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*input.get(at..)?.first_chunk()?))
}

/// The last position of each four bytes, by a hash of them; 0 for none.
#[derive(Clone)]
struct Seen([u32; 1 << HASH_BITS]);

const HASH_BITS: u32 = 11;

static SEEN_IN_COMMON: LazyLock<Seen> = LazyLock::new(|| {
    let mut seen = Seen([0; 1 << HASH_BITS]);
    for position in 0..COMMON.len() {
        if let Some(bytes) = four(COMMON, position) {
            seen.replace(bytes, position);
        }
    }
    seen
});

impl Seen {
    /// Records the position of four bytes, and returns the last one of four bytes with the same hash.
    fn replace(&mut self, bytes: u32, at: usize) -> Option<usize> {
        let hash = bytes.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let entry = self.0.get_mut(usize::try_from(hash).ok()?)?;
        let before = mem::replace(entry, u32::try_from(at).ok()?);
        usize::try_from(before).ok().filter(|before| *before > 0)
    }
}

/// Undoes [`pack`]. What isn't its output gives some bytes.
fn unpack(packed: &[u8]) -> Vec<u8> {
    let Some((length, mut rest)) = packed.split_first_chunk::<2>() else { return vec![] };
    let mut output = Vec::with_capacity(u16::from_le_bytes(*length).into());
    let mut distance = 0;
    while let Some((operation, after)) = rest.split_first() {
        let count = usize::from(*operation) & MAX;
        rest = match operation & !0b11_1111 {
            AGAIN => {
                copy(&mut output, distance, count + MIN_AGAIN);
                after
            }
            COPY => {
                let Some((new, after)) = after.split_first_chunk::<2>() else { break };
                distance = u16::from_le_bytes(*new).into();
                copy(&mut output, distance, count + MIN_COPY);
                after
            }
            UID => {
                let Some((uid, after)) = after.split_first_chunk::<16>() else { break };
                write_uid(&mut output, uid);
                after
            }
            _ => {
                let Some((bytes, after)) = after.split_at_checked(count + 1) else { break };
                output.extend_from_slice(bytes);
                after
            }
        };
    }
    output
}

fn copy(output: &mut Vec<u8>, distance: usize, count: usize) {
    let Some(from) = output.len().checked_sub(distance) else {
        let from = (COMMON.len() + output.len()).saturating_sub(distance);
        return output.extend_from_slice(COMMON.get(from..from + count).unwrap_or_default());
    };
    if count <= distance {
        return output.extend_from_within(from..from + count);
    }
    // The copy continues with its own first bytes.
    for position in from..from + count {
        output.extend(output.get(position).copied());
    }
}

/// The length of a uid as text, the positions of its bytes, and those of its hyphens.
const UID_LEN: usize = 36;
const BYTES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The first uid from a position on, and where it is: 32 lower-case hexadecimal digits with hyphens.
fn next_uid(input: &[u8], mut from: usize) -> Option<(usize, [u8; 16])> {
    loop {
        from += input.get(from + 8..)?.iter().position(|byte| *byte == b'-')?;
        if let Some(value) = read_uid(input.get(from..)?.first_chunk()?) {
            return Some((from, value));
        }
        from += 1;
    }
}

fn read_uid(text: &[u8; UID_LEN]) -> Option<[u8; 16]> {
    let at = |position: usize| text.get(position).copied().unwrap_or_default();
    if HYPHENS.iter().any(|position| at(*position) != b'-') {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut uid = [0; 16];
    for (byte, position) in uid.iter_mut().zip(BYTES) {
        *byte = digit(at(position))? << 4 | digit(at(position + 1))?;
    }
    Some(uid)
}

fn write_uid(output: &mut Vec<u8>, uid: &[u8; 16]) {
    let mut text = [b'-'; UID_LEN];
    for (position, byte) in BYTES.into_iter().zip(uid) {
        for (digit, value) in text.iter_mut().skip(position).zip([byte >> 4, byte & 15]) {
            *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        }
    }
    output.extend_from_slice(&text);
}

#[cfg(test)]
mod tests;
