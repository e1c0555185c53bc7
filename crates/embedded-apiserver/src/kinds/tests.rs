//! Requests to kube-apiserver 1.37.2 and its answers, recorded in `tests/facts.jsonl`: one case a line, each a list of
//! requests in order. Answers hold no field that is empty, false or zero, no uid, no versions, no creation time and no managed
//! fields.
//!
//! `KINDS_FACTS` names another file of this form, such as one of random requests.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Map, Value};
use tower::Service as _;

use crate::ApiServer;
use crate::environment::SystemEnvironment;
use crate::schema::{Shape, Type};

use super::*;

struct Answer {
    code: u64,
    body: Value,
}

async fn send(server: &mut ApiServer, request: &Value) -> Answer {
    let text = |key: &str| request[key].as_str().unwrap();
    let body = if request["body"].is_null() { String::new() } else { request["body"].to_string() };
    let sent = Request::builder().method(text("method")).uri(text("path"));
    let Ok(response) = server.call(sent.body(Full::<Bytes>::from(body)).unwrap()).await;
    let code = response.status().as_u16().into();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer { code, body: serde_json::from_slice(&body).unwrap() }
}

/// Removes what is empty, and what differs from run to run.
fn prune(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                let value = prune(value);
                let is_empty = match &value {
                    Value::Null => true,
                    Value::Bool(value) => !value,
                    Value::Number(number) => number.as_i64() == Some(0),
                    Value::String(text) => text.is_empty(),
                    Value::Array(items) => items.is_empty(),
                    Value::Object(fields) => fields.is_empty(),
                };
                if !is_empty {
                    kept.insert(key.clone(), value);
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(prune).collect(),
        other => other.clone(),
    }
}

/// The object without what differs from run to run: random addresses and ports that no request of the case names.
fn canonical(body: &Value, requests: &str) -> Value {
    let mut body = prune(body);
    if let Some(Value::Object(meta)) = body.get_mut("metadata") {
        for key in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields"] {
            meta.remove(key);
        }
    }
    for key in ["kind", "apiVersion"] {
        if let Value::Object(fields) = &mut body {
            fields.remove(key);
        }
    }
    hide(&mut body, requests);
    body
}

fn hide(value: &mut Value, requests: &str) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| hide(value, requests)),
        Value::Array(items) => items.iter_mut().for_each(|value| hide(value, requests)),
        Value::String(text) if !requests.contains(text.as_str()) => {
            if text.starts_with("10.96.") && *text != "10.96.0.0" {
                *value = "an IPv4 address".into();
            } else if text.starts_with("fd00:96::") && *text != "fd00:96::" {
                *value = "an IPv6 address".into();
            } else if text.parse::<jiff::Timestamp>().is_ok() {
                *value = "a time".into();
            }
        }
        Value::Number(number) => {
            if let Some(port @ 30000..=32767) = number.as_i64()
                && !requests.contains(&port.to_string())
            {
                *value = "a port".into();
            }
        }
        _ => {}
    }
}

/// The causes in any order, since Go visits maps at random.
fn causes(body: &Value, requests: &str) -> Vec<[String; 3]> {
    let causes = body["details"]["causes"].as_array().into_iter().flatten();
    let text = |cause: &Value, key: &str| shown(cause[key].as_str().unwrap_or_default(), requests);
    let mut causes: Vec<_> =
        causes.map(|cause| ["field", "reason", "message"].map(|key| text(cause, key))).collect();
    causes.sort();
    causes
}

/// The text up to what is not reproduced, differences of Go structs and uids, and without random addresses and ports.
fn shown(text: &str, requests: &str) -> String {
    let text = text.split('\n').next().unwrap_or_default();
    let text = text.split("UID in object meta: ").next().unwrap_or_default();
    let mut words: Vec<&str> = text.split('"').collect();
    for word in &mut words {
        if ["10.96.", "fd00:96::"].iter().any(|network| word.starts_with(network))
            && !requests.contains(*word)
        {
            *word = "an address";
        }
    }
    let text = words.join("\"");
    match text.strip_prefix("Duplicate value: ").and_then(|port| port.parse::<u16>().ok()) {
        Some(30000..=32767) => "Duplicate value: a port".to_owned(),
        _ => text,
    }
}

fn message(body: &Value, requests: &str) -> String {
    let text = shown(body["message"].as_str().unwrap_or_default(), requests);
    if text.contains("Duplicate value: 3") { String::new() } else { text }
}

