//! Metrics as Prometheus reads them: scraped from either manager, and parsed strictly.
//!
//! [`Exposition::parse`] takes the [text format 0.0.4][format] and refuses input that a scraper may tolerate: samples
//! that no `TYPE` line announces, families in several pieces, duplicate series, histograms that do not add up.
//!
//! [format]: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

mod parser;

use std::collections::{BTreeMap, BTreeSet};

use parser::Parser;

/// The labels of a series, `le` aside.
pub type Labels = BTreeMap<String, String>;

/// The content of one scrape, by the names that `TYPE` lines announce.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposition {
    /// The metrics.
    pub metrics: BTreeMap<String, Metric>,
}

/// All series of a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The type of the `TYPE` line.
    pub kind: MetricKind,
    /// The text of the `HELP` line.
    pub help: Option<String>,
    /// The series by their labels.
    pub series: BTreeMap<Labels, Value>,
}

/// The types of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// Observations by size.
    Histogram,
    /// Quantiles; not parsed further.
    Summary,
    /// A family without a `TYPE` line.
    Untyped,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The value of any other type than a histogram.
    Number(f64),
    /// The value of a histogram.
    Histogram(Histogram),
}

/// One series of a histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    /// Upper bounds and the observations up to each, in the order of the text.
    pub buckets: Vec<(f64, f64)>,
    /// The sum of all observations.
    pub sum: Option<f64>,
    /// The number of all observations.
    pub count: Option<f64>,
}

impl Histogram {
    /// The upper bounds.
    pub fn bounds(&self) -> Vec<f64> {
        self.buckets.iter().map(|(bound, _)| *bound).collect()
    }

    /// True for a native histogram, of which the text format has the last bucket only.
    pub fn is_native(&self) -> bool {
        self.bounds() == [f64::INFINITY]
    }

    fn check(&self) -> Result<(), String> {
        let (Some(count), Some(_)) = (self.count, self.sum) else {
            return Err("a histogram without sum or count".to_owned());
        };
        if !self.buckets.is_sorted_by(|left, right| left.0 < right.0 && left.1 <= right.1) {
            return Err(format!("buckets are not cumulative: {:?}", self.buckets));
        }
        match self.buckets.last() {
            Some((bound, last)) if *bound == f64::INFINITY && same(*last, count) => Ok(()),
            last => Err(format!("the last bucket is {last:?}, the count {count}")),
        }
    }
}

/// Equality of numbers that were written and read, not computed.
fn same(left: f64, right: f64) -> bool {
    left.total_cmp(&right).is_eq()
}

impl Metric {
    /// The names of the labels of its series.
    pub fn label_names(&self) -> BTreeSet<Vec<&str>> {
        self.series.keys().map(|labels| labels.keys().map(String::as_str).collect()).collect()
    }
}

impl Exposition {
    /// Parses a scrape.
    ///
    /// # Errors
    /// With the first malformed line, and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.ends_with('\n') {
            return Err("the last line has no end".to_owned());
        }
        let mut parser = Parser::default();
        for (number, line) in text.lines().enumerate() {
            parser.line(line).map_err(|reason| format!("line {}: {reason}: {line}", number + 1))?;
        }
        let metrics = parser.finished;
        for (name, metric) in &metrics {
            for (labels, value) in &metric.series {
                metric.kind.check(value).map_err(|reason| format!("{name} {labels:?}: {reason}"))?;
            }
        }
        Ok(Self { metrics })
    }

    /// Drops some series, and then names, that a test does not compare.
    #[must_use]
    pub fn only(mut self, interests: impl Fn(&str, &Labels) -> bool) -> Self {
        for (name, metric) in &mut self.metrics {
            metric.series.retain(|labels, _| interests(name, labels));
        }
        self.metrics.retain(|_, metric| !metric.series.is_empty());
        self
    }

    /// A series, by its labels.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<&Value> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.metrics.get(name)?.series.get(&labels.collect::<Labels>())
    }

    /// The value of a counter or gauge.
    pub fn number(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        match self.get(name, labels)? {
            Value::Number(value) => Some(*value),
            Value::Histogram(_) => None,
        }
    }

    /// The sum of all series of a metric, of a histogram that of their observations; 0 without series.
    pub fn sum(&self, name: &str) -> f64 {
        let series = self.metrics.get(name).into_iter().flat_map(|metric| metric.series.values());
        let numbers = series.map(|value| match value {
            Value::Number(number) => *number,
            Value::Histogram(histogram) => histogram.count.unwrap_or_default(),
        });
        numbers.sum()
    }

    /// A series of a histogram.
    pub fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Option<&Histogram> {
        match self.get(name, labels)? {
            Value::Histogram(histogram) => Some(histogram),
            Value::Number(_) => None,
        }
    }

    /// Lists names, types, label names, series and buckets that `candidate` lacks or has otherwise. Values and help
    /// texts are not compared; the candidate may have more.
    pub fn missing_in(&self, candidate: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        for (name, metric) in &self.metrics {
            let Some(other) = candidate.metrics.get(name) else {
                missing.push(format!("{name}: not there"));
                continue;
            };
            if metric.kind != other.kind {
                missing.push(format!("{name}: {:?}, not {:?}", other.kind, metric.kind));
            }
            for names in other.label_names().difference(&metric.label_names()) {
                missing.push(format!("{name}: labels {names:?}, not {:?}", metric.label_names()));
            }
            for (labels, value) in &metric.series {
                match (value, other.series.get(labels)) {
                    (_, None) => missing.push(format!("{name} {labels:?}: not there")),
                    (Value::Histogram(wanted), Some(Value::Histogram(found)))
                        if wanted.bounds() != found.bounds() && !wanted.is_native() =>
                    {
                        let (wanted, found) = (wanted.bounds(), found.bounds());
                        missing.push(format!("{name} {labels:?}: buckets {found:?}, not {wanted:?}"));
                    }
                    (_, Some(_)) => {}
                }
            }
        }
        missing
    }
}

