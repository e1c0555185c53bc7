//! The types of plain scalars in YAML 1.1, as go-yaml v2 resolves them.

use serde_json::Value;

/// The value of a plain scalar. Timestamps are texts, as go-yaml reads them without a type.
pub(super) fn value(text: &str) -> Value {
    if matches!(text, "" | "~") || is_word(text) && text.eq_ignore_ascii_case("null") {
        return Value::Null;
    }
    if let Some(value) = boolean(text) {
        return Value::Bool(value);
    }
    if is_number(text) {
        let plain = if text.starts_with('.') { text.to_owned() } else { text.replace('_', "") };
        if let Some(value) = integer(&plain) {
            return value;
        }
        if is_float(&plain)
            && let Ok(value) = plain.parse::<f64>()
            && value.is_finite()
        {
            return value.into();
        }
    }
    text.into()
}

fn boolean(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let value = match lower.as_str() {
        "true" | "yes" | "on" | "y" => true,
        "false" | "no" | "off" | "n" => false,
        _ => return None,
    };
    has_known_case(text, &lower).then_some(value)
}

/// True if a plain scalar of this text is something else than a string, so that a string needs quotes.
pub(super) fn is_no_string(text: &str) -> bool {
    is_word(text) || is_number(text) || is_timestamp(text) || is_base_60(text)
}

/// Booleans, nulls, infinities and the merge key.
fn is_word(text: &str) -> bool {
    let words =
        ["true", "yes", "on", "y", "false", "no", "off", "n", "null", ".nan", ".inf", "+.inf", "-.inf"];
    let lower = text.to_ascii_lowercase();
    let known = words.contains(&lower.as_str()) && has_known_case(text, &lower);
    known || matches!(text, "" | "~" | "<<" | ".NaN")
}

/// All lower, all upper, or the first letter upper.
fn has_known_case(text: &str, lower: &str) -> bool {
    let letters: String = text.chars().filter(char::is_ascii_alphabetic).collect();
    let upper = letters.chars().all(|letter| letter.is_ascii_uppercase());
    let title = letters.chars().skip(1).all(|letter| letter.is_ascii_lowercase());
    text == lower || upper || (title && lower != ".nan")
}

fn is_number(text: &str) -> bool {
    let Some(first) = text.bytes().next() else { return false };
    match first {
        b'.' => is_float(text),
        b'+' | b'-' | b'0'..=b'9' => {
            let plain = text.replace('_', "");
            is_integer(&plain) || is_float(&plain)
        }
        _ => false,
    }
}

fn is_integer(text: &str) -> bool {
    integer(text).is_some()
}

/// The value if Go's `ParseInt` with base 0 or `ParseUint` accepts it.
fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (lower.get(2..), 16),
        Some("0o") => (lower.get(2..), 8),
        Some("0b") => (lower.get(2..), 2),
        Some(_) if lower.starts_with('0') => (lower.get(1..), 8),
        _ => (Some(lower.as_str()), 10),
    };
    let digits = digits.filter(|digits| !digits.starts_with('+'))?;
    let value = u64::from_str_radix(digits, radix).ok()?;
    if text.starts_with('-') {
        return 0_i64.checked_sub_unsigned(value).map(Value::from);
    }
    // with a sign, Go accepts only what an int64 has
    if text.starts_with('+') { i64::try_from(value).ok().map(Value::from) } else { Some(value.into()) }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (number, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    mantissa_fits && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// Dates, and dates with a time of day.
fn is_timestamp(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(text.find(['T', 't', ' ']).unwrap_or(text.len())) else {
        return false;
    };
    let parts: Vec<_> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let short = |part: &str, most: u32| {
        (1..=2).contains(&part.len()) && part.parse::<u32>().is_ok_and(|value| (1..=most).contains(&value))
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    year.len() == 4
        && digits(year)
        && short(month, 12)
        && short(day, 31)
        && (time.is_empty() || is_time_of_day(time))
}

/// `T15:4:5.9Z`, or ` 15:4:5.9` without a zone.
fn is_time_of_day(text: &str) -> bool {
    let zoned = !text.starts_with(' ');
    let Some(time) = text.get(1..) else { return false };
    let end = time
        .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, ':' | '.'))
        .unwrap_or(time.len());
    let Some((clock, zone)) = time.split_at_checked(end) else { return false };
    let clock = clock.split_once('.').map_or(clock, |(clock, _)| clock);
    let parts: Vec<_> = clock.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    let below = |part: &str, limit: u32| {
        (1..=2).contains(&part.len()) && part.parse::<u32>().is_ok_and(|value| value < limit)
    };
    let is_zone = match zone.as_bytes() {
        [] => !zoned,
        [b'Z'] => zoned,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            zoned && [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit())
        }
        _ => false,
    };
    below(hour, 24) && below(minute, 60) && below(second, 60) && is_zone
}

/// Numbers such as `1:30:00`, which other parsers of YAML 1.1 take for sexagesimal.
fn is_base_60(text: &str) -> bool {
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = number.split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest: Vec<_> = parts.collect();
    let Some(last) = rest.pop() else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let minutes = |text: &str| matches!(text.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let (seconds, fraction) = last.split_once('.').unwrap_or((last, ""));
    first.starts_with(|digit: char| digit.is_ascii_digit())
        && digits(first)
        && rest.iter().all(|part| minutes(part))
        && minutes(seconds)
        && digits(fraction)
}
