use super::*;
use crate::codec::tests::testdata::texts;

#[test]
fn times_are_parsed_and_refused_as_by_go() {
    let mut wrong = Vec::new();
    for (kind, layout) in [("seconds", Layout::Seconds), ("micros", Layout::Micros)] {
        for (text, want) in texts(kind) {
            let have = match parse(layout, &text) {
                Ok(moment) if moment.is_zero() => "null".to_owned(),
                Ok(moment) => to_string(layout, moment),
                Err(error) => error,
            };
            if have != want {
                wrong.push(format!("{layout:?} {text:?}: {have} instead of {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
