//! Durations as Go writes them.

use std::time::Duration;

/// Reads a duration such as `1h30m`, `1.5s` or `300ms` (Go's `time.ParseDuration`, with its messages). Negative ones are
/// refused: no flag has a use for them.
pub fn parse_go_duration(text: &str) -> Result<Duration, String> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned.starts_with('-') && parse_unsigned(text, unsigned.trim_start_matches('-')).is_ok() {
        return Err(format!("{text:?} is negative"));
    }
    parse_unsigned(text, unsigned)
}

fn parse_unsigned(text: &str, unsigned: &str) -> Result<Duration, String> {
    let malformed = || format!("time: invalid duration {text:?}");
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(malformed());
    }
    let mut total = Duration::ZERO;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let number: f64 = number.parse().map_err(|_| malformed())?;
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let seconds =
            unit_seconds(unit).ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        let part = Duration::try_from_secs_f64(number * seconds).ok();
        total = part.and_then(|part| total.checked_add(part)).filter(fits).ok_or_else(malformed)?;
        rest = tail;
    }
    Ok(total)
}

/// Go counts nanoseconds in 63 bits.
fn fits(duration: &Duration) -> bool {
    i64::try_from(duration.as_nanos()).is_ok()
}

fn unit_seconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" | "µs" | "μs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

/// Writes a duration in Go's canonical form, such as `12h0m0s`, `1.5s` or `300ms` (`Duration.String`).
pub fn format_go_duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let (unit, size) = match nanoseconds {
        0 => return "0s".to_owned(),
        1..1_000 => ("ns", 1),
        1_000..1_000_000 => ("µs", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    if unit != "s" {
        return format!("{}{unit}", decimal(nanoseconds, size));
    }
    let minutes = duration.as_secs() / 60;
    let seconds = decimal(nanoseconds % 60_000_000_000, size);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// `number / size`, with as many digits after the point as it takes.
fn decimal(number: u128, size: u128) -> String {
    let (whole, fraction) = (number / size, number % size);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = format!("{:0width$}", fraction, width = size.ilog10() as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_formatted_duration_is_parsed_to_the_same_value(nanoseconds in 0..=i64::MAX.unsigned_abs() / 1000) {
            // Below 104 days a double holds all nanoseconds of each part.
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse_go_duration(&format_go_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), like in "[-+0-9.hmsnuµ]{0,12}") {
            drop(parse_go_duration(&text));
            drop(parse_go_duration(&like));
        }
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("0", Some(0.0)),
            ("0s", Some(0.0)),
            ("1h30m", Some(5400.0)),
            ("1.5s", Some(1.5)),
            ("300ms", Some(0.3)),
            ("+2m", Some(120.0)),
            (".5s", Some(0.5)),
            ("1µs", Some(1e-6)),
            ("12h0m0s", Some(43200.0)),
            ("", None),
            ("+", None),
            ("s", None),
            ("1s ", None),
            ("1..5s", None),
            ("99999999999999999999h", None),
            ("2562048h", None),
        ] {
            let read = parse_go_duration(text).ok().map(|duration| duration.as_secs_f64());
            assert_eq!(read, seconds, "{text:?}");
        }
    }

    #[test]
    fn errors_have_gos_messages() {
        for (text, message) in [
            ("5", r#"time: missing unit in duration "5""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("fast", r#"time: invalid duration "fast""#),
            ("-fast", r#"time: invalid duration "-fast""#),
            ("-1s", r#""-1s" is negative"#),
        ] {
            assert_eq!(parse_go_duration(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for text in
            ["0s", "1ns", "1.5µs", "300ms", "1.000000001s", "1.5s", "59s", "1m0s", "1h0m0.25s", "12h0m0s"]
        {
            assert_eq!(format_go_duration(parse_go_duration(text).unwrap()), text);
        }
        assert_eq!(format_go_duration(Duration::from_secs(5400)), "1h30m0s");
    }
}
