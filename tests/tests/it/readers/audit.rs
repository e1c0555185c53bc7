//! Findings of `audit` in a settled state: the oracle must confirm every one that is more than worth knowing.

use std::sync::Arc;

use endpoint_diagnostics::audit::{Finding, Options, Severity, audit};
use endpoint_diagnostics::snapshot::{Object, Snapshot};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tests::settled::State;

/// A time at which all changes are long past.
const LATER: &str = "2100-01-01T00:00:00Z";

pub(super) fn findings(state: &State) -> Vec<Finding> {
    let mut snapshot = Snapshot::new(LATER.parse().unwrap(), []);
    for item in &state.items {
        snapshot.upsert(match item["kind"].as_str().unwrap_or_default() {
            "Service" => Object::Service(read(item)),
            "Pod" => Object::Pod(read(item)),
            "Node" => Object::Node(read(item)),
            "Endpoints" => Object::Endpoints(read(item)),
            "EndpointSlice" => Object::EndpointSlice(read(item)),
            _ => Object::Namespace(read(item)),
        });
    }
    let options =
        Options { max_endpoints_per_slice: Some(state.max), max_endpoints_per_subset: Some(state.max) };
    audit(&snapshot, &options).without_explained().findings
}

pub(super) fn false_alarms(state: &State, findings: &[Finding]) -> Vec<String> {
    let expected = state.expected();
    let is_false = |finding: &&Finding| {
        let object = &finding.object;
        finding.severity > Severity::Info
            && !expected.has_fault(finding.rule, object.kind.name(), &object.name, state.max)
    };
    let line = |finding: &Finding| format!("{} of {}: {}", finding.rule, finding.object, finding.message);
    findings.iter().filter(is_false).map(line).collect()
}

fn read<T: DeserializeOwned>(item: &Value) -> Arc<T> {
    Arc::new(serde_json::from_value(item.clone()).unwrap())
}
