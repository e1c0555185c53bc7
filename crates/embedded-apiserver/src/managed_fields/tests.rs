mod golden;
mod properties;
mod rules;

use serde_json::{Value, json};

use super::FieldManager;
use super::reset_fields;
use crate::schema::Type;

fn services() -> FieldManager<'static> {
    FieldManager {
        of: Type::named("k8s.io/api/core/v1.Service").unwrap(),
        api_version: "v1",
        kind: "Service",
        subresource: "",
        reset: reset_fields("", "services", ""),
    }
}

fn at(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second).unwrap()
}

/// A Service with these fields.
#[allow(clippy::needless_pass_by_value, reason = "literals are passed")]
fn service(metadata: Value, spec: Value) -> Value {
    let mut service = json!({"kind": "Service", "apiVersion": "v1", "metadata": metadata});
    if spec != json!({}) {
        service["spec"] = spec;
    }
    service["metadata"]["name"] = json!("web");
    service
}

fn entries(object: &Value) -> Vec<Value> {
    object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default()
}
