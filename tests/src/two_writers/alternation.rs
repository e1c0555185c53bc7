//! Objects whose content goes back and forth between two writers, by the audit log.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;

use super::{OURS, UPSTREAM};
use crate::audit::Request;
use crate::canonical::SERVICE_NAME;

/// A write of an object.
struct Written<'a> {
    request: &'a Request,
    content: Value,
}

/// The writes by which an object returned to an earlier content although the other program had written last. Those of users
/// don't count, nor does a return that a user caused: one who changed the object's Service, Endpoints, pods or nodes since
/// shortly before the other program's write.
pub(super) fn alternations(requests: &[Request]) -> Vec<String> {
    let mut histories: BTreeMap<(&str, &str, &str), Vec<Written<'_>>> = BTreeMap::new();
    let mut updates: Vec<&Request> =
        requests.iter().filter(|request| request.verb == "update" && request.code < 300).collect();
    updates.sort_by_key(|request| request.answered);
    let mut found = Vec::new();
    for request in updates {
        let Some(body) = &request.body else { continue };
        let object = (request.resource.as_str(), request.namespace.as_str(), request.name.as_str());
        let history = histories.entry(object).or_default();
        let written = Written { request, content: content(body) };
        let undone = history.last().filter(|last| {
            is_by_controller(last.request)
                && is_by_controller(request)
                && last.request.program() != request.program()
                && last.content != written.content
        });
        if let Some(undone) = undone
            && history.iter().any(|earlier| earlier.content == written.content)
            && !is_caused_by_a_user(requests, undone, &written)
        {
            found.push(format!("{} at {}: {request}", request.program(), request.answered));
        }
        history.push(written);
    }
    found
}

fn is_by_controller(request: &Request) -> bool {
    [UPSTREAM, OURS].contains(&request.program())
}

/// The time that a change may take to reach the program whose write is undone.
const SHORTLY_BEFORE: SignedDuration = SignedDuration::from_secs(2);

/// True if a user changed something on which the difference between the two contents depends.
fn is_caused_by_a_user(requests: &[Request], undone: &Written<'_>, written: &Written<'_>) -> bool {
    let causes = causes(undone, written);
    let begin = undone.request.received - SHORTLY_BEFORE;
    requests.iter().any(|request| {
        let resource = request.resource.split('/').next().unwrap_or_default();
        request.is_write()
            && !is_by_controller(request)
            && (begin..=written.request.answered).contains(&request.answered)
            && causes.contains(&(resource, request.name.as_str()))
    })
}

/// The resources and names of the objects on which the difference depends.
fn causes<'a>(undone: &'a Written<'_>, written: &'a Written<'_>) -> BTreeSet<(&'static str, &'a str)> {
    let contents = [&undone.content, &written.content];
    let service = match written.content["metadata"]["labels"][SERVICE_NAME].as_str() {
        Some(service) => service,
        None => &written.request.name,
    };
    let mut causes = BTreeSet::from([("services", service), ("endpoints", service)]);
    let endpoints = |content: &'a Value| content["endpoints"].as_array().into_iter().flatten();
    for (content, other) in [(contents[0], contents[1]), (contents[1], contents[0])] {
        for endpoint in
            endpoints(content).filter(|endpoint| !endpoints(other).any(|other| other == *endpoint))
        {
            causes.extend(endpoint["targetRef"]["name"].as_str().map(|pod| ("pods", pod)));
            causes.extend(endpoint["nodeName"].as_str().map(|node| ("nodes", node)));
        }
    }
    causes
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

    /// An update that publishes the endpoint, or a change of the pod of this name.
    fn write(second: i64, program: &str, value: &str) -> Request {
        let is_user = program == "kubectl";
        let endpoint = json!({"addresses": [value], "targetRef": {"name": value}});
        let slice = json!({"metadata": {"resourceVersion": second, "labels": {SERVICE_NAME: "web"}}, "endpoints": [endpoint]});
        Request {
            verb: "update".to_owned(),
            resource: if is_user { "pods/status" } else { "endpointslices" }.to_owned(),
            namespace: "shop".to_owned(),
            name: if is_user { value } else { "web-1" }.to_owned(),
            user: String::new(),
            user_agent: format!("{program}/v1"),
            code: 200,
            body: (!is_user).then_some(slice),
            version: None,
            received: jiff::Timestamp::from_second(second).unwrap(),
            answered: jiff::Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn only_a_return_to_an_earlier_content_that_no_user_caused_counts() {
        let history = |writes: &[(&str, &str)]| -> Vec<Request> {
            (0..).zip(writes).map(|(turn, (program, value))| write(turn * 10, program, value)).collect()
        };
        for (writes, count) in [
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "x")][..], 1),
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "x"), (UPSTREAM, "y")], 2),
            (&[(OURS, "x"), (OURS, "y"), (OURS, "x")], 0),
            (&[(OURS, "x"), (UPSTREAM, "x"), (OURS, "x")], 0),
            (&[(OURS, "x"), (UPSTREAM, "y"), (OURS, "z")], 0),
            (&[(OURS, "x"), (UPSTREAM, "y"), ("kubectl", "y"), (OURS, "x")], 0),
            (&[(OURS, "x"), (UPSTREAM, "y"), ("kubectl", "z"), (OURS, "x")], 1),
            (&[(OURS, "x"), ("kubectl", "y"), (UPSTREAM, "y"), (OURS, "x")], 1),
        ] {
            assert_eq!(alternations(&history(writes)).len(), count, "{writes:?}");
        }
    }
}
