//! Values of flags that are more than a text or a number.

use std::net::IpAddr;
use std::str::FromStr;

use crate::strconv::{parse_bool, parse_i32, parse_u32};

/// klog's `-v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLevel(pub(crate) u32);

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_u32(text).map(Self)
    }
}

/// An amount of memory, of which only zero is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub(crate) is_zero: bool,
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number_end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
        let (number, suffix) = text.split_at(number_end);
        let suffixes = ["", "n", "u", "m", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti", "P", "Pi", "E", "Ei"];
        match number.parse::<f64>() {
            Ok(number) if suffixes.contains(&suffix) => Ok(Self { is_zero: number == 0.0 }),
            _ => Err(format!("{text:?} is not a quantity such as 0, 512 or 64Ki")),
        }
    }
}

/// One value of `--tls-curve-preferences`: numbers with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Curves(pub(crate) Vec<i32>);

impl FromStr for Curves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|number| parse_i32(number.trim())).collect::<Result<_, _>>().map(Self)
    }
}

/// What `--version` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionRequest {
    Nothing,
    Line,
    Raw,
}

impl FromStr for VersionRequest {
    type Err = String;

    /// Upstream also takes a version that it shall claim to be. That is refused here.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "raw" => Ok(Self::Raw),
            _ => parse_bool(text).map(|line| if line { Self::Line } else { Self::Nothing }),
        }
    }
}

/// Reads an address.
pub(super) fn ip(text: &str) -> Result<IpAddr, String> {
    text.trim().parse().map_err(|_| format!("failed to parse IP: {text:?}"))
}
