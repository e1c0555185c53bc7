//! Requests to kube-apiserver 1.37.2 and its answers, recorded in `tests/facts.jsonl`: one case a line, each a list of
//! requests in order. Answers hold no field that is empty, false or zero, no uid, no versions and no creation time.
//!
//! `KINDS_FACTS` names another file of this form, such as one of random requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::codec::json::{self, FieldValidation};
use crate::environment::SystemEnvironment;
use crate::schema::{Shape, Type};
use crate::status::Status;

use super::*;

struct NoNodes;

impl Cluster for NoNodes {
    fn node_labels(&self, _name: &str) -> Option<Value> {
        None
    }
}

/// Just enough of the write verbs to send a case.
struct Server {
    environment: SystemEnvironment,
    allocators: Arc<Allocators>,
    objects: BTreeMap<String, Value>,
}

struct Answer {
    code: u64,
    body: Value,
}

impl Server {
    fn new() -> Self {
        let allocators = Arc::new(Allocators::new(Ranges::default()));
        Self { environment: SystemEnvironment::seeded(1), allocators, objects: BTreeMap::new() }
    }

    fn send(&mut self, request: &Value) -> Answer {
        let path = request["path"].as_str().unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let target = Target::parse(path);
        let kind = target.kind;
        match request["method"].as_str().unwrap() {
            "DELETE" => {
                let old = self.objects.remove(&target.key()).unwrap();
                kind.strategy.release(&self.allocators, &old);
                Answer { code: 200, body: json!({}) }
            }
            method => self.write(method, &target, query.contains("dryRun"), &request["body"]),
        }
    }

    fn write(&mut self, method: &str, target: &Target<'_>, dry_run: bool, body: &Value) -> Answer {
        let kind = target.kind;
        let scope = Scope {
            kind,
            namespace: target.namespace,
            subresource: target.subresource,
            dry_run,
            environment: &self.environment,
            allocators: &self.allocators,
            cluster: &NoNodes,
        };
        let of = Type::named(kind.type_name).unwrap();
        let (mut body, _) = json::decode(of, body.clone(), FieldValidation::Ignore).unwrap();
        kind.strategy.default(&mut body);
        let old = if method == "PUT" { self.objects.get(&target.key()) } else { None };
        let result = match old {
            None if method == "PUT" && !kind.strategy.creates_on_update() => {
                Err(Status::not_found(kind.group, kind.plural, target.name))
            }
            None => before_create(&scope, &mut body).and_then(|prepared| {
                if body["metadata"]["resourceVersion"].is_null() || dry_run {
                    return Ok((201, prepared));
                }
                Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"))
            }),
            Some(old) => {
                let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
                if version.is_empty() && !kind.strategy.updates_unconditionally() {
                    let mut errors = Errors::default();
                    errors.invalid(
                        &Path::root("metadata.resourceVersion"),
                        0,
                        "must be specified for an update",
                    );
                    Err(errors.into_status(kind.group, kind.plural, target.name))
                } else {
                    body["metadata"]["resourceVersion"] = "1".into();
                    before_update(&scope, &mut body, old).map(|prepared| (200, prepared))
                }
            }
        };
        match result {
            Err(status) => {
                let status = status.to_json();
                let body = json!({ "message": status["message"], "reason": status["reason"], "details": status["details"] });
                Answer { code: status["code"].as_u64().unwrap(), body }
            }
            Ok((code, prepared)) => {
                prepared.commit();
                let name = body["metadata"]["name"].as_str().unwrap().to_owned();
                assert_canonical(kind, &body);
                if !dry_run {
                    self.objects.insert(format!("{}/{}/{name}", kind.plural, target.namespace), body.clone());
                }
                Answer { code, body }
            }
        }
    }
}

/// Rules change trees so that they stay canonical.
fn assert_canonical(kind: &Kind, object: &Value) {
    let of = Type::named(kind.type_name).unwrap();
    let (canonical, problems) = json::decode(of, object.clone(), FieldValidation::Strict).unwrap();
    assert_eq!(*object, canonical, "a {} is not canonical", kind.kind);
    assert!(problems.is_empty(), "{problems:?}");
}

struct Target<'a> {
    kind: &'static Kind,
    namespace: &'a str,
    name: &'a str,
    subresource: &'a str,
}

impl<'a> Target<'a> {
    fn parse(path: &'a str) -> Self {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, rest) =
            if segments[0] == "api" { ("", &segments[2..]) } else { (segments[1], &segments[3..]) };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (*namespace, rest)
            }
            rest => ("", rest),
        };
        let kind = KINDS.iter().find(|kind| kind.group == group && kind.plural == rest[0]).unwrap();
        let at = |index: usize| rest.get(index).copied().unwrap_or_default();
        Self { kind, namespace, name: at(1), subresource: at(2) }
    }

    fn key(&self) -> String {
        format!("{}/{}/{}", self.kind.plural, self.namespace, self.name)
    }
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
        for key in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"] {
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

/// The text up to what is not reproduced, differences of Go structs, and without random addresses and ports.
fn shown(text: &str, requests: &str) -> String {
    let text = text.split('\n').next().unwrap_or_default();
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

#[test]
fn answers_as_the_real_server() {
    let mut failures = Vec::new();
    let mut count = 0;
    let recorded = std::env::var("KINDS_FACTS").map(|path| std::fs::read_to_string(path).unwrap());
    for line in recorded.as_deref().unwrap_or(include_str!("tests/facts.jsonl")).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let steps = case.as_array().unwrap();
        let requests: String = steps.iter().map(|step| step["body"].to_string()).collect();
        let mut server = Server::new();
        for step in steps {
            // Preconditions are not the business of the kinds.
            let is_precondition =
                step["code"] == 409 || message(&step["answer"], "").contains("name on the URL");
            if is_precondition {
                break;
            }
            let answer = server.send(step);
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
