//! Quantities such as `500m` and `1Gi`: `k8s.io/apimachinery/pkg/api/resource`, as far as rules compare them.

use serde_json::Value;

use super::field::{Errors, Path};

/// Resources that are counted.
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// `ValidateResourceQuantityValue`: not negative, and whole if the resource is counted.
pub(super) fn validate(resource: &str, quantity: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(value) = nanos(quantity) else {
        return;
    };
    if value < 0 {
        let text = quantity.as_str().unwrap_or_default();
        errors.invalid(path, text, "must be greater than or equal to 0");
    }
    let is_extended = resource.contains('/') && !resource.contains("kubernetes.io/");
    if (is_extended || COUNTED.contains(&resource)) && value / 1_000_000 % 1_000 != 0 {
        errors.invalid(path, quantity, "must be an integer");
    }
}

/// The value in billionths. Absent if it is no quantity; saturates beyond 10^29.
pub(super) fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let scale = Scale::parse(suffix)?;
    // Digits beyond a billionth are cut; Go rounds them up.
    let mut nanos: i128 = 0;
    let padded = whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(9));
    for digit in padded {
        nanos = nanos.saturating_mul(10).saturating_add(i128::from(digit.wrapping_sub(b'0')));
    }
    Some(scale.apply(nanos).saturating_mul(sign))
}

enum Scale {
    Ten(i32),
    Two(u32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::Ten(0),
            "n" => Self::Ten(-9),
            "u" => Self::Ten(-6),
            "m" => Self::Ten(-3),
            "k" => Self::Ten(3),
            "M" => Self::Ten(6),
            "G" => Self::Ten(9),
            "T" => Self::Ten(12),
            "P" => Self::Ten(15),
            "E" => Self::Ten(18),
            "Ki" => Self::Two(10),
            "Mi" => Self::Two(20),
            "Gi" => Self::Two(30),
            "Ti" => Self::Two(40),
            "Pi" => Self::Two(50),
            "Ei" => Self::Two(60),
            _ => Self::Ten(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }

    fn apply(&self, nanos: i128) -> i128 {
        match self {
            Self::Two(bits) => nanos.saturating_mul(1 << bits),
            Self::Ten(power @ 0..) => {
                let factor = 10_i128.checked_pow(power.unsigned_abs()).unwrap_or(i128::MAX);
                nanos.saturating_mul(factor)
            }
            Self::Ten(power) => nanos / 10_i128.checked_pow(power.unsigned_abs()).unwrap_or(i128::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
