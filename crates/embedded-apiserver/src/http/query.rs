//! The query of a request, as `net/url` and `runtime.ParameterCodec` of apimachinery read it.

use percent_encoding::percent_decode_str;

use crate::selectors::go_quote;
use crate::status::Status;

/// The parameters in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
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
    /// Errors: 400 for something else.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.first(name) else { return Ok(None) };
        let wrong = |_: std::num::ParseIntError| {
            Status::bad_request(format!("{name} is not a number: {}", go_quote(text)))
        };
        text.parse().map(Some).map_err(wrong)
    }
}

/// Decodes `%41` in a path. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn decode_percent(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
