//! The alerts, faster.

use std::path::{Path, PathBuf};

use serde_yaml::Value;

/// The divisor of each `for`: minutes become seconds. The ranges in the expression of such a rule become shorter too, so that
/// both are still in proportion. Thresholds, and the ranges of rules without `for`, are left as they are.
pub(crate) const FASTER: u64 = 60;

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").join(path)
}

/// The alerts of the repository.
pub(crate) struct Alerts {
    /// Their names, in the order of the file, each once: rules of one name follow each other.
    pub(crate) names: Vec<String>,
    /// The rules file with shorter times.
    pub(crate) rules: String,
}

impl Alerts {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(repository("deploy/monitoring/alerts.yaml")).expect("the alerts");
        let mut file: Value = serde_yaml::from_str(&text).expect("YAML");
        let mut names = Vec::new();
        for group in file["groups"].as_sequence_mut().expect("groups") {
            for rule in group["rules"].as_sequence_mut().expect("rules") {
                let name = rule["alert"].as_str().expect("an alert");
                if names.last().is_none_or(|last| last != name) {
                    names.push(name.to_owned());
                }
                if let Some(duration) = rule.get("for") {
                    let duration = shorter(duration.as_str().expect("a duration"));
                    let expression = shorter_ranges(rule["expr"].as_str().expect("an expression"));
                    (rule["for"], rule["expr"]) = (duration.into(), expression.into());
                }
            }
        }
        Self { names, rules: serde_yaml::to_string(&file).expect("YAML") }
    }
}

/// A duration of whole minutes or hours, divided by [`FASTER`].
fn shorter(duration: &str) -> String {
    let seconds = [("m", 60), ("h", 3600)]
        .into_iter()
        .find_map(|(unit, seconds)| Some(duration.strip_suffix(unit)?.parse::<u64>().ok()? * seconds));
    let seconds = seconds.unwrap_or_else(|| panic!("{duration} is not in minutes or hours"));
    format!("{}s", seconds / FASTER)
}

/// An expression whose ranges are divided by [`FASTER`].
fn shorter_ranges(expression: &str) -> String {
    let part = |part: &str| match part.split_once(']') {
        Some((range, rest)) => match range.split_once(':') {
            // A subquery looks as often as rules are evaluated.
            Some((range, _)) => format!("{}:1s]{rest}", shorter(range)),
            None => format!("{}]{rest}", shorter(range)),
        },
        None => part.to_owned(),
    };
    expression.split('[').map(part).collect::<Vec<_>>().join("[")
}
