//! Checks that several kinds share.

use serde_json::Value;

use super::content;
use super::field::{Errors, Path};

/// The protocols of ports, sorted.
pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// `ValidateDNS1123Label`.
pub(super) fn label(value: &str, path: &Path<'_>, errors: &mut Errors) {
    errors.invalid_each(path, value, &content::dns_label(value));
}

/// `ValidateDNS1123Subdomain`, which is also the rule of node names.
pub(super) fn subdomain(value: &str, path: &Path<'_>, errors: &mut Errors) {
    errors.invalid_each(path, value, &content::dns_subdomain(value));
}

/// `ValidateQualifiedName`.
pub(super) fn qualified(value: &str, path: &Path<'_>, errors: &mut Errors) {
    errors.invalid_each(path, value, &content::qualified_name(value));
}

/// `IsValidPortNum`.
pub(super) fn port(number: i64, path: &Path<'_>, errors: &mut Errors) {
    if let Some(message) = content::port_number(number) {
        errors.invalid(path, number, message);
    }
}

/// `ValidatePortNumOrName`. An absent port is 0.
pub(super) fn port_or_name(port_or_name: &Value, path: &Path<'_>, errors: &mut Errors) {
    match port_or_name.as_str() {
        Some(name) => errors.invalid_each(path, name, &content::port_name(name)),
        None => port(port_or_name.as_i64().unwrap_or_default(), path, errors),
    }
}

/// A string of a named type that must be one of a few. An empty one is missing.
pub(super) fn one_of(value: &str, known: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    } else if !known.contains(&value) {
        errors.not_supported(path, Value::from(value), known);
    }
}
