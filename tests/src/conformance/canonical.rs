//! Replaces what two equal servers choose freely (uids, times, versions, allocated addresses) by tokens, and keeps what is
//! determined about it: equality, order of versions, families, ranges, seconds until a deletion.

use std::collections::HashMap;

use jiff::Timestamp;

use super::tree::Tree;

/// Values of one server in the order in which a sequence got to know them.
///
/// The token of a value is its number. Both servers show their values in the same order, or else something differs.
#[derive(Debug, Default)]
pub(crate) struct Canonical {
    numbers: HashMap<String, usize>,
    /// Versions of objects, ascending.
    versions: Vec<u64>,
    /// Tokens of times that were in the future when they were first seen. The one of two servers that answers later may see
    /// the end of a pod's grace period.
    ends: HashMap<i64, &'static str>,
}

/// The suffix of generated names.
const SUFFIX: usize = 5;
/// The generator's names for objects whose names the server completes begin with this and a number.
pub(crate) const GENERATED: &str = "gn";
/// Node ports that no request asks for: the part of [`super::NODE_PORTS`] from which the server chooses first.
const CHOSEN_PORTS: std::ops::RangeInclusive<u64> = 30_128..=65_535;
/// A continue token, or another opaque text.
const OPAQUE: &str = "⟦opaque⟧";
/// The class of times that are not far ahead.
const NOW: &str = "now";
/// The generator's own uids begin with this.
const OWN_UIDS: &str = "00000000-";
/// Versions above are the generator's, and never reached.
const MAX_VERSION: u64 = 1_000_000_000;

impl Canonical {
    /// Replaces in a document.
    pub(crate) fn tree(&mut self, tree: &mut Tree) {
        self.walk("", tree);
    }

    fn walk(&mut self, key: &str, tree: &mut Tree) {
        match tree {
            Tree::Null | Tree::Bool(_) => {}
            Tree::Number(number) => {
                if let Some(token) = number.parse().ok().and_then(|value| self.port(value)) {
                    *number = token;
                }
            }
            Tree::Text(text) => self.field(key, text),
            Tree::List(items) => {
                for item in items.iter_mut() {
                    self.walk(key, item);
                }
                if key == "managedFields"
                    || (key == "causes" && items.iter().all(is_conflict))
                    || (key == "finalizers" && items.iter().any(is_collectors))
                {
                    items.sort_by_cached_key(Tree::print);
                }
            }
            Tree::Object(fields) => {
                if let Some(token) = self.time_message(fields) {
                    *tree = Tree::Text(token);
                    return;
                }
                let is_object =
                    key == "metadata" && fields.iter().any(|(key, _)| key == "name" || key == "uid");
                for (name, value) in fields.iter_mut() {
                    match (key, name.as_str(), value) {
                        ("metadata", "resourceVersion", Tree::Text(text)) => {
                            *text = if is_object { self.version(text) } else { self.rank(text) };
                        }
                        (_, name, value) => self.walk(name, value),
                    }
                    if name.len() > SUFFIX {
                        *name = self.text(name);
                    }
                }
                if is_object {
                    sort_repeated(fields);
                }
            }
        }
    }

    fn field(&mut self, key: &str, text: &mut String) {
        match key {
            _ if text.is_empty() => {}
            "continue" => OPAQUE.clone_into(text),
            "token" if text.split('.').count() == 3 => "⟦token⟧".clone_into(text),
            "cells" if is_age(text) => "⟦age⟧".clone_into(text),
            _ => *text = self.text(text),
        }
    }

    /// Replaces in a bookmark that comes at any time: its version says nothing.
    pub(crate) fn bookmark(&mut self, tree: &mut Tree) {
        if let Tree::Object(fields) = tree {
            for (_, value) in fields.iter_mut() {
                if let Tree::Object(fields) = value {
                    fields.retain(|(key, _)| key != "resourceVersion");
                }
            }
        }
        self.tree(tree);
    }

    /// The version of an object: its number, and for a new one its rank among those known.
    fn version(&mut self, text: &str) -> String {
        let Ok(version) = text.parse() else { return text.to_owned() };
        let name = format!("version {version}");
        if let Some(number) = self.numbers.get(&name) {
            return format!("⟦version {number}⟧");
        }
        let rank = self.versions.partition_point(|known| *known < version);
        self.versions.insert(rank, version);
        let token = self.number(name, "version");
        format!("{token} after {rank}")
    }

    /// Replaces in the lines of a page, so that a line with a version does not affect the numbers of others.
    pub(crate) fn lines(&mut self, text: &str) -> Vec<String> {
        text.split('\n').map(|line| self.text(line)).collect()
    }

