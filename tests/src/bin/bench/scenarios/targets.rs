//! The targets: ratios of ours to upstream's.

use serde_json::{Value, json};

use super::figures::{CPU, P50, P99, PEAK, RECEIVED, SECONDS};

/// The most that a figure may be of upstream's.
pub(crate) struct Target {
    scenario: &'static str,
    pub(crate) phase: &'static str,
    pub(crate) figure: &'static str,
    pub(crate) at_most: f64,
}

const fn target(scenario: &'static str, phase: &'static str, figure: &'static str, at_most: f64) -> Target {
    Target { scenario, phase, figure, at_most }
}

const TARGETS: &[Target] = &[
    target("S", "cold", SECONDS, 0.4),
    target("S", "cold", CPU, 0.12),
    target("S", "cold", PEAK, 0.07),
    target("L", "cold", SECONDS, 0.25),
    target("L", "cold", CPU, 0.06),
    target("L", "cold", PEAK, 0.035),
    target("L", "restart", CPU, 0.04),
    target("L", "restart", PEAK, 0.03),
    target("L", "churn", P50, 0.5),
    target("L", "churn", P99, 0.5),
    target("L", "churn", CPU, 0.15),
    target("N", "cold", SECONDS, 0.06),
    target("N", "cold", CPU, 0.01),
    target("N", "cold", PEAK, 0.035),
    target("B", "cold", SECONDS, 0.35),
    target("B", "cold", CPU, 0.1),
    target("B", "cold", PEAK, 0.12),
    target("B", "churn", P50, 0.1),
    target("B", "churn", P99, 0.2),
    target("B", "churn", CPU, 0.1),
    target("pending", "cold", RECEIVED, 0.4),
];

/// The targets of a scenario.
pub(crate) fn of(scenario: &str) -> impl Iterator<Item = &'static Target> {
    TARGETS.iter().filter(move |target| target.scenario == scenario)
}

/// The target of a figure, if there is one.
pub(crate) fn find(scenario: &str, phase: &str, figure: &str) -> Option<&'static Target> {
    of(scenario).find(|target| target.phase == phase && target.figure == figure)
}

impl Target {
    /// True if the ratio meets it.
    pub(crate) fn is_met_by(&self, ratio: f64) -> bool {
        ratio <= self.at_most
    }

    /// The target beside the ratio, if that was measured.
    pub(crate) fn json(&self, ratio: Option<f64>) -> Value {
        let Self { phase, figure, at_most, .. } = self;
        let met = ratio.map(|ratio| self.is_met_by(ratio));
        json!({"phase": phase, "figure": figure, "at_most": at_most, "ratio": ratio, "met": met})
    }
}
