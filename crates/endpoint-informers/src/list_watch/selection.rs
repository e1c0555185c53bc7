//! The part of a query that selects objects.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// The selectors of a list-watch; by default, none, which selects all objects.
///
/// Displayed as parameters that follow others: `&labelSelector=…&fieldSelector=…`.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (parameter, selector) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields)] {
            if let Some(selector) = selector {
                write!(f, "&{parameter}={}", escape(selector))?;
            }
        }
        Ok(())
    }
}

/// Bytes that are not safe in a query.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes every byte that is not safe in a query.
pub(super) fn escape(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, UNSAFE)
}