impl MetricKind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "counter" => Self::Counter,
            "gauge" => Self::Gauge,
            "histogram" => Self::Histogram,
            "summary" => Self::Summary,
            "untyped" => Self::Untyped,
            _ => return None,
        })
    }

    fn check(self, value: &Value) -> Result<(), String> {
        match value {
            Value::Histogram(histogram) => histogram.check(),
            Value::Number(number) if self == Self::Counter && !number.is_finite() => {
                Err(format!("a counter at {number}"))
            }
            Value::Number(number) if self == Self::Counter && *number < 0.0 => {
                Err(format!("a counter at {number}"))
            }
            Value::Number(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP syncs [ALPHA] A \\ and\na "line".
# TYPE syncs counter
syncs{result="success"} 3
syncs{result="a \"b\" \\ \n",} 1e3 1700000000000
# a comment
# TYPE depth gauge
depth -1.5

# TYPE took histogram
took_bucket{name="q",le="0.1"} 1
took_bucket{name="q",le="+Inf"} 2
took_sum{name="q"} 7.25
took_count{name="q"} 2
# EOF
"#;

    #[test]
    fn the_whole_format_is_parsed() {
        let read = Exposition::parse(TEXT).unwrap();
        assert_eq!(read.metrics["syncs"].help.as_deref(), Some("[ALPHA] A \\ and\na \"line\"."));
        assert_eq!(read.metrics["depth"].kind, MetricKind::Gauge);
        assert_eq!(read.number("syncs", &[("result", "success")]), Some(3.0));
        assert_eq!(read.number("syncs", &[("result", "a \"b\" \\ \n")]), Some(1000.0));
        assert_eq!(read.number("depth", &[]), Some(-1.5));
        let took = read.histogram("took", &[("name", "q")]).unwrap();
        assert_eq!(took.buckets, [(0.1, 1.0), (f64::INFINITY, 2.0)]);
        assert_eq!((took.sum, took.count), (Some(7.25), Some(2.0)));
    }

    #[test]
    fn malformed_text_is_refused() {
        for (text, reason) in [
            ("a 1", "the last line has no end"),
            ("a 1\n", "before any type"),
            ("# TYPE a counter\na_total 1\n", "not of a"),
            ("# TYPE a counter\nb 1\n", "not of a"),
            ("# TYPE a counter\na -1\n", "a counter at -1"),
            ("# TYPE a count\n", "an unknown type"),
            ("# HELP a b\na 1\n", "help without a type"),
            ("# HELP a b\n# TYPE b gauge\n", "has no type"),
            ("# TYPE a gauge\n# TYPE b gauge\n# TYPE a gauge\n", "a family for the second time"),
            ("# TYPE a gauge\na 1\n# HELP a b\n", "a family for the second time"),
            ("# TYPE a gauge\na 1\na 1\n", "a series for the second time"),
            ("# TYPE a gauge\na{b=\"\",b=\"\"} 1\n", "a label for the second time"),
            ("# TYPE a gauge\na{b=\"\"c=\"\"} 1\n", "neither a comma nor a brace"),
            ("# TYPE a gauge\na{b=1} 1\n", "no value in quotes"),
            ("# TYPE a gauge\na{b:c=\"\"} 1\n", "is not a label"),
            ("# TYPE a gauge\na{b=\"\\x\"} 1\n", "the escape \\x"),
            ("# TYPE a gauge\na{b=\"} 1\n", "has no end"),
            ("# TYPE a gauge\na one\n", "not a number"),
            ("# TYPE a gauge\na infinity\n", "not a number"),
            ("# TYPE a gauge\na 1 2 3\n", "more than"),
            ("# TYPE a gauge\na 1 now\n", "the time is not"),
            ("# TYPE a gauge\na\n", "no value"),
            ("# TYPE a histogram\na 1\n", "not of the histogram"),
            ("# TYPE a histogram\na_bucket 1\n", "not of the histogram"),
            ("# TYPE a histogram\na_count 1\n", "without sum"),
            ("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", "the last bucket"),
            (
                "# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
                "not cumulative",
            ),
        ] {
            let error = Exposition::parse(text).expect_err(text);
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn parts_that_a_candidate_lacks_are_named() {
        let reference = Exposition::parse(TEXT).unwrap();
        assert!(reference.missing_in(&reference).is_empty());
        let other = TEXT.replace("depth gauge", "depth counter").replace("depth -1.5", "depth 1.5");
        let other = other.replace("0.1", "0.2").replace("success", "done");
        let more = "# TYPE more gauge\nmore 1\n";
        let other = Exposition::parse(&(other + more)).unwrap();
        let missing = reference.missing_in(&other);
        let expected = [
            "depth: Counter, not Gauge",
            "syncs {\"result\": \"success\"}: not there",
            "took {\"name\": \"q\"}: buckets [0.2, inf], not [0.1, inf]",
        ];
        assert_eq!(missing, expected);
        let none = reference.only(|name, _| name == "took");
        assert_eq!(none.missing_in(&Exposition::default()), ["took: not there"]);
    }
}
