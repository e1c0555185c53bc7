//! Quantities: `resource.Quantity` of apimachinery, as text only.

const MALFORMED: &str =
    r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Suffixes and their powers of ten. The smallest unit is a billionth.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// Suffixes of the powers of 1024.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

/// The canonical form of a quantity: "0.5" is "500m", "1024Mi" is "1Gi", "1.5Gi" is "1536Mi".
pub(super) fn canonical(text: &str) -> Result<String, &'static str> {
    let (nanos, format) = parse(text).ok_or(MALFORMED)?;
    Ok(print(nanos, format))
}

/// The value of a quantity in billionths. Absent if it is not one.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    parse(text).map(|(nanos, _)| nanos)
}

/// The value in billionths, rounded away from zero as in Go.
fn parse(text: &str) -> Option<(i128, Format)> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (power, factor, format) = interpret(suffix)?;
    let digits = [integer, fraction].concat().parse::<i128>().ok()?.checked_mul(factor)?;
    let power = power.saturating_add(9).saturating_sub(i32::try_from(fraction.len()).ok()?);
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    let size =
        if power < 0 { digits / ten + i128::from(digits % ten != 0) } else { digits.checked_mul(ten)? };
    Some((if is_negative { -size } else { size }, format))
}

/// The power of ten and the factor of a suffix.
fn interpret(suffix: &str) -> Option<(i32, i128, Format)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((*power, 1, Format::DecimalSi));
    }
    if let Some(at) = BINARY.iter().position(|name| *name == suffix) {
        return Some((0, 1024 << (10 * at), Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((exponent, 1, Format::DecimalExponent))
}

fn print(nanos: i128, format: Format) -> String {
    const UNIT: i128 = 1_000_000_000;
    let sign = if nanos < 0 { "-" } else { "" };
    let mut value = nanos.abs();
    if value == 0 {
        return "0".to_owned();
    }
    if format == Format::BinarySi && value % UNIT == 0 && value >= 1024 * UNIT {
        value /= UNIT;
        let mut suffix = "";
        for larger in BINARY {
            if value % 1024 != 0 {
                break;
            }
            value /= 1024;
            suffix = larger;
        }
        return format!("{sign}{value}{suffix}");
    }
    let (mut suffix, mut power) = ("n", -9);
    for (larger, of_larger) in DECIMAL.into_iter().skip(1) {
        if value % 1000 != 0 {
            break;
        }
        value /= 1000;
        (suffix, power) = (larger, of_larger);
    }
    match format {
        Format::DecimalExponent if power != 0 => format!("{sign}{value}e{power}"),
        _ => format!("{sign}{value}{suffix}"),
    }
}

#[cfg(test)]
mod tests;
