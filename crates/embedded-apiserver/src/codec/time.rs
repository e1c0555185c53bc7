//! Times: RFC 3339, as `metav1.Time` and `metav1.MicroTime` write it.

use jiff::Timestamp;
use serde_json::Value;

use super::text::quote;

/// Go's zero time, which JSON writes as null.
const ZERO: Timestamp = Timestamp::constant(-62_135_596_800, 0);
/// The year 0 in seconds since 1970. Earlier times are brought here.
const FIRST: i64 = -62_167_219_200;

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
    let moment: Timestamp = text.parse().map_err(|_| wrong(text, "2006"))?;
    let fraction = text.get(19..).unwrap_or_default();
    let digits = fraction.strip_prefix('.').and_then(|digits| digits.get(..6));
    let has_micros = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if layout == Layout::Micros && !has_micros {
        return Err(wrong(fraction, ".000000"));
    }
    Ok(canonical(layout, moment))
}

fn canonical(layout: Layout, moment: Timestamp) -> Value {
    if moment == ZERO { Value::Null } else { moment.strftime(layout.texts().1).to_string().into() }
}

/// The canonical form of a `Timestamp` of protobuf.
pub(super) fn of_parts(layout: Layout, seconds: i64, nanos: i32) -> Value {
    let seconds = seconds.clamp(FIRST, Timestamp::MAX.as_second());
    let nanos = i128::from(nanos.clamp(0, 999_999_999));
    let moment = Timestamp::from_nanosecond(i128::from(seconds) * 1_000_000_000 + nanos);
    canonical(layout, moment.unwrap_or(Timestamp::MAX))
}

/// The seconds and nanoseconds of a canonical time; `None` for null.
pub(super) fn parts(canonical: &Value) -> Option<(i64, i64)> {
    let moment: Timestamp = canonical.as_str()?.parse().ok()?;
    let nanos = moment.as_nanosecond();
    let part = |part: i128| i64::try_from(part).unwrap_or_default();
    Some((part(nanos.div_euclid(1_000_000_000)), part(nanos.rem_euclid(1_000_000_000))))
}

#[cfg(test)]
mod tests;
