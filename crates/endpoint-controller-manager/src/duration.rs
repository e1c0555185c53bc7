//! Durations as Go writes them.

use std::time::Duration;

/// Reads a duration such as `1h30m`, `1.5s` or `300ms` (Go's `time.ParseDuration`). Negative ones are refused: no flag
/// here has a use for them.
pub(crate) fn parse_go_duration(text: &str) -> Result<Duration, String> {
    let malformed = || format!("{text:?} is not a duration such as 1h30m, 1.5s or 300ms");
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.starts_with('-') {
        return Err(format!("{text:?} is negative"));
    }
    let mut total = Duration::ZERO;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(malformed)?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let number: f64 = number.parse().map_err(|_| malformed())?;
        let part = Duration::try_from_secs_f64(number * unit_seconds(unit).ok_or_else(malformed)?);
        total = part.ok().and_then(|part| total.checked_add(part)).ok_or_else(malformed)?;
        rest = tail;
    }
    if unsigned.is_empty() { Err(malformed()) } else { Ok(total) }
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

#[cfg(test)]
mod tests {
    use super::*;

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
            ("5", None),
            ("s", None),
            ("1d", None),
            ("-1s", None),
            ("1s ", None),
            ("1..5s", None),
            ("99999999999999999999h", None),
        ] {
            let read = parse_go_duration(text).ok().map(|duration| duration.as_secs_f64());
            assert_eq!(read, seconds, "{text:?}");
        }
    }
}
