//! Quantities: `resource.Quantity` of apimachinery, as text only.
//!
//! `ParseQuantity` followed by `String`: "0.5" is "500m", "1024Mi" is "1Gi", "1.5Gi" is "1536Mi". Numbers that are already in
//! canonical form keep their spelling, as in Go.

use std::borrow::Cow;

const MALFORMED: &str =
    r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const BAD_NUMBER: &str = "unable to parse numeric part of quantity";
const BAD_SUFFIX: &str = "unable to parse quantity's suffix";

/// Decimal digits that an int64 holds in any case.
const INT64_DIGITS: i64 = 18;
/// The smallest unit is 10^-9.
const NANO: i64 = -9;
/// Exponents beyond this are refused if the number has more digits than an int64. Go would compute for ages.
const MAX_EXPONENT: i64 = 10_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

/// The canonical form of a quantity.
///
/// Cost: a scan without allocation if it is canonical already, as most are.
///
/// # Errors
/// Go's text for numbers or suffixes that cannot be parsed.
pub(crate) fn canonical(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if text.is_empty() {
        return Err(MALFORMED);
    }
    if text == "0" {
        return Ok(Cow::Borrowed(text));
    }
    let parts = Parts::split(text)?;
    let (exponent, format) = interpret(parts.suffix).ok_or(BAD_SUFFIX)?;
    match parts.fast(exponent, format) {
        Fast::Canonical => Ok(Cow::Borrowed(text)),
        Fast::Amount(amount) => Ok(Cow::Owned(amount.print(format))),
        Fast::TooLarge => parts.slow(exponent, format).map(Cow::Owned),
    }
}

/// The value of a quantity in billionths, rounded away from zero as in Go. Absent if it is no quantity; saturates beyond
/// 10^29.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    let parts = Parts::split(text).ok().filter(|parts| parts.has_digits)?;
    let (exponent, format) = interpret(parts.suffix)?;
    let (factor, exponent) = match format {
        Format::BinarySi => (1_i128 << exponent.clamp(0, 62), 0),
        _ => (1, exponent),
    };
    let digits = parts.integer.bytes().chain(parts.fraction.bytes());
    let digits =
        digits.fold(0_i128, |value, digit| value.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    let value = digits.saturating_mul(factor);
    let power = exponent - NANO - i64::try_from(parts.fraction.len()).ok()?;
    let ten = u32::try_from(power.unsigned_abs()).ok().and_then(|power| 10_i128.checked_pow(power));
    let ten = ten.unwrap_or(i128::MAX);
    let size = if power < 0 { value / ten + i128::from(value % ten != 0) } else { value.saturating_mul(ten) };
    Some(if parts.negative { -size } else { size })
}

/// A number in pieces. Leading zeros of `integer` are cut off; it is "0" if nothing is left.
struct Parts<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// True if there are digits at all. Go takes a lone sign or point for 0, unless it needs big numbers.
    has_digits: bool,
}

enum Fast {
    /// The text is canonical.
    Canonical,
    Amount(Amount),
    /// It has too many digits for an int64.
    TooLarge,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        let has_digits = rest.trim_start_matches('.').starts_with(|first: char| first.is_ascii_digit());
        let (integer, rest) = digits(rest.trim_start_matches('0'));
        let integer = if integer.is_empty() { "0" } else { integer };
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let letters = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MALFORMED);
        }
        Ok(Self { negative, integer, fraction, suffix, has_digits })
    }

    /// The value as Go computes it in an int64.
    fn fast(&self, exponent: i64, format: Format) -> Fast {
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let (mut scale, precision, factor) = match format {
            Format::BinarySi if self.fraction.is_empty() => {
                (0, 15 - length(self.integer) - exponent * 3 / 10 - 1, 1_i64 << exponent.clamp(0, 62))
            }
            Format::BinarySi => return Fast::TooLarge,
            _ => (exponent, INT64_DIGITS - length(self.integer) - length(self.fraction), 1),
        };
        if precision < 0 {
            return Fast::TooLarge;
        }
        scale -= length(self.fraction);
        if scale < NANO {
            return Fast::TooLarge;
        }
        let digits = self.integer.bytes().chain(self.fraction.bytes());
        // at most 18 digits, which fit
        let value =
            digits.fold(0_i64, |value, digit| value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')));
        let Some(product) = value.checked_mul(factor) else { return Fast::TooLarge };
        let last = if self.fraction.is_empty() { self.integer } else { self.fraction };
        let thousands = value != 0 && value % 1000 == 0 && self.integer.len() + self.fraction.len() >= 3;
        let canonical = match format {
            Format::BinarySi => exponent % 10 == 0 && value & 7 != 0,
            _ => scale % 3 == 0 && !thousands && !self.integer.starts_with('0') && !last.is_empty(),
        };
        if canonical {
            return Fast::Canonical;
        }
        Fast::Amount(Amount { negative: self.negative, digits: product.to_string(), exponent: scale })
    }

    /// The value as Go computes it with big numbers: rounded up to 10^-9, and binary numbers capped at the largest int64.
    fn slow(&self, exponent: i64, mut format: Format) -> Result<String, &'static str> {
        if !self.has_digits {
            return Err(BAD_NUMBER);
        }
        let mut digits: Vec<u8> =
            self.integer.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0').collect();
        let mut scale = -i64::try_from(self.fraction.len()).map_err(|_| BAD_NUMBER)?;
        if format == Format::BinarySi {
            for _ in 0..exponent / 10 {
                multiply(&mut digits, 1024);
            }
        } else {
            if exponent.abs() > MAX_EXPONENT {
                return Err(BAD_NUMBER);
            }
            scale += exponent;
        }
        round_up(&mut digits, &mut scale);
        let mut amount = Amount {
            negative: self.negative,
            digits: digits.iter().map(|digit| char::from(b'0' + digit)).collect(),
            exponent: scale,
        };
        if format == Format::BinarySi {
            match amount.ceiling() {
                Some(0 | 1) if amount.is_fraction() => format = Format::DecimalSi,
                Some(_) => {}
                None => {
                    amount.digits = i64::MAX.to_string();
                    amount.exponent = 0;
                }
            }
        }
        Ok(amount.print(format))
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The exponent of a suffix, of 2 for binary suffixes and of 10 for all others.
fn interpret(suffix: &str) -> Option<(i64, Format)> {
    let (exponent, format) = match suffix {
        "" => (0, Format::DecimalSi),
        "n" => (-9, Format::DecimalSi),
        "u" => (-6, Format::DecimalSi),
        "m" => (-3, Format::DecimalSi),
        "k" => (3, Format::DecimalSi),
        "M" => (6, Format::DecimalSi),
        "G" => (9, Format::DecimalSi),
        "T" => (12, Format::DecimalSi),
        "P" => (15, Format::DecimalSi),
        "E" => (18, Format::DecimalSi),
        "Ki" => (10, Format::BinarySi),
        "Mi" => (20, Format::BinarySi),
        "Gi" => (30, Format::BinarySi),
        "Ti" => (40, Format::BinarySi),
        "Pi" => (50, Format::BinarySi),
        "Ei" => (60, Format::BinarySi),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
            // Go keeps the lower 32 bits of such exponents, which do not occur
            (i64::from(i32::try_from(exponent).ok()?), Format::DecimalExponent)
        }
    };
    Some((exponent, format))
}

