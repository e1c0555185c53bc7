//! Errors of YAML in the words of go-yaml v2. It and our parser are translations of libyaml, and find the same problems.

/// More nesting than ours allows. It is Go's text, whose limit is higher.
pub(super) const TOO_DEEP: &str = "yaml: exceeded max depth of 10000";
/// Aliases make a tree out of proportion to its body.
pub(super) const ALIASES: &str = "document contains excessive aliasing";
/// The value of `<<` is not what can be merged.
pub(super) const MERGE: &str = "map merge requires map or sequence of maps as the value";
/// A list or mapping as a key.
pub(super) const INVALID_KEY: &str = "invalid map key";
/// `~` as a key.
pub(super) const NULL_KEY: &str = "unsupported map key of type: %!s(<nil>), key: <nil>";
/// A number that JSON does not have, before its name.
pub(super) const UNSUPPORTED: &str = "json: unsupported value: ";

/// Problems that the parser finds; all others are those of the scanner.
const OF_PARSER: &[&str] = &[
    "did not find expected <",
    "did not find expected node content",
    "did not find expected '-' indicator",
    "did not find expected key",
    "did not find expected ',' or",
    "found duplicate %",
    "found incompatible YAML document",
    "found undefined tag handle",
];

/// The text of an error. Go counts lines from 0 for problems of its parser and from 1 for those of its scanner, and leaves
/// out line 0 of both (`parser.fail` in `decode.go`).
pub(super) fn describe(error: &serde_yaml::Error) -> String {
    let message = error.to_string();
    let end = [" at line ", " at position ", ", while "].iter().filter_map(|place| message.find(place)).min();
    let problem = message.get(..end.unwrap_or(message.len())).unwrap_or_default();
    // The parser puts the path of the value before the texts of our loader.
    for own in [UNSUPPORTED, NULL_KEY] {
        if let Some(at) = problem.find(own) {
            return problem.get(at..).unwrap_or_default().to_owned();
        }
    }
    for own in [MERGE, INVALID_KEY, ALIASES] {
        if problem.ends_with(own) {
            return format!("yaml: {own}");
        }
    }
    if problem.ends_with("recursion limit exceeded") {
        return TOO_DEEP.to_owned();
    }
    if problem.ends_with("repetition limit exceeded") {
        return format!("yaml: {ALIASES}");
    }
    let line = error.location().map_or(0, |location| location.line().saturating_sub(1));
    let from_parser = OF_PARSER.iter().any(|known| problem.starts_with(known));
    match line {
        0 => format!("yaml: {problem}"),
        line => format!("yaml: line {}: {problem}", if from_parser { line } else { line + 1 }),
    }
}
