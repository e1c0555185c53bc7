use super::*;
use crate::codec::testdata::texts;

/// What Go refuses may be accepted. A fraction has at most nine digits here.
#[test]
fn times_are_read_and_written_as_by_go() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (kind, layout) in [("seconds", Layout::Seconds), ("micros", Layout::Micros)] {
        for (text, want) in texts(kind) {
            let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if want.starts_with("parsing time") || digits > 9 {
                continue;
            }
            let have = match parse(layout, &text) {
                Ok(moment) if moment.is_zero() => "null".to_owned(),
                Ok(moment) => to_string(layout, moment),
                Err(error) => error,
            };
            count += 1;
            if have != want {
                wrong.push(format!("{layout:?} {text:?}: {have} instead of {want}"));
            }
        }
    }
    assert!(count > 100, "{count} times");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_no_time_is_refused() {
    let refused = parse(Layout::Seconds, "soon").unwrap_err();
    let wanted = r#"parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006""#;
    assert_eq!(refused, wanted);
    assert!(parse(Layout::Seconds, "20240102T030405Z").is_err());
}

#[test]
fn micro_times_have_six_digits_of_fraction() {
    for (text, rest, part) in [
        ("2024-01-02T03:04:06Z", "Z", ".000000"),
        ("2024-01-02T03:04:06.6Z", ".6Z", ".000000"),
        ("2024-01-02T03:04:06.0000001Z", "1Z", "Z07:00"),
    ] {
        let wanted = format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse {rest:?} as {part:?}"
        );
        assert_eq!(parse(Layout::Micros, text).unwrap_err(), wanted);
        assert!(parse(Layout::Seconds, text).is_ok());
    }
}
