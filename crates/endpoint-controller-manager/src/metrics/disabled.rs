//! `--disabled-metrics`, applied to the text format of metrics.

/// Removes whole metrics by name.
///
/// A metric is everything from its first comment line to the comment line of another.
pub(crate) fn without(text: String, disabled: &[String]) -> String {
    if disabled.is_empty() {
        return text;
    }
    let mut left_out = false;
    let keep = |line: &&str| {
        if let Some(name) = metric_of(line) {
            left_out = !name.is_empty() && disabled.iter().any(|disabled| disabled == name);
        }
        !left_out
    };
    text.split_inclusive('\n').filter(keep).collect()
}

/// The metric that a comment line describes; empty for another comment.
fn metric_of(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("# ")?.split_whitespace();
    let describes_one = words.next().is_some_and(|word| matches!(word, "HELP" | "TYPE" | "UNIT"));
    Some(if describes_one { words.next().unwrap_or_default() } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"y\"} 1\n\
                        # HELP b_seconds B.\n# TYPE b_seconds histogram\nb_seconds_sum 1\nb_seconds_count 1\n\
                        b_seconds_bucket{le=\"+Inf\"} 1\n# HELP b B.\n# TYPE b gauge\nb 1\n# EOF\n";

    #[test]
    fn disabled_metrics_are_left_out_whole() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(without(TEXT.to_owned(), &[]), TEXT);
        assert_eq!(without(TEXT.to_owned(), &names(&["c", ""])), TEXT);
        assert_eq!(
            without(TEXT.to_owned(), &names(&["b_seconds", "a_total"])),
            "# HELP b B.\n# TYPE b gauge\nb 1\n# EOF\n"
        );
        assert!(without(TEXT.to_owned(), &names(&["b"])).ends_with("le=\"+Inf\"} 1\n# EOF\n"));
    }
}
