//! Objects whose content goes back and forth between two writers, by the audit log.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{OURS, UPSTREAM};
use crate::audit::Request;

/// The contents of one object, in the order of their writes, each with its program.
#[derive(Default)]
struct History(Vec<(String, Value)>);

/// The writes by which an object returned to an earlier content although the other program had written last. Those of
/// users don't count.
pub(super) fn alternations(requests: &[Request]) -> Vec<String> {
    let mut histories: BTreeMap<(&str, &str, &str), History> = BTreeMap::new();
    let mut updates: Vec<&Request> =
        requests.iter().filter(|request| request.verb == "update" && request.code < 300).collect();
    updates.sort_by_key(|request| request.answered);
    let mut found = Vec::new();
    for request in updates {
        let Some(body) = &request.body else { continue };
        let object = (request.resource.as_str(), request.namespace.as_str(), request.name.as_str());
        let History(history) = histories.entry(object).or_default();
        let (program, content) = (request.program(), content(body));
        let is_controller = |program: &str| [UPSTREAM, OURS].contains(&program);
        let undoes = history.last().is_some_and(|(last, written)| {
            is_controller(last) && is_controller(program) && last != program && *written != content
        });
        if undoes && history.iter().any(|(_, earlier)| *earlier == content) {
            found.push(format!("{program} at {}: {request}", request.answered));
        }
        history.push((program.to_owned(), content));
    }
    found
}

/// An object without its version, and without the time of the change that caused the write.
fn content(body: &Value) -> Value {
    let mut content = body.clone();
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        for of_the_version in ["resourceVersion", "generation", "managedFields", "annotations"] {
            metadata.remove(of_the_version);
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(second: i64, program: &str, endpoint: &str) -> Request {
        Request {
            verb: "update".to_owned(),
            resource: "endpointslices".to_owned(),
            namespace: "shop".to_owned(),
            name: "web-1".to_owned(),
            user: String::new(),
            user_agent: format!("{program}/v1"),
            code: 200,
            body: Some(json!({"metadata": {"resourceVersion": second}, "endpoints": [endpoint]})),
            received: jiff::Timestamp::from_second(second).unwrap(),
            answered: jiff::Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn only_a_return_to_an_earlier_content_by_the_other_writer_counts() {
        let history = |writes: &[(&str, &str)]| -> Vec<Request> {
            (0..).zip(writes).map(|(second, (program, endpoint))| update(second, program, endpoint)).collect()
        };
        for (writes, count) in [
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "x")][..], 1),
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "x"), (UPSTREAM, "y")], 2),
            (&[(OURS, "x"), (OURS, "y"), (OURS, "x")], 0),
            (&[(OURS, "x"), (UPSTREAM, "x"), (OURS, "x")], 0),
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "z")], 0),
            (&[(OURS, "x"), ("kubectl", "y"), (OURS, "x")], 0),
        ] {
            assert_eq!(alternations(&history(writes)).len(), count, "{writes:?}");
        }
    }
}
