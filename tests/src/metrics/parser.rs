//! The parser of the text format, line by line.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use super::{Histogram, Labels, Metric, MetricKind, Value, same};

/// The current family of lines, and the earlier ones.
#[derive(Default)]
pub(super) struct Parser {
    current: Option<String>,
    help: Option<String>,
    pub(super) finished: BTreeMap<String, Metric>,
}

impl Parser {
    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), text) => self.help(name, text.unwrap_or_default()),
            (Some("#"), Some("TYPE"), Some(name), kind) => self.kind(name, kind.unwrap_or_default()),
            (Some("#"), Some("HELP" | "TYPE"), None, _) => Err("no name".to_owned()),
            (Some(first), ..) if first.starts_with('#') => Ok(()),
            _ if line.is_empty() => Ok(()),
            _ => self.sample(line),
        }
    }

    fn help(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.begin(name)?;
        self.help = Some(unescape(text, "\\n")?);
        Ok(())
    }

    fn kind(&mut self, name: &str, kind: &str) -> Result<(), String> {
        let kind = MetricKind::parse(kind).ok_or("an unknown type")?;
        // The help of this name, if it is the previous line, has begun the family.
        if self.help.is_none() || self.current.as_deref() != Some(name) {
            self.begin(name)?;
        }
        let metric = Metric { kind, help: self.help.take(), series: BTreeMap::new() };
        self.finished.insert(name.to_owned(), metric);
        Ok(())
    }

    /// Completes the previous family.
    fn begin(&mut self, name: &str) -> Result<(), String> {
        if self.help.is_some() {
            return Err("the help before this has no type".to_owned());
        }
        if !is_metric_name(name) {
            return Err("not a name".to_owned());
        }
        if self.finished.contains_key(name) {
            return Err("a family for the second time".to_owned());
        }
        self.current = Some(name.to_owned());
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), String> {
        if self.help.is_some() {
            return Err("help without a type".to_owned());
        }
        let Sample { name, mut labels, value } = Sample::parse(line)?;
        let family = self.current.as_ref().ok_or("a sample before any type")?;
        let metric = self.finished.get_mut(family).ok_or("a sample of no type")?;
        let part = name.strip_prefix(family.as_str()).ok_or_else(|| format!("not of {family}"))?;
        let le = if metric.kind == MetricKind::Histogram { labels.remove("le") } else { None };
        if metric.kind != MetricKind::Histogram {
            let summary = metric.kind == MetricKind::Summary && matches!(part, "_sum" | "_count");
            if !(part.is_empty() || summary) {
                return Err(format!("not of {family}"));
            }
            if summary {
                return Ok(());
            }
            let before = metric.series.insert(labels, Value::Number(value));
            return before.map_or(Ok(()), |_| Err("a series for the second time".to_owned()));
        }
        let entry = metric.series.entry(labels).or_insert_with(|| Value::Histogram(Histogram::default()));
        let Value::Histogram(histogram) = entry else { unreachable!("one type, one kind of value") };
        let before = match (part, le) {
            ("_bucket", Some(bound)) => {
                let bound = number(&bound)?;
                let known =
                    histogram.buckets.iter().find(|(known, _)| same(*known, bound)).map(|found| found.1);
                histogram.buckets.push((bound, value));
                known
            }
            ("_sum", None) => histogram.sum.replace(value),
            ("_count", None) => histogram.count.replace(value),
            _ => return Err(format!("not of the histogram {family}")),
        };
        before.map_or(Ok(()), |_| Err("a series for the second time".to_owned()))
    }
}

struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

impl Sample {
    fn parse(line: &str) -> Result<Self, String> {
        let end = line.find(['{', ' ', '\t']).ok_or("no value")?;
        let (name, rest) = line.split_at(end);
        if !is_metric_name(name) {
            return Err("not a name".to_owned());
        }
        let mut chars = rest.chars().peekable();
        let labels = if chars.next_if_eq(&'{').is_some() { labels(&mut chars)? } else { Labels::new() };
        let rest: String = chars.collect();
        let mut words = rest.split_ascii_whitespace();
        let value = number(words.next().ok_or("no value")?)?;
        if let Some(time) = words.next() {
            time.parse::<i64>().map_err(|_| "the time is not a number")?;
        }
        match words.next() {
            None => Ok(Self { name: name.to_owned(), labels, value }),
            Some(_) => Err("more than a value and a time".to_owned()),
        }
    }
}

/// Labels up to and including the brace.
fn labels(chars: &mut Peekable<Chars<'_>>) -> Result<Labels, String> {
    let mut labels = Labels::new();
    loop {
        if chars.next_if_eq(&'}').is_some() {
            return Ok(labels);
        }
        let mut name = String::new();
        while let Some(char) = chars.next_if(|char| *char != '=') {
            name.push(char);
        }
        if !is_label_name(&name) {
            return Err(format!("{name:?} is not a label"));
        }
        if (chars.next(), chars.next()) != (Some('='), Some('"')) {
            return Err(format!("label {name} has no value in quotes"));
        }
        let value = quoted(chars)?;
        if labels.insert(name, value).is_some() {
            return Err("a label for the second time".to_owned());
        }
        if chars.next_if_eq(&',').is_none() && chars.peek() != Some(&'}') {
            return Err("neither a comma nor a brace after a label".to_owned());
        }
    }
}

/// The rest of a label's value, its closing quote included.
fn quoted(chars: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut raw = String::new();
    loop {
        match chars.next().ok_or("a label's value has no end")? {
            '"' => return unescape(&raw, "\\n\""),
            '\\' => raw.extend(['\\', chars.next().ok_or("a label's value has no end")?]),
            char => raw.push(char),
        }
    }
}

/// Undoes the escapes that are allowed: those of the given characters.
fn unescape(text: &str, allowed: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let escaped = if char == '\\' { chars.next() } else { None };
        match (char, escaped) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some(escaped)) if allowed.contains(escaped) => plain.push(escaped),
            ('\\', escaped) => return Err(format!("the escape \\{}", escaped.unwrap_or(' '))),
            (char, _) => plain.push(char),
        }
    }
    Ok(plain)
}

/// A number in Go's syntax. Rust accepts the same, and more names.
fn number(text: &str) -> Result<f64, String> {
    match text {
        "+Inf" | "Inf" => return Ok(f64::INFINITY),
        "-Inf" => return Ok(f64::NEG_INFINITY),
        "NaN" => return Ok(f64::NAN),
        _ => {}
    }
    let digits = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let parsed = text.parse().ok().filter(|value: &f64| digits && value.is_finite());
    parsed.ok_or_else(|| format!("{text} is not a number"))
}

fn is_metric_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|first| !first.is_ascii_digit());
    first && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == ':')
}

fn is_label_name(name: &str) -> bool {
    is_metric_name(name) && !name.contains(':')
}
