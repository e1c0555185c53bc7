//! Requests to kube-apiserver 1.37.2 and its answers, recorded in `tests/facts.jsonl`: one case a line, each a list of
//! requests in order. Answers hold no field that is empty, false or zero, no uid, no versions, no creation time and no managed
//! fields.
//!
//! `KINDS_FACTS` names another file of this form, such as one of random requests.

use bytes::Bytes;
use golden_cases::answers::difference;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::Service as _;

use crate::ApiServer;
use crate::environment::SystemEnvironment;
use crate::schema::{Shape, Type};

use super::*;

/// The code and the body of the answer.
async fn send(server: &mut ApiServer, request: &Value) -> (u64, Value) {
    let text = |key: &str| request[key].as_str().unwrap();
    let body = if request["body"].is_null() { String::new() } else { request["body"].to_string() };
    let sent = Request::builder().method(text("method")).uri(text("path"));
    let Ok(response) = server.call(sent.body(Full::<Bytes>::from(body)).unwrap()).await;
    let code = response.status().as_u16().into();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
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
            let (code, answer) = send(&mut server, step).await;
            count += 1;
            if let Some(difference) = difference(step, code, &answer, &requests) {
                failures.push(format!("{} {} {}\n{difference}", step["method"], step["path"], step["body"]));
                break;
            }
        }
    }
    assert!(count > 390, "only {count} requests");
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n\n"));
}
