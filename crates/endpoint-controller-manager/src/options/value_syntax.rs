//! Syntax of values that are more than a text or a number.

use std::net::{IpAddr, Ipv4Addr};

use go_text::strconv::{parse_bool, parse_i32};

/// Reads an amount of memory, and tells whether it is zero, the only one that is supported.
pub(super) fn is_zero_quantity(text: &str) -> Result<bool, String> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(number_end);
    let suffixes = ["", "n", "u", "m", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti", "P", "Pi", "E", "Ei"];
    match number.parse::<f64>() {
        Ok(number) if suffixes.contains(&suffix) => Ok(number == 0.0),
        _ => Err(format!("{text:?} is not a quantity such as 0, 512 or 64Ki")),
    }
}

/// Reads a list, a line of CSV (RFC 4180), with the words of Go's `encoding/csv` for errors. The line may have an end, as
/// a block of YAML has.
pub(super) fn elements(text: &str) -> Result<Vec<String>, String> {
    let mut elements = Vec::new();
    let mut rest = Some(text.trim_end_matches(['\r', '\n'])).filter(|text| !text.is_empty());
    while let Some(text) = rest {
        let (element, after) = if let Some(text) = text.strip_prefix('"') {
            quoted(text).ok_or("extraneous or missing \" in quoted-field")?
        } else {
            let (element, after) = text.split_once(',').map_or((text, None), |(it, after)| (it, Some(after)));
            if element.contains('"') {
                return Err("bare \" in non-quoted-field".to_owned());
            }
            (element.to_owned(), after)
        };
        elements.push(element);
        rest = after;
    }
    Ok(elements)
}

/// An element after its first quote, and what follows its comma; none if its quotes are wrong.
fn quoted(text: &str) -> Option<(String, Option<&str>)> {
    let (mut element, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once('"')?;
        element.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                element.push('"');
                rest = after;
            }
            None if after.is_empty() => return Some((element, None)),
            None => return Some((element, Some(after.strip_prefix(',')?))),
        }
    }
}

/// Reads one value of `--tls-curve-preferences`: numbers with commas.
pub(super) fn curves(text: &str) -> Result<Vec<i32>, String> {
    text.split(',').map(|number| parse_i32(number.trim())).collect()
}

/// Reads an address; nothing means all interfaces. As in Go, an IPv4 address in the form of IPv6 is one of IPv4.
pub(super) fn ip(text: &str) -> Result<IpAddr, String> {
    if text.is_empty() {
        return Ok(Ipv4Addr::UNSPECIFIED.into());
    }
    let address = text.trim().parse::<IpAddr>().map_err(|_| format!("failed to parse IP: {text:?}"));
    address.map(|address| address.to_canonical())
}

/// The value of `--version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VersionRequest {
    #[default]
    None,
    Line,
    Raw,
}

/// Reads the value of `--version`. Upstream also takes a version to report instead of its own, which is refused here.
pub(super) fn version_request(text: &str) -> Result<VersionRequest, String> {
    match text {
        "raw" => Ok(VersionRequest::Raw),
        _ => parse_bool(text).map(|line| if line { VersionRequest::Line } else { VersionRequest::None }),
    }
}
