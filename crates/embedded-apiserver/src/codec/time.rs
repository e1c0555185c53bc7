//! Times: RFC 3339 as `time.Parse` of Go reads it and `metav1.Time` and `metav1.MicroTime` write it.

/// A moment: seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
}

/// The seconds of 0001-01-01T00:00:00Z, Go's zero time, which JSON writes as null.
const ZERO_SECONDS: i64 = -62_135_596_800;

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

impl Layout {
    const fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Parses a time.
///
/// # Errors
/// The text of Go's `time.ParseError`.
pub(super) fn parse(layout: Layout, text: &str) -> Result<Moment, String> {
    Parser { layout, text, rest: text }.parse()
}

/// Writes a time in UTC, without quotes. Cost: no allocation beyond that of `out`.
pub(super) fn write(layout: Layout, moment: Moment, out: &mut Vec<u8>) {
    let days = moment.seconds.div_euclid(86_400);
    let second = moment.seconds.rem_euclid(86_400);
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        digits(out, year, 4);
    } else {
        out.extend_from_slice(format!("{year:04}").as_bytes());
    }
    for (before, value) in
        [(b'-', month), (b'-', day), (b'T', second / 3600), (b':', second / 60 % 60), (b':', second % 60)]
    {
        out.push(before);
        digits(out, value, 2);
    }
    if layout == Layout::Micros {
        out.push(b'.');
        digits(out, i64::from(moment.nanos / 1000), 6);
    }
    out.push(b'Z');
}

/// Writes a time in UTC.
pub(super) fn to_string(layout: Layout, moment: Moment) -> String {
    let mut out = Vec::with_capacity(27);
    write(layout, moment, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn digits(out: &mut Vec<u8>, mut value: i64, width: usize) {
    let mut text = [b'0'; 6];
    for place in text.iter_mut().take(width).rev() {
        *place = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
    }
    out.extend(text.iter().take(width));
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

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A literal as Go's package `time` prints it in errors: bytes that are not ASCII in hexadecimal.
fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => out.extend([r"\x", &format!("{byte:02x}")]),
        }
    }
    out.push('"');
    out
}

/// Follows `time.parse` for the chunks of the two layouts.
struct Parser<'a> {
    layout: Layout,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn parse(mut self) -> Result<Moment, String> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.two_digits("01", true)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.two_digits("02", true)?;
        self.literal("T")?;
        let hour = self.two_digits("15", false)?;
        if hour > 23 {
            return Err(self.out_of_range("hour"));
        }
        self.literal(":")?;
        let minute = self.two_digits("04", true)?;
        if minute > 59 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(":")?;
        let second = self.two_digits("05", true)?;
        if second > 59 {
            return Err(self.out_of_range("second"));
        }
        let nanos = self.fraction()?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            let rest = self.rest;
            return Err(self.error("", rest, &format!(": extra text: {}", quote(rest))));
        }
        if day < 1 || day > days_in(month, year) {
            return Err(self.out_of_range("day"));
        }
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Ok(Moment { seconds, nanos })
    }

    fn year(&mut self) -> Result<i64, String> {
        let rest = self.rest;
        let year = rest.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(year) = year.and_then(|year| year.parse().ok()) else {
            return Err(self.error("2006", rest, ""));
        };
        self.rest = rest.get(4..).unwrap_or_default();
        Ok(year)
    }

    /// A number of two digits, or also of one unless `fixed`.
    fn two_digits(&mut self, chunk: &str, fixed: bool) -> Result<i64, String> {
        let rest = self.rest;
        let digit = |index: usize| {
            rest.as_bytes().get(index).filter(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'))
        };
        let (value, length) = match (digit(0), digit(1)) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(value), None) if !fixed => (value, 1),
            _ => return Err(self.error(chunk, rest, "")),
        };
        self.rest = rest.get(length..).unwrap_or_default();
        Ok(value)
    }

    /// The nanoseconds of a fraction, which only the layout with microseconds demands.
    fn fraction(&mut self) -> Result<u32, String> {
        let rest = self.rest;
        let separated = rest.starts_with(['.', ',']);
        let after = rest.get(1..).unwrap_or_default();
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        let length = match self.layout {
            Layout::Seconds if separated && count > 0 => count,
            Layout::Seconds => return Ok(0),
            Layout::Micros => {
                // Go's conversion accepts a sign
                let value =
                    after.get(..6).filter(|_| separated).and_then(|digits| digits.parse::<i32>().ok());
                let value = value.ok_or_else(|| self.error(".000000", rest, ""))?;
                self.rest = after.get(6..).unwrap_or_default();
                let value = u32::try_from(value).map_err(|_| self.out_of_range("fractional second"))?;
                return Ok(value * 1000);
            }
        };
        let digits = after.get(..length.min(9)).unwrap_or_default();
        let value: u32 = digits.parse().unwrap_or(0);
        let missing = u32::try_from(9 - digits.len()).unwrap_or(0);
        self.rest = after.get(length..).unwrap_or_default();
        Ok(value * 10_u32.pow(missing))
    }

    /// The offset in seconds.
    fn zone(&mut self) -> Result<i64, String> {
        const CHUNK: &str = "Z07:00";
        let rest = self.rest;
        if let Some(after) = rest.strip_prefix('Z') {
            self.rest = after;
            return Ok(0);
        }
        let [sign, h1, h2, b':', m1, m2, ..] = *rest.as_bytes() else {
            return Err(self.error(CHUNK, rest, ""));
        };
        let number = |tens: u8, ones: u8| {
            (tens.is_ascii_digit() && ones.is_ascii_digit())
                .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
        };
        self.rest = rest.get(6..).unwrap_or_default();
        let (hours, minutes) = (number(h1, h2), number(m1, m2));
        // Go checks the ranges before the digits
        if hours.is_some_and(|hours| hours > 24) {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if hours.is_some() && minutes.is_some_and(|minutes| minutes > 60) {
            return Err(self.out_of_range("time zone offset minute"));
        }
        match (sign, hours, minutes) {
            (b'+', Some(hours), Some(minutes)) => Ok(hours * 3600 + minutes * 60),
            (b'-', Some(hours), Some(minutes)) => Ok(-(hours * 3600 + minutes * 60)),
            _ => Err(self.error(CHUNK, rest, "")),
        }
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        let rest = self.rest;
        self.rest = rest.strip_prefix(literal).ok_or_else(|| self.error(literal, rest, ""))?;
        Ok(())
    }

    fn out_of_range(&self, what: &str) -> String {
        self.error("", self.rest, &format!(": {what} out of range"))
    }

    fn error(&self, chunk: &str, value: &'a str, message: &str) -> String {
        let text = quote(self.text);
        if message.is_empty() {
            let layout = quote(self.layout.text());
            return format!(
                "parsing time {text} as {layout}: cannot parse {} as {}",
                quote(value),
                quote(chunk)
            );
        }
        format!("parsing time {text}{message}")
    }
}

#[cfg(test)]
mod tests;
