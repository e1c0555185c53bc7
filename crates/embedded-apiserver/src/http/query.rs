//! The query of a request, as `net/url` and `runtime.ParameterCodec` of apimachinery read it.

use std::borrow::Cow;
use std::num::IntErrorKind;

use percent_encoding::percent_decode_str;

use crate::selectors::go_quote;
use crate::status::Status;

/// The parameters in their order. Malformed ones are left out, as `url.Query` does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        let decoded = pairs.filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(key)?, unescape(value)?))
        });
        Self(decoded.collect())
    }

    /// The first value.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value, empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.first(name).unwrap_or_default().to_owned()
    }

    /// All values.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// A boolean: everything is true but `0` and `false`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number.
    ///
    /// # Errors
    /// 400 with the words of `strconv.ParseInt`.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.first(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            let wrong = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {}: {wrong}", go_quote(text)))
        })
    }
}

/// Decodes `%41` and `+`. `None` if a percent sign is followed by anything but two hexadecimal digits.
fn unescape(text: &str) -> Option<String> {
    let text = if text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    decode_percent(&text)
}

/// Decodes `%41`. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn decode_percent(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let is_hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
    let bytes = text.as_bytes();
    let well_formed = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'%')
        .all(|(at, _)| is_hex(bytes.get(at + 1).copied()) && is_hex(bytes.get(at + 2).copied()));
    well_formed.then(|| percent_decode_str(text).decode_utf8_lossy().into_owned())
}
