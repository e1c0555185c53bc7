//! Booleans and numbers as Go reads them, with Go's error messages.

/// Reads a boolean (`strconv.ParseBool`).
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(invalid("ParseBool", text)),
    }
}

/// Reads a whole number with the prefixes of Go's literals, such as `0x1f` (`strconv.ParseInt` with base 0; without `_`
/// between digits).
pub fn parse_i32(text: &str) -> Result<i32, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = magnitude("ParseInt", text, digits)?;
    let value = if negative { magnitude.checked_neg() } else { Some(magnitude) };
    value.and_then(|value| i32::try_from(value).ok()).ok_or_else(|| out_of_range("ParseInt", text))
}

/// Reads a whole number that is not negative, like [`parse_i32`].
pub fn parse_u32(text: &str) -> Result<u32, String> {
    let magnitude = magnitude("ParseUint", text, text)?;
    u32::try_from(magnitude).map_err(|_| out_of_range("ParseUint", text))
}

fn magnitude(function: &str, text: &str, digits: &str) -> Result<i64, String> {
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)),
        [b'0', b'b', ..] => (2, lower.get(2..)),
        [b'0', b'o', ..] => (8, lower.get(2..)),
        [b'0', _, ..] => (8, lower.get(1..)),
        _ => (10, Some(lower.as_str())),
    };
    let digits = digits.unwrap_or_default();
    // from_str_radix takes a sign, which is gone by now.
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(invalid(function, text));
    }
    i64::from_str_radix(digits, radix).map_err(|_| out_of_range(function, text))
}

/// Reads a number (`strconv.ParseFloat`, without hexadecimal ones).
pub fn parse_f64(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| invalid("ParseFloat", text))
}

fn invalid(function: &str, text: &str) -> String {
    format!("strconv.{function}: parsing {text:?}: invalid syntax")
}

fn out_of_range(function: &str, text: &str) -> String {
    format!("strconv.{function}: parsing {text:?}: value out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_go_reads_them() {
        for (text, value) in [
            ("0", Some(0)),
            ("-7", Some(-7)),
            ("+7", Some(7)),
            ("0x1F", Some(31)),
            ("-0b101", Some(-5)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("2147483647", Some(i32::MAX)),
            ("-2147483648", Some(i32::MIN)),
            ("2147483648", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("--1", None),
            ("0x", None),
            ("0x-1", None),
            ("08", None),
            ("1.5", None),
            (" 1", None),
        ] {
            assert_eq!(parse_i32(text).ok(), value, "{text:?}");
        }
        assert_eq!(parse_u32("4294967295"), Ok(u32::MAX));
        assert_eq!(parse_u32("-1"), Err(r#"strconv.ParseUint: parsing "-1": invalid syntax"#.to_owned()));
        assert_eq!(
            parse_i32("3000000000"),
            Err(r#"strconv.ParseInt: parsing "3000000000": value out of range"#.to_owned())
        );
    }

    #[test]
    fn booleans_are_read_as_go_reads_them() {
        assert_eq!(parse_bool("T"), Ok(true));
        assert_eq!(parse_bool("0"), Ok(false));
        for wrong in ["", "yes", "tRUE", "on"] {
            let expected = format!("strconv.ParseBool: parsing {wrong:?}: invalid syntax");
            assert_eq!(parse_bool(wrong), Err(expected));
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        assert_eq!(parse_f64("-1.5e3"), Ok(-1500.0));
        assert_eq!(
            parse_f64("fast"),
            Err(r#"strconv.ParseFloat: parsing "fast": invalid syntax"#.to_owned())
        );
    }
}