    /// The version of a list or bookmark: only its rank, because other sequences write meanwhile.
    fn rank(&self, text: &str) -> String {
        match text.parse() {
            Ok(0) | Err(_) => text.to_owned(),
            Ok(version) => {
                format!(
                    "⟦version of list after {}⟧",
                    self.versions.partition_point(|known| *known <= version)
                )
            }
        }
    }

    fn number(&mut self, name: String, what: &str) -> String {
        let next = self.numbers.len();
        format!("⟦{what} {}⟧", self.numbers.entry(name).or_insert(next))
    }

    /// The token of a time.
    fn time(&mut self, time: Timestamp) -> Option<String> {
        let time = time.as_second();
        let class = match self.ends.get(&time) {
            Some(class) => class,
            None => time_class(time - Timestamp::now().as_second())?,
        };
        if class != NOW {
            self.ends.insert(time, class);
        }
        Some(format!("⟦{class}⟧"))
    }

    /// A `Time` in protobuf: seconds and nanoseconds.
    fn time_message(&mut self, fields: &[(String, Tree)]) -> Option<String> {
        let [(first, Tree::Number(seconds)), (second, Tree::Number(nanoseconds))] = fields else {
            return None;
        };
        if first != "1" || second != "2" {
            return None;
        }
        let token = self.time(Timestamp::from_second(seconds.parse().ok()?).ok()?)?;
        let fraction = if nanoseconds == "0" { "" } else { " with fraction" };
        Some(format!("{token}{fraction}"))
    }

    fn port(&mut self, number: u64) -> Option<String> {
        CHOSEN_PORTS.contains(&number).then(|| self.number(format!("port {number}"), "node port"))
    }

    /// Replaces in a text, which may be a whole page.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let versions = text.contains("esource version") || text.contains("esourceVersion");
        // Which of two families is named first is chance.
        if let Some((before, after)) = text.split_once("failed to allocate IP ")
            && let Some((address, after)) = after.split_once(": ")
            && address.parse::<std::net::IpAddr>().is_ok()
        {
            return format!("{}failed to allocate IP ⟦address⟧: {}", self.text(before), self.text(after));
        }
        // The real server's may be a later one: it stores the addresses of Services as objects.
        if let Some((before, after)) = text.split_once(", current: ")
            && before.contains("Too large resource version: ")
        {
            let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
            return format!("{}, current: ⟦some version⟧{}", self.text(before), self.text(rest));
        }
        let printed = without_printed_managers(text).or_else(|| with_sorted_errors(text));
        let text = printed.as_deref().unwrap_or(text);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let is_start = !before.is_ascii_alphanumeric();
            let found =
                if is_start && first.is_ascii_alphanumeric() { self.word(rest, versions) } else { None };
            if let Some((length, token)) = found {
                out.push_str(&token);
                rest = &rest[length..];
                before = 'x';
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
                before = first;
            }
        }
        out
    }

    /// The length of a free value at the start of a text, and its token.
    fn word(&mut self, text: &str, versions: bool) -> Option<(usize, String)> {
        let bytes = text.as_bytes();
        if is_uid(bytes) {
            let uid = &text[..36];
            let own = uid.starts_with(OWN_UIDS);
            return Some((36, if own { uid.to_owned() } else { self.number(format!("uid {uid}"), "uid") }));
        }
        if let Some(length) = time_length(bytes)
            && let Ok(time) = text[..length].parse::<Timestamp>()
            && let Some(token) = self.time(time)
        {
            let fraction = if text[..length].contains('.') { " with fraction" } else { "" };
            return Some((length, format!("{token}{fraction}")));
        }
        if let Some(rest) = text.strip_prefix(GENERATED) {
            return generated(rest).map(|(prefix, length)| {
                (GENERATED.len() + length, format!("{GENERATED}{}⟦suffix⟧", &rest[..prefix]))
            });
        }
        if text.starts_with("10.96.") || text.starts_with("fd00:96::") {
            let length = span(bytes, |byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':'));
            return self.address(text[..length].trim_end_matches(['.', ':']));
        }
        let digits = span(bytes, u8::is_ascii_digit);
        if digits == 0 || bytes.get(digits).is_some_and(u8::is_ascii_alphabetic) {
            return None;
        }
        let number: u64 = text[..digits].parse().ok()?;
        if versions && (2..MAX_VERSION).contains(&number) {
            let known = self.numbers.get(&format!("version {number}"));
            let token = known.map_or("⟦some version⟧".to_owned(), |known| format!("⟦version {known}⟧"));
            return Some((digits, token));
        }
        self.port(number).map(|token| (digits, token))
    }

    /// An allocated address. Those that the generator asks for are in the first 256 of a range.
    fn address(&mut self, text: &str) -> Option<(usize, String)> {
        let (low, family) = match text.parse().ok()? {
            std::net::IpAddr::V4(ip) => (u32::from(ip) & 0xffff, "IPv4"),
            std::net::IpAddr::V6(ip) => (u32::from(ip.segments()[7]), "IPv6"),
        };
        (low > 0x100).then(|| (text.len(), self.number(format!("address {text}"), family)))
    }
}

