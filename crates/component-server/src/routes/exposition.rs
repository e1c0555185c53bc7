//! Metrics in the text format: some of them, with numbers as Go writes them.

use crate::go_text::float;

/// The metrics but these.
pub(super) fn without(text: String, disabled: &[String]) -> String {
    if disabled.is_empty() {
        text
    } else {
        keep_metrics(&text, |metric| !disabled.iter().any(|name| name == metric))
    }
}

/// The metrics that the parameters `name[]` of a query name; all without one.
pub(super) fn selected(text: String, query: &str) -> String {
    let parameters = form_urlencoded::parse(query.as_bytes());
    let names: Vec<_> = parameters.filter(|(key, _)| key == "name[]").map(|(_, name)| name).collect();
    if names.is_empty() {
        return text;
    }
    keep_metrics(&text, |metric| names.iter().any(|name| name == metric))
}

/// The metrics of the text format whose names `is_wanted` returns true for. Other comments are kept.
///
/// A metric is everything from its first comment line to the comment line of another.
fn keep_metrics(text: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut is_kept = true;
    let keep = |line: &&str| {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split_whitespace();
            let describes_one = words.next().is_some_and(|word| matches!(word, "HELP" | "TYPE" | "UNIT"));
            is_kept = !describes_one || words.next().is_some_and(&is_wanted);
        }
        is_kept
    };
    text.split_inclusive('\n').filter(keep).collect()
}

/// The metrics with the bounds of buckets as Go writes them: `1`, not `1.0`. Queries compare them as text.
pub(super) fn with_go_bounds(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match bound(line) {
            Some((before, bound, after)) => written.extend([before, &float(bound), after]),
            None => written.push_str(line),
        }
    }
    written
}

/// The bound in a line about a bucket, with what stands before and after it; none for `+Inf`.
fn bound(line: &str) -> Option<(&str, f64, &str)> {
    const LABELS: [&str; 2] = ["{le=\"", ",le=\""];
    let start = LABELS.iter().find_map(|label| Some(line.find(label)? + label.len()))?;
    let (before, rest) = line.split_at_checked(start)?;
    let (bound, after) = rest.split_at_checked(rest.find('"')?)?;
    Some((before, bound.parse::<f64>().ok().filter(|bound| bound.is_finite())?, after))
}

#[cfg(test)]
mod tests {
    use super::{selected, with_go_bounds, without};
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    /// Expectations are those of a real kube-controller-manager, and of Go for the last three.
    #[test]
    fn bounds_of_buckets_are_spelled_as_by_go() {
        let bounds = std::iter::successors(Some(1e-8_f64), |bound| Some(bound * 10.0)).take(10);
        let histogram = Histogram::new(bounds.chain([32_768.0, 999_999.0, 1_234_567.0]));
        let mut registry = Registry::default();
        registry.register("a", "A", histogram);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let text = with_go_bounds(&text);
        let written: Vec<&str> =
            text.lines().filter_map(|line| line.split("le=\"").nth(1)?.split('"').next()).collect();
        let expected = [
            ["1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05"],
            ["0.001", "0.01", "0.1", "1", "10"],
            ["32768", "999999", "1.234567e+06", "+Inf", ""],
        ];
        assert_eq!(written, expected.concat()[..14]);
        assert!(text.contains("a_bucket{le=\"0.1\"} 0\n") && text.contains("a_sum 0.0\n"), "{text}");
    }

    #[test]
    fn only_the_label_of_buckets_is_rewritten() {
        for (line, written) in [
            ("a_bucket{x=\"1.0\",le=\"1.0\",y=\"ü\"} 1.0\n", "a_bucket{x=\"1.0\",le=\"1\",y=\"ü\"} 1.0\n"),
            ("a{role=\"1.0\",b=\",le=\\\"1.0\"} 1\n", "a{role=\"1.0\",b=\",le=\\\"1.0\"} 1\n"),
            ("a{le=\"x\"} 1", "a{le=\"x\"} 1"),
        ] {
            assert_eq!(with_go_bounds(line), written);
        }
    }

    #[test]
    fn metrics_can_be_selected_by_name() {
        const TEXT: &str =
            "# HELP up Up.\n# TYPE up gauge\nup 1\n# TYPE upper gauge\nupper{a=\"# TYPE up\"} 1\n";
        let of = |query| selected(TEXT.to_owned(), query);
        assert_eq!(of("a=b"), TEXT);
        assert_eq!(of("name[]=up"), "# HELP up Up.\n# TYPE up gauge\nup 1\n");
        assert_eq!(of("name%5B%5D=up&name[]=upper"), TEXT);
        assert_eq!(of("name[]="), "");
    }

    #[test]
    fn disabled_metrics_are_left_out_whole() {
        const TEXT: &str = "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"y\"} 1\n\
                            # HELP b_seconds B.\n# TYPE b_seconds histogram\nb_seconds_sum 1\nb_seconds_count 1\n\
                            b_seconds_bucket{le=\"+Inf\"} 1\n# HELP b B.\n# TYPE b gauge\nb 1\n";
        let of = |names: &[&str]| {
            without(TEXT.to_owned(), &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), TEXT);
        assert_eq!(of(&["c", ""]), TEXT);
        assert_eq!(of(&["b_seconds", "a_total"]), "# HELP b B.\n# TYPE b gauge\nb 1\n");
        assert!(of(&["b"]).ends_with("le=\"+Inf\"} 1\n"));
    }
}