/// Digits times 10 to the exponent.
struct Amount {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Amount {
    fn print(&self, format: Format) -> String {
        if self.digits.bytes().all(|digit| digit == b'0') {
            return "0".to_owned();
        }
        if format == Format::BinarySi
            && let Some(value) = self.integer()
            && value >= 1024
        {
            return self.print_binary(value);
        }
        self.print_decimal(format)
    }

    fn print_binary(&self, mut value: i64) -> String {
        const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let mut times = 0;
        while value >= 1024 && value % 1024 == 0 {
            value /= 1024;
            times += 1;
        }
        format!("{}{value}{}", self.sign(), SUFFIXES.get(times).unwrap_or(&""))
    }

    fn print_decimal(&self, format: Format) -> String {
        let digits = self.digits.trim_start_matches('0');
        let mut mantissa = digits.trim_end_matches('0').to_owned();
        let cut = i64::try_from(digits.len() - mantissa.len()).unwrap_or(0);
        let mut exponent = self.exponent.saturating_add(cut);
        while exponent % 3 != 0 {
            mantissa.push('0');
            exponent -= 1;
        }
        let suffix = match (format, exponent) {
            (_, 0) => String::new(),
            (Format::DecimalExponent, exponent) => format!("e{exponent}"),
            // binary numbers without a binary form are printed as decimal ones; other exponents have no suffix in Go either
            (_, exponent) => decimal_suffix(exponent).to_owned(),
        };
        format!("{}{mantissa}{suffix}", self.sign())
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// The absolute value, if it is an integer and fits into an int64.
    fn integer(&self) -> Option<i64> {
        if self.is_fraction() { None } else { self.ceiling() }
    }

    fn is_fraction(&self) -> bool {
        self.split().1.bytes().any(|digit| digit != b'0')
    }

    /// The absolute value rounded up, if it fits into an int64.
    fn ceiling(&self) -> Option<i64> {
        let whole = self.split().0;
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        if self.exponent > 0 {
            let factor = 10_i64.checked_pow(u32::try_from(self.exponent).ok()?)?;
            return whole.checked_mul(factor);
        }
        whole.checked_add(i64::from(self.is_fraction()))
    }

    /// The digits before and after the decimal point.
    fn split(&self) -> (&str, &str) {
        let fraction = usize::try_from(-self.exponent).unwrap_or(0);
        let split = self.digits.len().saturating_sub(fraction);
        self.digits.split_at_checked(split).unwrap_or((&self.digits, ""))
    }
}

fn decimal_suffix(exponent: i64) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

/// Multiplies decimal digits, most significant first.
fn multiply(digits: &mut Vec<u8>, factor: u32) {
    let mut carry = 0;
    for digit in digits.iter_mut().rev() {
        let product = u32::from(*digit) * factor + carry;
        *digit = u8::try_from(product % 10).unwrap_or(0);
        carry = product / 10;
    }
    let mut front = Vec::new();
    while carry > 0 {
        front.push(u8::try_from(carry % 10).unwrap_or(0));
        carry /= 10;
    }
    front.reverse();
    digits.splice(0..0, front);
}

/// Drops digits below 10^-9, away from zero.
fn round_up(digits: &mut Vec<u8>, scale: &mut i64) {
    let drop = usize::try_from(NANO.saturating_sub(*scale)).unwrap_or(0);
    if drop == 0 {
        return;
    }
    let keep = digits.len().saturating_sub(drop);
    let inexact = digits.iter().skip(keep).any(|&digit| digit != 0);
    digits.truncate(keep);
    *scale = NANO;
    if inexact {
        for digit in digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        digits.insert(0, 1);
    }
}

#[cfg(test)]
mod tests;
