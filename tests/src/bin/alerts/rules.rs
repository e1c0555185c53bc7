//! The alerts, faster.

use std::path::{Path, PathBuf};

use serde_yaml::Value;

/// The divisor of each `for`: minutes become seconds. Expressions are left as they are, with their thresholds and ranges.
pub(crate) const FASTER: u64 = 60;

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").join(path)
}

/// The alerts of the repository.
pub(crate) struct Alerts {
    /// Their names, in the order of the file.
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
                names.push(rule["alert"].as_str().expect("an alert").to_owned());
                if let Some(duration) = rule.get_mut("for") {
                    *duration = shorter(duration.as_str().expect("a duration")).into();
                }
            }
        }
        Self { names, rules: serde_yaml::to_string(&file).expect("YAML") }
    }
}

/// A duration of whole minutes, divided by [`FASTER`].
fn shorter(duration: &str) -> String {
    let minutes = duration.strip_suffix('m').and_then(|minutes| minutes.parse::<u64>().ok());
    let minutes = minutes.unwrap_or_else(|| panic!("for: {duration} is not in minutes"));
    format!("{}s", minutes * 60 / FASTER)
}