/// True if a cause is a conflict of server-side apply: they follow Go's random order of managers.
fn is_conflict(cause: &Tree) -> bool {
    cause.get("reason").and_then(Tree::as_text) == Some("FieldManagerConflict")
}

/// Sorts the errors about the structure of an object, which follow Go's random order of its fields up to one that is not
/// declared. With such a field it alone is sure to be named.
fn with_sorted_errors(text: &str) -> Option<String> {
    // The line feed is escaped, as in JSON.
    const NEXT: &str = "\\n  ";
    const UNDECLARED: &str = ": field not declared in schema";
    let (before, errors) = text.split_once("errors:\\n  ")?;
    let mut errors: Vec<&str> = errors.split(NEXT).collect();
    errors.sort_unstable();
    if errors.iter().any(|error| error.ends_with(UNDECLARED)) {
        errors.retain(|error| error.ends_with(UNDECLARED));
    }
    if let [error] = errors[..] {
        return Some(format!("{before}{error}"));
    }
    Some(format!("{before}errors:{NEXT}{}", errors.join(NEXT)))
}

/// A finalizer that a deletion sets. The real server collects those of Namespaces in a map, so that their order is random.
fn is_collectors(finalizer: &Tree) -> bool {
    matches!(finalizer, Tree::Text(text) if text == "orphan" || text == "foregroundDeletion")
}

/// Sorts managed fields and collectors' finalizers in protobuf. The server sorts managed fields by time, and two servers are
/// not in the same second.
fn sort_repeated(fields: &mut [(String, Tree)]) {
    const FINALIZERS: &str = "14";
    const MANAGED_FIELDS: &str = "17";
    for number in [FINALIZERS, MANAGED_FIELDS] {
        let Some(first) = fields.iter().position(|(key, _)| key == number) else { continue };
        let count = fields[first..].iter().take_while(|(key, _)| key == number).count();
        let repeated = &mut fields[first..first + count];
        if number == MANAGED_FIELDS || repeated.iter().any(|(_, value)| is_collectors(value)) {
            repeated.sort_by_cached_key(|(_, value)| value.print());
        }
    }
}

/// Replaces the managed fields of an object that an error quotes, if they are several: their order depends on the second.
fn without_printed_managers(text: &str) -> Option<String> {
    const NAME: &str = "managedFields";
    if !text.contains("Invalid value: ") {
        return None;
    }
    let start = text.find(NAME)? + NAME.len();
    let start = start + text[start..].find('[')?;
    let mut depth = 0_usize;
    let end = text[start..].bytes().position(|byte| {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let managers = &text[start..=start + end];
    let several = managers.matches("operation").count() > 1;
    several.then(|| format!("{}⟦several managers⟧{}", &text[..start], &text[start + end + 1..]))
}

fn span(bytes: &[u8], matches: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| matches(byte)).count()
}

fn is_uid(bytes: &[u8]) -> bool {
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// Of the rest of a generated name: the length of its prefix, and with the suffix.
fn generated(rest: &str) -> Option<(usize, usize)> {
    let bytes = rest.as_bytes();
    let prefix = span(bytes, u8::is_ascii_digit) + 1;
    let suffix = bytes.get(prefix..prefix + SUFFIX)?;
    let valid = bytes[prefix - 1] == b'-'
        && suffix.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !bytes.get(prefix + SUFFIX).is_some_and(u8::is_ascii_alphanumeric);
    valid.then_some((prefix, prefix + SUFFIX))
}

/// The length of a time in RFC 3339 with `Z`.
fn time_length(bytes: &[u8]) -> Option<usize> {
    if !(bytes.starts_with(b"20") && bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T')) {
        return None;
    }
    let length = span(bytes, |byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b'T'));
    (bytes.get(length) == Some(&b'Z')).then_some(length + 1)
}

/// The class of a time that a server chose, which is one near the present: in the past, or in how many seconds.
fn time_class(seconds: i64) -> Option<&'static str> {
    const DAY: i64 = 24 * 3600;
    // Grace periods of the generator are 0, 1, 30 (the default), 100, 600 and an hour.
    Some(match seconds {
        _ if seconds.abs() >= DAY => return None,
        ..50 => NOW,
        50..300 => "in 100 s",
        300..1800 => "in 600 s",
        1800..5400 => "in an hour",
        _ => "later today",
    })
}

