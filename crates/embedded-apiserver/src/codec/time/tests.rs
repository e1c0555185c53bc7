use super::*;
use crate::codec::tests::testdata::texts;

/// In texts that both read; jiff reads some others than Go.
#[test]
fn times_have_the_canonical_form_of_go() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (kind, layout) in [("seconds", Layout::Seconds), ("micros", Layout::Micros)] {
        for (text, want) in texts(kind) {
            let have = match parse(layout, &text) {
                Ok(Value::Null) => "null".to_owned(),
                Ok(time) => time.as_str().unwrap().to_owned(),
                Err(error) => error,
            };
            let is_read = |text: &str| !text.starts_with("parsing time");
            compared += usize::from(is_read(&have) && is_read(&want));
            if have != want && is_read(&have) == is_read(&want) && is_read(&want) {
                wrong.push(format!("{layout:?} {text:?}: {have} instead of {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 20, "{compared}");
}

#[test]
fn what_is_not_a_time_is_refused_in_the_words_of_go() {
    let refused = |layout, text| parse(layout, text).unwrap_err();
    assert_eq!(
        refused(Layout::Seconds, "text"),
        r#"parsing time "text" as "2006-01-02T15:04:05Z07:00": cannot parse "text" as "2006""#
    );
    assert_eq!(
        refused(Layout::Micros, "2024-01-02T03:04:06Z"),
        r#"parsing time "2024-01-02T03:04:06Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
    );
}

#[test]
fn the_last_day_is_read_and_written() {
    for text in
        ["9999-12-31T23:59:59Z", "9999-12-30T21:59:59Z", "0001-01-01T00:00:01Z", "1969-12-31T23:59:59Z"]
    {
        let time = parse(Layout::Seconds, text).unwrap();
        assert_eq!(time, text);
        let (seconds, nanos) = parts(&time).unwrap();
        assert_eq!(of_parts(Layout::Seconds, seconds, i32::try_from(nanos).unwrap()), text);
    }
    assert_eq!(of_parts(Layout::Seconds, i64::MAX, 0), "9999-12-31T23:59:59Z");
    assert!(parse(Layout::Seconds, "-000001-01-01T00:00:00Z").is_err());
}
