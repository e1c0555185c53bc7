use super::*;

#[test]
fn what_is_not_printable_is_escaped() {
    let text = "a\"\\\n\u{1}\u{7f}\u{85}ü\u{a0}\u{200b}\u{fffd}\u{10fffd}";
    assert_eq!(quote(text), "\"a\\\"\\\\\\n\\x01\\x7f\\u0085ü\\u00a0\\u200b\u{fffd}\\U0010fffd\"");
}
