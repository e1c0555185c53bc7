//! Shard selectors (KEP-5866): ranges of the hash of a metadata field, `k8s.io/apiserver pkg/sharding`.
//!
//! ```text
//! shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || shardRange(…)
//! ```
//!
//! The API server parses the selector as CEL and then accepts this form only. This parser reads no other CEL, so that the
//! text of the error differs for expressions that are neither.

mod expression;

use expression::{Expression, parse};

use super::scan::metadata_text;
use crate::go_quote::quote as go_quote;
use crate::store::Stored;

/// Number of the uid in `ObjectMeta`.
const UID: u32 = 5;
/// The end of the last range.
const WHOLE: &str = "0x10000000000000000";

/// A shard selector: an object is selected if the hash of its field is in one of the ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShardSelector {
    field: Field,
    ranges: Vec<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Uid,
    Namespace,
}

/// From the start up to, but not including, the end. The end of the last range is 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start: u128,
    end: u128,
}

impl ShardSelector {
    /// Parses a selector.
    ///
    /// # Errors
    /// The message of the API server, without its `invalid shard selector: `.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let selector = selector.trim();
        if selector.is_empty() {
            return Err(
                "empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned()
            );
        }
        let alternatives =
            parse(selector).map_err(|error| format!("CEL parse error: Syntax error: {error}"))?;
        let ranges = alternatives.iter().map(shard_range).collect::<Result<Vec<_>, _>>()?;
        let field = ranges.first().map_or(Field::Uid, |(field, _)| *field);
        if let Some((other, _)) = ranges.iter().find(|(other, _)| *other != field) {
            let (field, other) = (go_quote(field.path()), go_quote(other.path()));
            return Err(format!("all shard ranges must use the same field, got {field} and {other}"));
        }
        Ok(Self { field, ranges: ranges.into_iter().map(|(_, range)| range).collect() })
    }

    /// True if an object is selected.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        let value = match self.field {
            Field::Uid => metadata_text(object.body(), UID),
            Field::Namespace => object.namespace().as_bytes(),
        };
        let hash = u128::from(fnv1a(value));
        self.ranges.iter().any(|range| range.start <= hash && hash < range.end)
    }
}

/// The canonical text, which lists repeat in `metadata.shardInfo`.
impl std::fmt::Display for ShardSelector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, Range { start, end }) in self.ranges.iter().enumerate() {
            let or = if index == 0 { "" } else { " || " };
            write!(formatter, "{or}shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.field.path())?;
        }
        Ok(())
    }
}

impl Field {
    fn path(self) -> &'static str {
        match self {
            Self::Uid => "object.metadata.uid",
            Self::Namespace => "object.metadata.namespace",
        }
    }
}

fn shard_range(expression: &Expression) -> Result<(Field, Range), String> {
    let Expression::Call { function, arguments } = expression else {
        let kind = expression.kind();
        return Err(format!("unexpected expression kind {kind}; expected shardRange() call or || operator"));
    };
    if function != "shardRange" {
        let function = go_quote(function);
        return Err(format!("unsupported function {function}; only shardRange() and || are allowed"));
    }
    let [path, start, end] = arguments.as_slice() else {
        return Err(format!("shardRange() requires exactly 3 arguments, got {}", arguments.len()));
    };
    let path = path.path().map_err(|kind| {
        format!(
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind {kind}"
        )
    })?;
    let field = match path.as_str() {
        "object.metadata.uid" => Field::Uid,
        "object.metadata.namespace" => Field::Namespace,
        other => {
            let other = go_quote(other);
            let supported = "supported: object.metadata.uid, object.metadata.namespace";
            return Err(format!("unsupported field path {other}; {supported}"));
        }
    };
    let (from, start) = bound(start, "hexStart")?;
    let (to, end) = bound(end, "hexEnd")?;
    if start >= end {
        return Err(format!("shard range start {from} must be less than end {to}"));
    }
    Ok((field, Range { start, end }))
}

/// A bound and its text.
fn bound<'a>(expression: &'a Expression, name: &str) -> Result<(&'a str, u128), String> {
    let text = match expression {
        Expression::Text(text) => text.as_str(),
        Expression::Literal(go_type) => {
            return Err(format!("{name} must be a string literal, got {go_type}"));
        }
        other => {
            let kind = other.kind();
            return Err(format!("{name} must be a string literal (e.g. '0xff'), got expression kind {kind}"));
        }
    };
    let quoted = go_quote(text);
    let Some(digits) = text.strip_prefix("0x") else {
        return Err(format!("{name} must have '0x' prefix, got {quoted}"));
    };
    if digits.is_empty() {
        return Err(format!("{name}: hex value is required after '0x'"));
    }
    if digits.len() > 17 {
        let (length, digits) = (digits.len(), go_quote(digits));
        return Err(format!("{name}: hex value too long ({length} chars, max 17): {digits}"));
    }
    if let Some(wrong) = digits.chars().find(|digit| !matches!(digit, '0'..='9' | 'a'..='f')) {
        let wrong = go_quote(&wrong.to_string());
        return Err(format!("{name}: invalid hex character {wrong} in {quoted}"));
    }
    if digits.len() == 17 && text != WHOLE {
        return Err(format!("{name}: 17-digit hex value must be '{WHOLE}' (2^64), got {quoted}"));
    }
    if digits.len() < 16 {
        let meant = go_quote(&format!("0x{digits:0>16}"));
        return Err(format!(
            "{name} must be a 0x-prefixed 16-digit hex value, got {quoted} (did you mean {meant}?)"
        ));
    }
    let value = u128::from_str_radix(digits, 16).map_err(|error| format!("{name}: {error}"))?;
    Ok((text, value))
}

/// FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
