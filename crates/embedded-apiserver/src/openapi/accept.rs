//! Media ranges of an `Accept` header, best first.

use http::HeaderMap;
use http::header::ACCEPT;

/// One media range, without its parameters.
#[derive(Debug)]
pub(super) struct Accepted {
    /// `application/json`
    pub(super) media_type: String,
    quality: f32,
}

impl Accepted {
    /// All ranges of the header, by quality, else in the client's order. No header means `*/*`.
    pub(super) fn of(headers: &HeaderMap) -> Vec<Self> {
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
        let quality = parts.filter_map(|part| part.split_once('=')).rfind(|(name, _)| name.trim() == "q");
        let quality = quality.and_then(|(_, value)| value.trim().trim_matches('"').parse().ok());
        Self { media_type, quality: quality.unwrap_or(1.0) }
    }

    /// True if the range includes this media type, regardless of parameters.
    pub(super) fn includes(&self, media_type: &str) -> bool {
        match self.media_type.strip_suffix("/*") {
            Some("*") => true,
            Some(class) => media_type.split('/').next() == Some(class),
            None => self.media_type == media_type,
        }
    }
}
