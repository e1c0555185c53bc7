//! Requests in a file with the answers of a real server: the facts that the rules of `embedded-apiserver`'s kinds are tested with.

use golden_cases::answers::{difference, without_empty};
use http::header::{CONTENT_TYPE, WARNING};
use serde_json::{Value, json};

use super::exchange::{Answer, Server};

/// Makes the requests of each line again and returns the lines with the answers of today. An answer that differs only in what the
/// server chooses at random stays as it was.
///
/// Cost: one request after the other, and two for each created object, which is deleted after its line, with its addresses.
///
/// # Panics
/// The lines are not of the form that `kinds/tests.rs` of `embedded-apiserver` describes.
pub async fn record(server: &Server, lines: &str) -> String {
    let mut recorded = String::with_capacity(lines.len());
    for line in lines.lines() {
        let steps: Vec<Value> = serde_json::from_str(line).expect("a line with a list of requests");
        let requests: String = steps.iter().map(|step| step["body"].to_string()).collect();
        let mut created = Vec::new();
        let mut answered = Vec::with_capacity(steps.len());
        for step in steps {
            let answer = send(server, &step).await;
            created.extend(created_path(&step, &answer));
            answered.push(if is_alike(&step, &answer, &requests) { step } else { answer });
        }
        for path in created.iter().rev() {
            server.patch(path, r#"{"metadata": {"finalizers": null}}"#).await;
            server.quietly("DELETE", &format!("{path}?gracePeriodSeconds=0"), String::new()).await;
        }
        for address in answered.iter().flat_map(cluster_ips) {
            // A busy server may fail to release the address of a deleted Service, which it then refuses to later lines.
            let path = format!("/apis/networking.k8s.io/v1/ipaddresses/{address}");
            server.quietly("DELETE", &path, String::new()).await;
        }
        recorded.push_str(&Value::from(answered).to_string());
        recorded.push('\n');
    }
    recorded
}

/// The addresses that the server gave to a Service.
fn cluster_ips(answered: &Value) -> Vec<String> {
    let addresses = answered["answer"]["spec"]["clusterIPs"].as_array();
    addresses.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The step with the server's answer.
async fn send(server: &Server, step: &Value) -> Value {
    let text = |key: &str| step[key].as_str().expect("a text").to_owned();
    let request = http::Request::builder().method(text("method").as_str()).uri(text("path"));
    let body = if step["body"].is_null() { String::new() } else { step["body"].to_string() };
    let request = request.header(CONTENT_TYPE, "application/json").body(body.into()).expect("a request");
    let Answer { status, headers, body } = server.answer(request).await;
    let warnings: Vec<Value> = headers.get_all(WARNING).iter().map(warning).collect();
    let mut answered = step.clone();
    answered["code"] = status.into();
    // What was deleted was answered before.
    let is_deletion = step["method"] == "DELETE";
    answered["answer"] =
        if is_deletion { json!({}) } else { fact(serde_json::from_slice(&body).unwrap_or_default()) };
    let fields = answered.as_object_mut().expect("an object");
    if warnings.is_empty() {
        fields.remove("warnings");
    } else {
        fields.insert("warnings".to_owned(), warnings.into());
    }
    answered
}

/// Makes the requests of each line again and returns the lines with the codes and messages of today: the refusals that requests to
/// `embedded-apiserver` are tested with.
///
/// # Panics
/// The lines are not of the form that `tests/it/requests.rs` of `embedded-apiserver` describes.
pub async fn record_refusals(server: &Server, lines: &str) -> String {
    let mut recorded = String::with_capacity(lines.len());
    for line in lines.lines() {
        let mut refusal: Value = serde_json::from_str(line).expect("a line with a request");
        let text = |key: &str| refusal[key].as_str().unwrap_or_default().to_owned();
        let (method, body) = (text("method"), text("body"));
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method.as_str()).uri(text("path"));
        let request = request.header(CONTENT_TYPE, media).body(body.into()).expect("a request");
        let Answer { status, body, .. } = server.answer(request).await;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = answer["message"].as_str().unwrap_or_default();
        refusal["code"] = status.into();
        let fields = refusal.as_object_mut().expect("an object");
        fields.remove("message");
        let end = BEFORE_A_UID.iter().filter_map(|word| Some(message.find(word)? + word.len())).min();
        let constant = end.and_then(|end| message.get(..end)).unwrap_or(message);
        if !constant.is_empty() {
            fields.insert("message".to_owned(), constant.into());
        }
        recorded.push_str(&refusal.to_string());
        recorded.push('\n');
    }
    recorded
}

/// What stands in a message before a uid, which is another one each time.
const BEFORE_A_UID: [&str; 2] = ["UID in object meta: ", r#"\"uid\":\""#];

/// The text of `299 - "text"`.
fn warning(header: &http::HeaderValue) -> Value {
    let text = header.to_str().unwrap_or_default();
    let quoted = text.split_once(" - ").map_or(text, |(_, quoted)| quoted);
    serde_json::from_str(quoted).unwrap_or_else(|_| quoted.into())
}

/// The recorded part of a response.
fn fact(mut answer: Value) -> Value {
    if answer["kind"] == "Status" {
        let kept = ["details", "message", "reason"].map(|key| (key.to_owned(), answer[key].take()));
        answer = Value::Object(kept.into_iter().collect());
    } else if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(key);
        }
    }
    without_empty(answer)
}

/// The path of the object that a step created.
fn created_path(step: &Value, answered: &Value) -> Option<String> {
    let path = step["path"].as_str()?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if answered["code"] != 201 || query.contains("dryRun") {
        return None;
    }
    let name = answered["answer"]["metadata"]["name"].as_str()?;
    Some(if step["method"] == "POST" { format!("{path}/{name}") } else { path.to_owned() })
}

/// True if a server answers as is recorded, but for what it chooses at random.
fn is_alike(recorded: &Value, answered: &Value, requests: &str) -> bool {
    let code = answered["code"].as_u64().unwrap_or_default();
    recorded["warnings"] == answered["warnings"]
        && difference(recorded, code, &answered["answer"], requests).is_none()
}
