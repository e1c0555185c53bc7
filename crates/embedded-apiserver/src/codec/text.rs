//! JSON strings as Go's encoder writes them: `<`, `>`, `&`, U+2028 and U+2029 are escaped too.

pub(super) use crate::go_quote::quote;

/// Writes a string with its quotes.
#[inline]
pub(crate) fn write_str(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_escaped(out, text);
    out.push(b'"');
}

/// Writes bytes that should be UTF-8; each byte that is not becomes `\ufffd`.
#[inline]
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return write_str(out, text);
    }
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        write_escaped(out, chunk.valid());
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

/// Copies JSON text, with the characters escaped that Go's encoder escapes in strings.
pub(crate) fn write_json(out: &mut Vec<u8>, json: &[u8]) {
    let mut rest = json;
    while let Some(end) = rest.iter().position(|&byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2)) {
        let (plain, special) = rest.split_at(end);
        out.extend_from_slice(plain);
        let taken = match special {
            [0xe2, 0x80, last @ (0xa8 | 0xa9), ..] => {
                out.extend_from_slice(if *last == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                3
            }
            [0xe2, ..] | [] => {
                out.push(0xe2);
                1
            }
            [byte, ..] => {
                write_code(out, *byte);
                1
            }
        };
        rest = special.get(taken..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Bytes that may need an escape: controls, quotes, `\`, the three of HTML, and the first byte of U+2028.
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x20 {
        set(&mut table, byte);
        byte += 1;
    }
    set(&mut table, b'"');
    set(&mut table, b'\\');
    set(&mut table, b'<');
    set(&mut table, b'>');
    set(&mut table, b'&');
    set(&mut table, 0xe2);
    table
};

#[expect(clippy::indexing_slicing, reason = "the table has a place for each byte; evaluated by the compiler")]
const fn set(table: &mut [bool; 256], byte: u8) {
    table[byte as usize] = true;
}

/// The position of the first byte that may need an escape. Compiles to comparisons of 16 bytes at a time.
#[expect(clippy::needless_bitwise_bool, reason = "lazy operators would be compiled to branches")]
fn first_special(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    let is_special = |&byte: &u8| SPECIAL.get(usize::from(byte)).copied().unwrap_or(false);
    let any = |block: &[u8; BLOCK]| {
        block.iter().fold(false, |any, &byte| {
            any | (byte < 0x20)
                | (byte == b'"')
                | (byte == b'\\')
                | (byte == b'<')
                | (byte == b'>')
                | (byte == b'&')
                | (byte == 0xe2)
        })
    };
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let clean = blocks.iter().take_while(|block| !any(block)).count() * BLOCK;
    bytes.iter().skip(clean).position(is_special).map(|position| clean + position)
}

fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let Some(end) = first_special(rest) else {
            out.extend_from_slice(rest);
            return;
        };
        let (plain, special) = rest.split_at(end);
        out.extend_from_slice(plain);
        let taken = match special {
            [0xe2, 0x80, 0xa8, ..] => escape(out, b"\\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => escape(out, b"\\u2029", 3),
            [0xe2, ..] => escape(out, b"\xe2", 1),
            [b'"', ..] => escape(out, b"\\\"", 1),
            [b'\\', ..] => escape(out, b"\\\\", 1),
            [b'\n', ..] => escape(out, b"\\n", 1),
            [b'\r', ..] => escape(out, b"\\r", 1),
            [b'\t', ..] => escape(out, b"\\t", 1),
            [0x08, ..] => escape(out, b"\\b", 1),
            [0x0c, ..] => escape(out, b"\\f", 1),
            [byte, ..] => {
                write_code(out, *byte);
                1
            }
            [] => return,
        };
        rest = special.get(taken..).unwrap_or_default();
    }
}

fn escape(out: &mut Vec<u8>, text: &[u8], taken: usize) -> usize {
    out.extend_from_slice(text);
    taken
}

fn write_code(out: &mut Vec<u8>, byte: u8) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
}

#[cfg(test)]
mod tests;
