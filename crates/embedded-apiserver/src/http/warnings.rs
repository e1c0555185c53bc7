//! The `Warning` header: `k8s.io/apiserver pkg/endpoints/filters/warning.go`.

use http::{HeaderMap, HeaderName, HeaderValue};

const WARNING: HeaderName = http::header::WARNING;

/// Adds the texts, each once.
pub(crate) fn write(headers: &mut HeaderMap, texts: &[String]) {
    for (at, text) in texts.iter().enumerate() {
        let is_first = !texts.iter().take(at).any(|before| before == text);
        if let Some(value) = value(text).filter(|_| is_first) {
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
