use super::*;
use crate::codec::tests::testdata::texts;

/// Go keeps some other spellings, such as `+1` and `1.250`, and caps binary quantities at 2^63.
#[test]
fn quantities_have_the_canonical_form_of_go() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (text, want) in texts("quantity") {
        let is_canonical = canonical(&want).as_deref() == Ok(&want);
        if let Ok(have) = canonical(&text)
            && is_canonical
            && !want.ends_with(&i64::MAX.to_string())
        {
            compared += 1;
            if have != want {
                wrong.push(format!("{text:?}: {have} instead of {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 20, "{compared}");
}

#[test]
fn quantities_have_values() {
    for (text, value) in
        [("0", 0), ("500m", 500_000_000), ("1.5", 1_500_000_000), ("1Ki", 1_024_000_000_000), ("1n", 1)]
    {
        assert_eq!(nanos(text), Some(value), "{text}");
    }
    for text in ["", "x", "1x", "1.2.3", "-", "."] {
        assert_eq!(nanos(text), None, "{text}");
    }
}
