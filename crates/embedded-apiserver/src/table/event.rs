//! Rows of Events, of `v1` and of `events.k8s.io/v1`, which name the same fields differently.

use serde_json::Value;

use super::object::{Age, child, int, name, part, text, text_or, time};

/// A field in `v1`, else its counterpart in `events.k8s.io/v1`.
fn either<'a>(event: &'a Value, core: &str, events: &str) -> &'a Value {
    part(event, core).unwrap_or_else(|| child(event, events))
}

pub(super) fn cells(event: &Value, age: Age) -> Vec<Value> {
    let either_time = |core, events| time(event, core).or_else(|| time(event, events));
    let first =
        either_time("firstTimestamp", "deprecatedFirstTimestamp").or_else(|| time(event, "eventTime"));
    let last = either_time("lastTimestamp", "deprecatedLastTimestamp").or(first);
    let (last, count) = match part(event, "series") {
        Some(series) => (time(series, "lastObservedTime"), int(series, "count")),
        None => match either(event, "count", "deprecatedCount").as_i64().unwrap_or_default() {
            // Events of one occurrence have none in the new API.
            0 => (last, 1),
            count => (last, count),
        },
    };
    let subject = either(event, "involvedObject", "regarding");
    let kind = text(subject, "kind").to_lowercase();
    let subject_name = match text(subject, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let message = either(event, "message", "note").as_str().unwrap_or_default();
    vec![
        age.of(last).into(),
        text(event, "type").into(),
        text(event, "reason").into(),
        subject_name.into(),
        text(subject, "fieldPath").into(),
        source(event).into(),
        message.trim().into(),
        age.of(first).into(),
        count.into(),
        name(event),
    ]
}

/// `kubelet, node-a`
fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let controller = either(event, "reportingComponent", "reportingController").as_str().unwrap_or_default();
    let component = text_or(source, "component", controller);
    match text_or(source, "host", text(event, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
