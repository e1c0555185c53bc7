use super::*;

fn written(text: &str) -> String {
    let mut out = Vec::new();
    write_str(&mut out, text);
    String::from_utf8(out).unwrap()
}

#[test]
fn strings_are_escaped_as_in_go() {
    assert_eq!(written("plain"), r#""plain""#);
    assert_eq!(written("<a href=\"x\">&\\"), r#""\u003ca href=\"x\"\u003e\u0026\\""#);
    assert_eq!(written("\x00\x07\x08\x0c\n\r\t\x1f\x7f"), "\"\\u0000\\u0007\\b\\f\\n\\r\\t\\u001f\x7f\"");
    assert_eq!(written("\u{2028}\u{2029}\u{2030}ü😀"), "\"\\u2028\\u2029\u{2030}ü😀\"");
}

#[test]
fn json_text_is_copied_with_html_escaped() {
    let mut out = Vec::new();
    write_json(&mut out, "{\"a<b\":\"\u{2028}\u{2030}&\"}".as_bytes());
    assert_eq!(String::from_utf8(out).unwrap(), "{\"a\\u003cb\":\"\\u2028\u{2030}\\u0026\"}");
}
