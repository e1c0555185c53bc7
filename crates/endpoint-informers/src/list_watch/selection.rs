//! The part of a query that selects objects.

use std::fmt;

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

/// Percent-encodes every byte that is not safe in a query.
pub(super) fn escape(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}
