//! JSON strings as Go's encoder writes them: `<`, `>`, `&`, U+2028 and U+2029 are escaped too.

/// Writes a string with its quotes.
#[inline]
pub(crate) fn write_str(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_escaped(out, text);
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

fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    // Controls, quotes, `\`, the three of HTML, and the first byte of U+2028.
    let is_special = |byte: &u8| matches!(*byte, 0..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2);
    loop {
        let Some(end) = rest.iter().position(is_special) else {
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
mod tests {
    use super::*;

    fn written(text: &[u8]) -> String {
        let mut out = Vec::new();
        write_str(&mut out, std::str::from_utf8(text).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_escaped_as_in_go() {
        assert_eq!(written(b"plain"), r#""plain""#);
        assert_eq!(written(b"<a href=\"x\">&\\"), r#""\u003ca href=\"x\"\u003e\u0026\\""#);
        assert_eq!(
            written(b"\x00\x07\x08\x0c\n\r\t\x1f\x7f"),
            "\"\\u0000\\u0007\\b\\f\\n\\r\\t\\u001f\x7f\""
        );
        assert_eq!(written("\u{2028}\u{2029}\u{2030}ü😀".as_bytes()), "\"\\u2028\\u2029\u{2030}ü😀\"");
    }

    #[test]
    fn json_text_is_copied_with_html_escaped() {
        let mut out = Vec::new();
        write_json(&mut out, "{\"a<b\":\"\u{2028}\u{2030}&\"}".as_bytes());
        assert_eq!(String::from_utf8(out).unwrap(), "{\"a\\u003cb\":\"\\u2028\u{2030}\\u0026\"}");
    }
}
