use super::*;
use crate::codec::tests::testdata::texts;

#[test]
fn quantities_have_the_canonical_form_of_go() {
    let mut wrong = Vec::new();
    for (text, want) in texts("quantity") {
        let have = canonical(&text).map_or_else(str::to_owned, Cow::into_owned);
        if have != want {
            wrong.push(format!("{text:?}: {have} instead of {want}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