fn difference(request: &Value, answer: &Answer, requests: &str) -> Option<String> {
    let wanted = &request["answer"];
    let code = request["code"].as_u64().unwrap();
    if code != answer.code {
        return Some(format!("code {code} became {}: {}\nwanted {wanted}", answer.code, answer.body));
    }
    if code >= 400 {
        let (wanted_causes, own_causes) = (causes(wanted, requests), causes(&answer.body, requests));
        if wanted_causes != own_causes {
            return Some(format!("causes {wanted_causes:#?}\nbecame {own_causes:#?}"));
        }
        let subject = |body: &Value| ["name", "group", "kind"].map(|key| body["details"][key].clone());
        if subject(wanted) != subject(&answer.body)
            || wanted["reason"] != answer.body["reason"]
                && !wanted["reason"].as_str().unwrap_or_default().is_empty()
        {
            return Some(format!("details of {wanted} became {}", answer.body));
        }
        let (wanted, own) = (message(wanted, requests), message(&answer.body, requests));
        if wanted_causes.len() < 2 && wanted != own {
            return Some(format!("message {wanted}\nbecame {own}"));
        }
        return None;
    }
    let (wanted, own) = (canonical(wanted, requests), canonical(&answer.body, requests));
    (request["method"] != "DELETE" && wanted != own).then(|| format!("object {wanted}\nbecame {own}"))
}

#[test]
fn every_kind_has_a_type_with_its_selectable_fields() {
    for kind in KINDS {
        let type_ = Type::named(kind.type_name).unwrap_or_else(|| panic!("{}", kind.type_name));
        for path in kind.selectable_fields.iter().flat_map(|field| field.paths) {
            let mut of = type_;
            for name in path.split('.') {
                let field = of.field(name).unwrap_or_else(|| panic!("{path} of {}", kind.kind));
                if let Shape::Struct(next) = &field.node.shape {
                    of = next.get();
                }
            }
        }
    }
}

/// Enough that comparing them in pairs would take minutes.
#[test]
fn each_of_many_errors_is_named_once_in_the_order_of_the_checks() {
    const COUNT: usize = 100_000;
    let path = Path::root("x");
    let mut errors = Errors::default();
    for index in (0..COUNT).chain(0..COUNT) {
        errors.required(&path.index(index), "");
    }
    errors.invalid(&path, 1, "y");
    errors.deduplicate();
    let status = errors.into_status("", "Pod", "a");
    let causes = status.details.unwrap().causes;
    let fields: Vec<_> = causes.iter().map(|cause| cause.field.as_str()).collect();
    let expected: Vec<_> = (0..COUNT).map(|index| format!("x[{index}]")).chain(["x".to_owned()]).collect();
    assert_eq!(fields, expected);
    let messages: Vec<_> = status.message.split(", ").collect();
    assert_eq!(messages.len(), COUNT + 1);
    assert_eq!(messages[0], "Pod \"a\" is invalid: [x[0]: Required value");
    assert_eq!(messages[COUNT], "x: Invalid value: 1: y]");
}

/// Two checks of one value may say the same with different reasons.
#[test]
fn a_message_is_printed_once() {
    let mut errors = Errors::default();
    for index in [0, 1, 0] {
        errors.required(&Path::root("x").index(index), "");
    }
    assert_eq!(errors.to_string(), "[x[0]: Required value, x[1]: Required value]");
}

#[tokio::test]
async fn answers_as_the_real_server() {
    let mut failures = Vec::new();
    let mut count = 0;
    let recorded = std::env::var("KINDS_FACTS").map(|path| std::fs::read_to_string(path).unwrap());
    for line in recorded.as_deref().unwrap_or(include_str!("tests/facts.jsonl")).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let steps = case.as_array().unwrap();
        let requests: String = steps.iter().map(|step| step["body"].to_string()).collect();
        let builder = ApiServer::builder().environment(SystemEnvironment::seeded(1));
        let mut server = builder.garbage_collection(false).namespace_termination(false).build();
        for step in steps {
            let answer = send(&mut server, step).await;
            count += 1;
            if let Some(difference) = difference(step, &answer, &requests) {
                failures.push(format!("{} {} {}\n{difference}", step["method"], step["path"], step["body"]));
                break;
            }
        }
    }
    assert!(count > 400, "only {count} requests");
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n\n"));
}
