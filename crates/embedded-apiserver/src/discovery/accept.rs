//! Media ranges of an `Accept` header, best first.

use http::HeaderMap;
use http::header::ACCEPT;

/// One media range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Accepted {
    /// `application/json`
    pub(crate) media_type: String,
    /// Its parameters, without `q`.
    pub(crate) parameters: Vec<(String, String)>,
    quality: f32,
}

impl Accepted {
    /// All ranges of the header, by quality, else in the client's order. No header means `*/*`.
    pub(crate) fn of(headers: &HeaderMap) -> Vec<Self> {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut ranges: Vec<_> = values.flat_map(|value| value.split(',')).map(Self::parse).collect();
        if ranges.is_empty() {
            ranges.push(Self::parse("*/*"));
        }
        ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        ranges
    }

    fn parse(range: &str) -> Self {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let mut accepted = Self { media_type, parameters: Vec::new(), quality: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name == "q" {
                accepted.quality = value.parse().unwrap_or(1.0);
            } else {
                accepted.parameters.push((name.to_owned(), value.to_owned()));
            }
        }
        accepted
    }

    /// The value of a parameter; empty if absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// True if the range includes this media type, regardless of parameters.
    pub(crate) fn includes(&self, media_type: &str) -> bool {
        match self.media_type.strip_suffix("/*") {
            Some("*") => true,
            Some(class) => media_type.split('/').next() == Some(class),
            None => self.media_type == media_type,
        }
    }
}
