//! Content negotiation: the `Accept` header.

use http::HeaderMap;
use http::header::ACCEPT;

/// One element of an `Accept` header.
#[derive(Debug, PartialEq)]
pub(crate) struct Clause<'a> {
    kind: &'a str,
    subkind: &'a str,
    /// Everything but `q`.
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// Returns the clauses in order of preference: by quality, then by specificity, then by position. Empty without a
/// header.
pub(crate) fn accepted(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let lines = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let mut clauses: Vec<Clause<'_>> = lines.flat_map(|line| line.split(',')).filter_map(clause).collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(b.specificity().cmp(&a.specificity())));
    clauses
}

/// Parses `type/subtype;name=value;q=0.5`; none if malformed.
fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next()?;
    // Some clients send a lone `*` for `*/*`.
    let (kind, subkind) = media_type.split_once('/').or((media_type == "*").then_some(("*", "*")))?;
    let mut clause = Clause { kind, subkind, parameters: Vec::new(), quality: 1.0 };
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        if name == "q" {
            clause.quality = value.parse().unwrap_or(1.0);
        } else {
            clause.parameters.push((name, value));
        }
    }
    Some(clause)
}

impl Clause<'_> {
    /// True if the type matches the clause, parameters aside.
    pub(crate) fn accepts(&self, kind: &str, subkind: &str) -> bool {
        let matches = |pattern: &str, value: &str| pattern == "*" || pattern.eq_ignore_ascii_case(value);
        matches(self.kind, kind) && matches(self.subkind, subkind)
    }

    /// Returns the value of a parameter; empty if absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value)
    }

    /// True if the client asks for a conversion to another kind, such as `as=Table`.
    pub(crate) fn transforms(&self) -> bool {
        ["as", "g", "v"].iter().any(|name| !self.parameter(name).is_empty())
    }

    fn specificity(&self) -> usize {
        usize::from(self.kind != "*") + usize::from(self.subkind != "*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(header: &'static str) -> Vec<String> {
        let headers = HeaderMap::from_iter([(ACCEPT, http::HeaderValue::from_static(header))]);
        accepted(&headers).iter().map(|clause| format!("{}/{}", clause.kind, clause.subkind)).collect()
    }

    #[test]
    fn the_best_comes_first() {
        assert_eq!(best("*/*;q=0.1,application/yaml"), ["application/yaml", "*/*"]);
        assert_eq!(best("*/*, text/*, text/plain"), ["text/plain", "text/*", "*/*"]);
        assert_eq!(best("a/b;q=0.5, c/d; q=0.7, e/f;q=x"), ["e/f", "c/d", "a/b"]);
        assert_eq!(best("nonsense, *, a/b"), ["a/b", "*/*"]);
        assert!(accepted(&HeaderMap::new()).is_empty());
    }

    #[test]
    fn parameters_are_read() {
        let clause = clause("application/json; as=Statusz;g=config.k8s.io;q=0.3; v=v1beta1").unwrap();
        assert_eq!((clause.parameter("as"), clause.parameter("v")), ("Statusz", "v1beta1"));
        assert_eq!(clause.parameter("q"), "");
        assert!(clause.transforms() && clause.accepts("application", "JSON"));
    }
}
