//! The audit of settled objects: what it finds besides faults of users is a false alarm.

use std::sync::Arc;

use endpoint_diagnostics::audit::{Finding, Options, Severity, audit};
use endpoint_diagnostics::snapshot::{Object, Snapshot};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::oracle::end::read;
use crate::world::World;

/// A time at which everything that happens in a history is long past.
const LATER: &str = "2100-01-01T00:00:00Z";

/// The default of `--mirroring-max-endpoints-per-subset`.
const MIRRORED: usize = 1000;

/// The objects that an audit reads.
fn snapshot(world: &World) -> Snapshot {
    let kinds = [
        ("v1", "Service"),
        ("v1", "Pod"),
        ("v1", "Node"),
        ("v1", "Endpoints"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
    ];
    let now: Timestamp = LATER.parse().expect("a time");
    let mut snapshot = Snapshot::new(now, []);
    for object in kinds.into_iter().flat_map(|(version, kind)| world.objects(version, kind).into_values()) {
        snapshot.upsert(typed(&object));
    }
    snapshot
}

/// Findings that are more than worth knowing, and that no fault of a user explains.
pub fn false_alarms(world: &World) -> Vec<String> {
    let (expected, max) = (read(world), world.plan.setup.max);
    let options = Options { max_endpoints_per_slice: Some(max), ..Options::default() };
    let is_false = |finding: &Finding| {
        let object = &finding.object;
        finding.severity > Severity::Info
            && !expected.has_fault(finding.rule, object.kind.name(), &object.name, MIRRORED)
    };
    let findings = audit(&snapshot(world), &options).without_explained().findings.into_iter();
    let alarm = |Finding { rule, object, message, .. }: Finding| {
        format!("a false alarm: {rule} {} {}: {message}", object.kind.name(), object.name)
    };
    findings.filter(is_false).map(alarm).collect()
}

fn typed(object: &Value) -> Object {
    match object["kind"].as_str().unwrap_or_default() {
        "Service" => Object::Service(read_as(object)),
        "Pod" => Object::Pod(read_as(object)),
        "Node" => Object::Node(read_as(object)),
        "Endpoints" => Object::Endpoints(read_as(object)),
        "EndpointSlice" => Object::EndpointSlice(read_as(object)),
        kind => panic!("an audit does not read {kind}"),
    }
}

fn read_as<T: DeserializeOwned>(object: &Value) -> Arc<T> {
    Arc::new(serde_json::from_value(object.clone()).expect("an object of its kind"))
}
