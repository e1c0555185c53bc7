//! The `Warning` header: `k8s.io/apiserver pkg/endpoints/filters/warning.go`.

use http::{HeaderMap, HeaderName, HeaderValue};

const WARNING: HeaderName = http::header::WARNING;
/// Characters of all texts together, beyond which each is cut.
const ALL: usize = 4 * 1024;
/// Characters of a text that is cut.
const ONE: usize = 256;

/// Adds the texts, each once.
pub(crate) fn write(headers: &mut HeaderMap, texts: &[String]) {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        if !text.is_empty() && !seen.contains(&text.as_str()) {
            seen.push(text);
        }
    }
    let total: usize = seen.iter().map(|text| text.chars().count()).sum();
    let mut written = 0;
    for text in seen {
        let text: String = if total > ALL { text.chars().take(ONE).collect() } else { text.to_owned() };
        if total > ALL && written >= ALL {
            return;
        }
        written += text.chars().count();
        if let Some(value) = value(&text) {
            headers.append(WARNING, value);
        }
    }
}

/// `net.NewWarningHeader`: nothing for texts with control characters.
fn value(text: &str) -> Option<HeaderValue> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}
