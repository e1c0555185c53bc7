//! Audits of random clusters that upstream settled: no false alarm. `cargo xtask audit-upstream` sets the environment.
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `AUDIT_CLUSTERS` | the number of clusters | 10 |
//! | `AUDIT_SEED` | the first seed | 0 |

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use endpoint_diagnostics::audit::{Finding, Options, Severity, audit};
use endpoint_diagnostics::snapshot::{Object, Snapshot};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tests::settled::{State, Trace, settle};

/// A time at which all changes are long past.
const LATER: &str = "2100-01-01T00:00:00Z";
/// The states of a trace, and the operations between them. A fresh cluster each time would take seconds.
const STATES: usize = 40;
const EVERY: usize = 5;

fn variable(name: &str, default: usize) -> usize {
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    text.map_or(default, |text| text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_that_upstream_settled_raise_no_false_alarm() {
    let (mut left, first) = (variable("AUDIT_CLUSTERS", 10), variable("AUDIT_SEED", 0));
    let (mut seed, mut repeated, mut clusters) = (first as u64, 0, 0);
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    while left > 0 {
        let trace = Trace { seed, states: left.min(STATES), every: EVERY };
        repeated += Box::pin(settle(&trace, |state| {
            let findings = findings(state);
            let alarms = false_alarms(state, &findings);
            if alarms.is_empty() {
                clusters += 1;
                for finding in &findings {
                    *tally.entry(format!("{:<8} {}", finding.severity.name(), finding.rule)).or_default() +=
                        1;
                }
            }
            alarms
        }))
        .await;
        left -= trace.states;
        seed += 1;
        println!("{clusters} clusters without a false alarm, {repeated} looked at again");
    }
    println!("findings, all of them info or confirmed by the oracle:");
    for (line, count) in &tally {
        println!("{count:7}  {line}");
    }
}

fn findings(state: &State) -> Vec<Finding> {
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
    audit(&snapshot, &options).findings
}

fn false_alarms(state: &State, findings: &[Finding]) -> Vec<String> {
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
