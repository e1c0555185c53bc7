//! Rows of Events.

use serde_json::Value;

use super::object::{Age, name, part, text_or, time};
use crate::kinds::tree::{field, int, text};

pub(super) fn cells(event: &Value, age: Age) -> Vec<Value> {
    let first = time(event, "firstTimestamp").or_else(|| time(event, "eventTime"));
    let last = time(event, "lastTimestamp").or(first);
    let (last, count) = match part(event, "series") {
        Some(series) => (time(series, "lastObservedTime"), int(series, "count")),
        None => match int(event, "count") {
            // Events that have only `eventTime` have none.
            0 => (last, 1),
            count => (last, count),
        },
    };
    let subject = field(event, "involvedObject");
    let kind = text(subject, "kind").to_lowercase();
    let subject_name = match text(subject, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        age.of(last).into(),
        text(event, "type").into(),
        text(event, "reason").into(),
        subject_name.into(),
        text(subject, "fieldPath").into(),
        source(event).into(),
        text(event, "message").trim().into(),
        age.of(first).into(),
        count.into(),
        name(event),
    ]
}

/// `kubelet, node-a`
fn source(event: &Value) -> String {
    let source = field(event, "source");
    let component = text_or(source, "component", text(event, "reportingComponent"));
    match text_or(source, "host", text(event, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
