//! Problems of the input, as one line each.

use super::document::Unreadable;
use super::object::Origin;
use super::position;
use super::source::Source;

/// `web.yaml: document 2: reason (line 14)`.
pub fn unreadable(source: &Source, error: &Unreadable) -> String {
    sentence(&source.name, error.document, &error.reason, error.line)
}

/// The same with a field of an object: `web.yaml: document 2: items[3].spec.ports[0].port: reason (line 14)`. `field` may be
/// empty.
pub fn of_field(sources: &[Source], origin: &Origin, field: &str, reason: &str) -> String {
    let Some(source) = sources.get(origin.source) else { return reason.to_owned() };
    let line = position::line(&source.text, origin.document, &origin.path, field);
    let joint = if origin.path.is_empty() || field.is_empty() || field.starts_with('[') { "" } else { "." };
    let path = format!("{}{joint}{field}", origin.path);
    let reason = if path.is_empty() { reason.to_owned() } else { format!("{path}: {reason}") };
    sentence(&source.name, origin.document, &reason, line)
}

fn sentence(name: &str, document: usize, reason: &str, line: Option<usize>) -> String {
    let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    format!("{name}: document {document}: {reason}{line}")
}
