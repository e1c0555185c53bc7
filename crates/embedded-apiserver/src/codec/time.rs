//! Times: RFC 3339 as `metav1.Time` and `metav1.MicroTime` write it.

use std::io::Write as _;

use jiff::Timestamp;

/// A moment: seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
}

/// The seconds of 0001-01-01T00:00:00Z, Go's zero time, which JSON writes as null.
pub(super) const ZERO_SECONDS: i64 = -62_135_596_800;

impl Moment {
    pub(super) const ZERO: Self = Self { seconds: ZERO_SECONDS, nanos: 0 };

    pub(super) fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// The part of a time that an encoding of this layout keeps.
    pub(super) fn rounded(self, layout: Layout) -> Self {
        let nanos = if layout == Layout::Micros { self.nanos / 1000 * 1000 } else { 0 };
        Self { nanos, ..self }
    }
}

/// The two layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `metav1.Time`: seconds; fractions are read and dropped.
    Seconds,
    /// `metav1.MicroTime`: exactly six digits of fraction.
    Micros,
}

/// Bytes of a time up to its seconds.
const TO_SECONDS: usize = 19;

/// True if a time is spelled as `2006-01-02T15:04:05` up to its seconds, of several ways in ISO 8601.
fn is_extended(text: &str) -> bool {
    let fits = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        10 => *byte == b'T',
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    };
    text.len() > TO_SECONDS && text.as_bytes().iter().enumerate().take(TO_SECONDS).all(fits)
}

/// Parses a time. The error is Go's for a text that does not begin with a year, or has another fraction than the layout.
pub(super) fn parse(layout: Layout, text: &str) -> Result<Moment, String> {
    let wrong = |rest: &str, part: &str| {
        let layout = match layout {
            Layout::Seconds => "2006-01-02T15:04:05Z07:00",
            Layout::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
    };
    let time: Option<Timestamp> = text.parse().ok().filter(|_| is_extended(text));
    let time = time.ok_or_else(|| wrong(text, "2006"))?;
    if layout == Layout::Micros {
        let rest = text.get(TO_SECONDS..).unwrap_or_default();
        let after = rest.strip_prefix(['.', ',']).unwrap_or_default();
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or_default();
        match end {
            6 => {}
            7.. => return Err(wrong(after.get(6..).unwrap_or_default(), "Z07:00")),
            _ => return Err(wrong(rest, ".000000")),
        }
    }
    let (seconds, nanos) = (time.as_second(), i64::from(time.subsec_nanosecond()));
    // Fractions of times before 1970 are negative.
    let seconds = seconds + nanos.div_euclid(1_000_000_000);
    Ok(Moment { seconds, nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or_default() })
}

/// Writes a time in UTC, without quotes. Cost: no allocation beyond that of `out`.
pub(super) fn write(layout: Layout, moment: Moment, out: &mut Vec<u8>) {
    let (year, month, day) = civil(moment.seconds.div_euclid(86_400));
    let second = moment.seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // A Vec accepts all bytes.
    _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if layout == Layout::Micros {
        _ = write!(out, ".{:06}", moment.nanos / 1000);
    }
    out.push(b'Z');
}

/// Writes a time in UTC.
pub(super) fn to_string(layout: Layout, moment: Moment) -> String {
    let mut out = Vec::with_capacity(27);
    write(layout, moment, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // eras of 400 years that begin on 1 March, so that leap days are at their ends
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
