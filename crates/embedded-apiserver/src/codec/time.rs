//! Times: RFC 3339, as `metav1.Time` and `metav1.MicroTime` write it.

use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::text::quote;

/// Go's zero time, which JSON writes as null.
const ZERO: DateTime = date(1, 1, 1).at(0, 0, 0, 0);
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
/// The years 0 to 9999 in seconds since 1970. Other times are brought here.
const YEARS: (i64, i64) = (-62_167_219_200, 253_402_300_799);

/// The two layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `metav1.Time`: seconds; fractions are read and dropped.
    Seconds,
    /// `metav1.MicroTime`: exactly six digits of fraction.
    Micros,
}

impl Layout {
    /// The layout and the format of the time in Go and in jiff.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Seconds => ("2006-01-02T15:04:05Z07:00", "%Y-%m-%dT%H:%M:%SZ"),
            Self::Micros => ("2006-01-02T15:04:05.000000Z07:00", "%Y-%m-%dT%H:%M:%S%.6fZ"),
        }
    }
}

/// The canonical form of a time.
/// Errors: the text of Go's `time.ParseError`, as if it were the year that is malformed.
pub(super) fn parse(layout: Layout, text: &str) -> Result<Value, String> {
    let wrong = |part: &str, chunk: &str| {
        let (layout, _) = layout.texts();
        let [text, layout, part, chunk] = [text, layout, part, chunk].map(quote);
        format!("parsing time {text} as {layout}: cannot parse {part} as {chunk}")
    };
    let moment = read(text).ok_or_else(|| wrong(text, "2006"))?;
    let fraction = text.get(19..).unwrap_or_default();
    let digits = fraction.strip_prefix('.').and_then(|digits| digits.get(..6));
    let has_micros = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if layout == Layout::Micros && !has_micros {
        return Err(wrong(fraction, ".000000"));
    }
    Ok(canonical(layout, moment))
}

/// Reads a time as one of UTC.
fn read(text: &str) -> Option<DateTime> {
    if text.starts_with(['-', '+']) {
        return None;
    }
    // Timestamps of jiff end a day before the last year does.
    let of_last_day = || text.strip_suffix('Z').filter(|text| text.starts_with("9999-12-3"))?.parse().ok();
    let moment = text.parse::<Timestamp>().ok();
    moment.map(|moment| TimeZone::UTC.to_datetime(moment)).or_else(of_last_day)
}

fn canonical(layout: Layout, moment: DateTime) -> Value {
    if moment == ZERO { Value::Null } else { moment.strftime(layout.texts().1).to_string().into() }
}

/// The canonical form of a `Timestamp` of protobuf.
pub(super) fn of_parts(layout: Layout, seconds: i64, nanos: i32) -> Value {
    let time = SignedDuration::new(seconds.clamp(YEARS.0, YEARS.1), nanos.clamp(0, 999_999_999));
    canonical(layout, EPOCH.saturating_add(time))
}

/// The seconds and nanoseconds of a canonical time; `None` for null.
pub(super) fn parts(canonical: &Value) -> Option<(i64, i64)> {
    let nanos = read(canonical.as_str()?)?.duration_since(EPOCH).as_nanos();
    let part = |part: i128| i64::try_from(part).unwrap_or_default();
    Some((part(nanos.div_euclid(1_000_000_000)), part(nanos.rem_euclid(1_000_000_000))))
}

#[cfg(test)]
mod tests;
