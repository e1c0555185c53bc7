//! `--disabled-metrics`, applied to the text format of metrics.

use component_server::keep_metrics;

/// Removes whole metrics by name.
pub(crate) fn without(text: String, disabled: &[String]) -> String {
    if disabled.is_empty() {
        return text;
    }
    keep_metrics(&text, |metric| disabled.iter().all(|name| name != metric))
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
