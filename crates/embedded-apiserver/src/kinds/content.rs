//! Formats of names, label keys and ports, with the messages of `k8s.io/apimachinery/pkg/util/validation` and
//! `pkg/api/validate/content`. A function returns one message for each rule that the value breaks.

/// A check of an object's name; the flag says that it is a prefix of names (`metadata.generateName`).
pub(super) type NameRule = fn(&str, bool) -> Vec<String>;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Nothing but what a path segment of a URL needs.
pub(crate) fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| name.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// `NameIsDNSSubdomain`.
pub(super) fn subdomain_name(name: &str, prefix: bool) -> Vec<String> {
    if prefix { dns_subdomain(&mask_trailing_dash(name)) } else { dns_subdomain(name) }
}

/// `NameIsDNSLabel`.
pub(super) fn label_name(name: &str, prefix: bool) -> Vec<String> {
    if prefix { dns_label(&mask_trailing_dash(name)) } else { dns_label(name) }
}

/// Replaces the last two characters of a prefix with a dash at its end by one that may stand at the end of a name.
fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => name.to_owned(),
    }
}

/// `IsDNS1123Label`.
pub(crate) fn dns_label(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(value) {
        messages.push(if is_subdomain(value) { "must not contain dots" } else { LABEL }.to_owned());
    }
    messages
}

/// `IsDNS1123Subdomain`.
pub(super) fn dns_subdomain(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 253 {
        messages.push("must be no more than 253 characters".to_owned());
    }
    if !is_subdomain(value) {
        messages.push(SUBDOMAIN.to_owned());
    }
    messages
}

/// `IsQualifiedName`, which is `IsLabelKey`.
pub(crate) fn qualified_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut parts = value.split('/');
    let (name, prefix) = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => (name, None),
        (Some(prefix), Some(name), None) => (name, Some(prefix)),
        _ => {
            return vec![format!(
                "a valid label key {KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            messages.push("prefix part must be non-empty".to_owned());
        } else {
            if prefix.len() > 253 {
                messages.push("prefix part must be no more than 253 bytes".to_owned());
            }
            if !is_subdomain(prefix) {
                messages.push(format!("prefix part {SUBDOMAIN}"));
            }
        }
    }
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        messages.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_key(name) {
        messages.push(format!("name part {KEY_RULE}"));
    }
    messages
}

/// `IsValidLabelValue`.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > 63 {
        messages.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_key(value) {
        messages.push(LABEL_VALUE.to_owned());
    }
    messages
}

/// `IsValidPortName`.
pub(super) fn port_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut say = |message: &str| messages.push(message.to_owned());
    if value.len() > 15 {
        say("must be no more than 15 characters");
    }
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        say("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !value.bytes().any(|b| b.is_ascii_lowercase()) {
        say("must contain at least one letter (a-z)");
    }
    if value.contains("--") {
        say("must not contain consecutive hyphens");
    }
    if value.starts_with('-') || value.ends_with('-') {
        say("must not begin or end with a hyphen");
    }
    messages
}

/// `IsValidPortNum`.
pub(super) fn port_number(port: i64) -> Option<&'static str> {
    (!(1..=65535).contains(&port)).then_some("must be between 1 and 65535, inclusive")
}

fn is_label(value: &str) -> bool {
    is_word(value, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-")
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_key(value: &str) -> bool {
    is_word(value, |b| b.is_ascii_alphanumeric(), b"-_.")
}

/// True if the value begins and ends with bytes of a kind, and has these or `others` between them.
fn is_word(value: &str, is_edge: impl Fn(u8) -> bool, others: &[u8]) -> bool {
    let ends = [value.bytes().next(), value.bytes().next_back()];
    ends.into_iter().all(|end| end.is_some_and(&is_edge))
        && value.bytes().all(|b| is_edge(b) || others.contains(&b))
}