/// A cell of a table such as `5s`, `3m20s`.
fn is_age(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.last().is_some_and(|byte| matches!(byte, b's' | b'm' | b'h' | b'd'))
        && bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b's' | b'm' | b'h' | b'd'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        let mut tree = Tree::parse(text).unwrap();
        Canonical::default().tree(&mut tree);
        tree.print()
    }

    #[test]
    fn equal_values_get_equal_tokens() {
        let mut canonical = Canonical::default();
        let [a, b] = ["4f2ce1a0-8f0e-4a8b-9d0f-1a2b3c4d5e6f", "5f2ce1a0-8f0e-4a8b-9d0f-1a2b3c4d5e6f"];
        let first = canonical.text(&format!("{a}, {b}, \"{a}\""));
        assert_eq!(first, "⟦uid 0⟧, ⟦uid 1⟧, \"⟦uid 0⟧\"");
        assert_eq!(canonical.text("gn12-x7k2p of gn12"), "gn12-⟦suffix⟧ of gn12");
        assert_eq!(canonical.text("10.96.0.7 and 10.96.3.7."), "10.96.0.7 and ⟦IPv4 2⟧.");
        assert_eq!(canonical.text("80:31000/TCP 30000"), "80:⟦node port 3⟧/TCP 30000");
    }

    #[test]
    fn versions_keep_their_order() {
        let list = r#"{"metadata":{"resourceVersion":"150"},"items":[
            {"metadata":{"name":"a","resourceVersion":"140"}},{"metadata":{"name":"b","resourceVersion":"120"}},
            {"metadata":{"name":"c","resourceVersion":"140"}}]}"#;
        let tokens = canonical(list);
        assert!(tokens.contains("version of list after 0"), "{tokens}");
        assert!(tokens.contains("⟦version 0⟧ after 0") && tokens.contains("⟦version 1⟧ after 0"), "{tokens}");
        assert!(tokens.ends_with(r#"{"name":"c","resourceVersion":"⟦version 0⟧"}}]}"#), "{tokens}");
        let message = canonical(r#"{"message":"too old resource version: 1 (150)"}"#);
        assert_eq!(message, r#"{"message":"too old resource version: 1 (⟦some version⟧)"}"#);
        let mut canonical = Canonical::default();
        canonical.number("version 140".into(), "version");
        let message = canonical.text("Too large resource version: 1, current: 140");
        assert_eq!(message, "Too large resource version: 1, current: ⟦some version⟧");
    }

    #[test]
    fn several_managers_in_an_error_have_no_order() {
        let error = |managers: &str| {
            canonical(&format!(
                r#"{{"message":"Invalid value: \"{{\\\"managedFields\\\":{managers},1}}\""}}"#
            ))
        };
        assert_eq!(error("[{operation:[]},{operation}]"), error("[{operation},{operation:[]}]"));
        assert_ne!(error("[{operation:[]}]"), error("[{operation}]"));
    }

    #[test]
    fn conflicts_and_errors_of_fields_have_no_order() {
        let errors = |errors: &str| canonical(&format!(r#"{{"message":"(a): errors:\n  {errors}"}}"#));
        assert_eq!(errors(r".a: x\n  .b: y"), errors(r".b: y\n  .a: x"));
        let undeclared = ".u: field not declared in schema";
        let alone = canonical(&format!(r#"{{"message":"(a): {undeclared}"}}"#));
        assert_eq!(errors(&format!(r".b: y\n  {undeclared}")), alone);
        let causes = |first: &str, second: &str, reason: &str| {
            let cause = |field| format!(r#"{{"reason":"{reason}","field":"{field}"}}"#);
            canonical(&format!(r#"{{"causes":[{},{}]}}"#, cause(first), cause(second)))
        };
        let conflict = "FieldManagerConflict";
        assert_eq!(causes(".a", ".b", conflict), causes(".b", ".a", conflict));
        assert_ne!(causes(".a", ".b", "FieldValueInvalid"), causes(".b", ".a", "FieldValueInvalid"));
    }

    #[test]
    fn only_times_near_the_present_are_replaced() {
        let now = Timestamp::now();
        assert_eq!(
            Canonical::default().text(&format!("{now} 2024-01-02T03:04:05Z")),
            "⟦now⟧ with fraction 2024-01-02T03:04:05Z"
        );
        let soon = Timestamp::from_second(now.as_second() + 601).unwrap();
        assert_eq!(Canonical::default().text(&soon.to_string()), "⟦in 600 s⟧");
    }

    #[test]
    fn the_end_of_a_grace_period_keeps_its_token() {
        let mut canonical = Canonical::default();
        let now = Timestamp::now();
        canonical.ends.insert(now.as_second(), "in 100 s");
        assert_eq!(canonical.text(&now.to_string()), "⟦in 100 s⟧ with fraction");
        let later = now.as_second() + 100;
        assert_eq!(canonical.text(&Timestamp::from_second(later).unwrap().to_string()), "⟦in 100 s⟧");
        assert_eq!(canonical.ends.get(&later), Some(&"in 100 s"));
    }
}
