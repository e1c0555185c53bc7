//! The results of all runs of a scenario.

use serde_json::{Map, Value, json};
use tests::manager::Kind;

use super::figures::{Figures, medians, ratios};
use super::scenario::Scenario;

/// Figures of all runs.
#[derive(Default)]
pub(crate) struct Results {
    /// By program and phase, in the order in which they were measured.
    runs: Vec<(Kind, &'static str, Vec<Figures>)>,
    /// Endpoints that only one of the programs has, as text; empty if all are equal.
    pub(crate) differences: Vec<String>,
}

impl Results {
    /// Adds a run.
    pub(crate) fn add(&mut self, kind: Kind, phases: Vec<(&'static str, Figures)>) {
        for (phase, figures) in phases {
            match self.runs.iter_mut().find(|(k, p, _)| (*k, *p) == (kind, phase)) {
                Some((_, _, runs)) => runs.push(figures),
                None => self.runs.push((kind, phase, vec![figures])),
            }
        }
    }

    /// All phases, in order.
    pub(crate) fn phases(&self) -> Vec<&'static str> {
        let mut phases = Vec::new();
        for (_, phase, _) in &self.runs {
            if !phases.contains(phase) {
                phases.push(*phase);
            }
        }
        phases
    }

    fn runs(&self, kind: Kind, phase: &str) -> &[Figures] {
        let found = self.runs.iter().find(|(k, p, _)| *k == kind && *p == phase);
        found.map(|(_, _, runs)| runs.as_slice()).unwrap_or_default()
    }

    /// Medians of a program in a phase; empty if it was not measured.
    pub(crate) fn medians(&self, kind: Kind, phase: &str) -> Figures {
        medians(self.runs(kind, phase))
    }

    /// Ours divided by upstream's; empty if one was not measured.
    pub(crate) fn ratios(&self, phase: &str) -> Figures {
        ratios(&self.medians(Kind::Upstream, phase), &self.medians(Kind::Ours, phase))
    }

    /// Everything, as JSON.
    pub(crate) fn json(&self, scenario: &Scenario) -> Value {
        let program =
            |kind, phase| json!({"median": self.medians(kind, phase), "runs": self.runs(kind, phase)});
        let phases = self.phases().into_iter().map(|phase| {
            let both =
                [Kind::Upstream, Kind::Ours].into_iter().filter(|kind| !self.runs(*kind, phase).is_empty());
            let mut value: Map<String, Value> =
                both.map(|kind| (kind.name().to_owned(), program(kind, phase))).collect();
            value.insert("ratio".to_owned(), json!(self.ratios(phase)));
            (phase.to_owned(), Value::Object(value))
        });
        json!({
            "name": scenario.name, "services": scenario.services, "pods_of_each": scenario.pods,
            "namespaces": scenario.namespaces, "nodes": scenario.nodes, "bystanders": scenario.bystanders,
            "phases": phases.collect::<Map<_, _>>(),
            "equal_endpoints": self.differences.is_empty(),
        })
    }
}
