//! The audit of settled objects: what it finds besides faults of users is a false alarm.

use std::sync::Arc;

use endpoint_diagnostics::audit::{Finding, Options, Severity, audit};
use endpoint_diagnostics::snapshot::{Object, Snapshot};
use expected_objects::Objects;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::world::World;

/// A time at which everything that happens in a history is long past.
const LATER: &str = "2100-01-01T00:00:00Z";

/// The default of `--mirroring-max-endpoints-per-subset`.
const MIRRORED: usize = 1000;

/// The objects that an audit reads.
pub fn settled(world: &World) -> Vec<Value> {
    let kinds = [
        ("v1", "Service"),
        ("v1", "Pod"),
        ("v1", "Node"),
        ("v1", "Endpoints"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
    ];
    let objects = kinds.into_iter().flat_map(|(version, kind)| world.objects(version, kind).into_values());
    objects.map(Arc::unwrap_or_clone).collect()
}

/// The findings about objects, in a cluster with this `--max-endpoints-per-slice`.
pub fn findings(objects: &[Value], max: usize) -> Vec<Finding> {
    let now: Timestamp = LATER.parse().expect("a time");
    let mut snapshot = Snapshot::new(now, []);
    for object in objects {
        snapshot.upsert(typed(object));
    }
    let options = Options { max_endpoints_per_slice: Some(max), ..Options::default() };
    audit(&snapshot, &options).without_explained().findings
}

/// A finding as `rule Kind name`.
pub fn line(finding: &Finding) -> String {
    format!("{} {} {}", finding.rule, finding.object.kind.name(), finding.object.name)
}

/// Findings that are more than worth knowing, and that no fault of a user explains.
pub fn false_alarms(objects: &[Value], expected: &Objects, max: usize) -> Vec<String> {
    let is_false = |finding: &Finding| {
        let object = &finding.object;
        finding.severity > Severity::Info
            && !expected.has_fault(finding.rule, object.kind.name(), &object.name, MIRRORED)
    };
    let alarms = findings(objects, max).into_iter().filter(is_false);
    alarms.map(|finding| format!("a false alarm: {}: {}", line(&finding), finding.message)).collect()
}

fn typed(object: &Value) -> Object {
    match object["kind"].as_str().unwrap_or_default() {
        "Service" => Object::Service(read(object)),
        "Pod" => Object::Pod(read(object)),
        "Node" => Object::Node(read(object)),
        "Endpoints" => Object::Endpoints(read(object)),
        "EndpointSlice" => Object::EndpointSlice(read(object)),
        kind => panic!("an audit does not read {kind}"),
    }
}

fn read<T: DeserializeOwned>(object: &Value) -> Arc<T> {
    Arc::new(serde_json::from_value(object.clone()).expect("an object of its kind"))
}
