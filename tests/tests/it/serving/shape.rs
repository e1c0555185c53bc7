//! Answers as lines, without the parts that may differ between two processes: program names, numbers, the order of
//! checks.

use ::tests::manager::Kind;
use ::tests::pages::Page;
use serde_json::Value;

use super::requests::Case;

/// Headers that depend on the time and encoding of an answer.
const OF_THE_MOMENT: &[&str] = &["date", "content-length", "transfer-encoding"];

/// The kind of a line that has a value.
const SAMPLE: &str = "a sample";

/// The compared form of an answer.
pub(crate) fn shape(case: &Case, page: &Page) -> Vec<String> {
    let mut lines = vec![format!("status {}", page.status)];
    let mut headers: Vec<String> = page
        .headers
        .iter()
        .filter(|(name, _)| !OF_THE_MOMENT.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", header_value(name.as_str(), value.to_str().unwrap())))
        .collect();
    headers.sort_unstable();
    lines.extend(headers);
    lines.extend(body(case, page));
    lines
}

fn header_value(name: &str, value: &str) -> String {
    // Every other number in a header is a version.
    if name == "process-start-time-unix" { without_names(value) } else { value.to_owned() }
}

fn body(case: &Case, page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    let path = case.path.split('?').next().unwrap();
    if page.text.is_empty() {
        return lines;
    }
    if page.content_type.starts_with("application/json") {
        fields("", &serde_json::from_str(&page.text).unwrap(), &mut lines);
    } else if page.content_type.starts_with("application/yaml") {
        fields("", &serde_yaml::from_str(&page.text).unwrap(), &mut lines);
    } else if page.status != 200 {
        lines.extend(page.text.lines().filter(|line| !line.is_empty()).map(without_names));
    } else {
        lines.extend(page.text.lines().map(|line| match path {
            "/metrics" => kind_of_line(line).to_owned(),
            "/metrics/slis" => without_names(without_value(line)),
            "/flagz" | "/statusz" => without_names(&without_day(&without_separators(line))),
            _ => without_names(line),
        }));
        // Upstream keeps controllers in a map, and metrics of SLIs by label; ours are in order of time.
        if path != "/statusz" {
            lines.sort_unstable();
        }
        if path == "/metrics" {
            lines.dedup();
        }
    }
    lines
}

/// Every field with its path and value.
fn fields(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                fields(&format!("{path}.{key}"), value, lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                fields(&format!("{path}[]"), item, lines);
            }
        }
        scalar => lines.push(format!("{path} = {}", without_names(&scalar.to_string()))),
    }
}

/// The kind of a line in the Prometheus text format; another test compares the metrics themselves.
fn kind_of_line(line: &str) -> &str {
    match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["#", "HELP", _, ..] => "# HELP",
        ["#", "TYPE", _, kind] => kind,
        ["#", ..] => line,
        [_, .., value] if value.parse::<f64>().is_ok() => SAMPLE,
        _ => line,
    }
}

/// A sample without its value, which Go formats differently.
fn without_value(line: &str) -> &str {
    if kind_of_line(line) == SAMPLE { line.rsplit_once(' ').map_or(line, |(name, _)| name) } else { line }
}

/// At each start, upstream chooses at random the separator between name and value on plain-text pages: blank, `:`, `: `
/// or `=`.
fn without_separators(line: &str) -> String {
    let is_separator = |character| matches!(character, ':' | '=' | ' ');
    let words = line.split(is_separator).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces the day of the start, which may be another one for a program that starts a second later.
fn without_day(line: &str) -> String {
    match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["Started", _, _, rest @ ..] => format!("Started <weekday> <month> {}", rest.join(" ")),
        _ => line.to_owned(),
    }
}

/// Replaces the program's name by a word, and every number by a letter.
fn without_names(text: &str) -> String {
    let names = [Kind::Ours, Kind::Upstream].map(program);
    let text = names.iter().fold(text.to_owned(), |text, name| text.replace(name, "<component>"));
    let mut shape = String::new();
    for character in text.chars() {
        if !character.is_ascii_digit() {
            shape.push(character);
        } else if !shape.ends_with('0') {
            shape.push('0');
        }
    }
    shape
}

fn program(kind: Kind) -> &'static str {
    match kind {
        Kind::Upstream => "kube-controller-manager",
        Kind::Ours => "endpoint-controller-manager",
    }
}

#[cfg(test)]
mod tests {
    use super::{SAMPLE, kind_of_line, without_day, without_names, without_separators};

    #[test]
    fn what_is_left_of_a_line() {
        assert_eq!(without_names("kube-controller-manager 1.36.3 up 100 s"), "<component> 0.0.0 up 0 s");
        assert_eq!(without_names("endpoint-controller-manager 0.1.0 up 7 s"), "<component> 0.0.0 up 0 s");
        for line in ["Go version  go1", "Go version: go1", "Go version:  go1", "Go version= go1"] {
            assert_eq!(without_separators(line), "Go version go1", "{line}");
        }
        let started = without_separators("Started: Tue Nov 24 11:12:13 UTC 2026");
        assert_eq!(without_names(&without_day(&started)), "Started <weekday> <month> 0 0 0 0 UTC 0");
        for (line, kind) in [("# TYPE a gauge", "gauge"), ("a{b=\"c d\"} 1e-3", SAMPLE), ("a b", "a b")] {
            assert_eq!(kind_of_line(line), kind);
        }
    }
}
