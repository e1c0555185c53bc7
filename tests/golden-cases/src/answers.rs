//! Recorded answers of a real API server, compared with others: without what is empty, and what differs from run to run.

use serde_json::Value;

/// Removes fields and items that are empty, false or zero.
pub fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, without_empty(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The object without what differs from run to run: random addresses and ports that no request of the case names.
fn canonical(body: &Value, requests: &str) -> Value {
    let mut body = without_empty(body.clone());
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

/// The difference of an answer from the recorded one of a request. `requests` has the bodies of all requests of the case.
pub fn difference(request: &Value, own_code: u64, own: &Value, requests: &str) -> Option<String> {
    let wanted = &request["answer"];
    let code = request["code"].as_u64().unwrap();
    if code != own_code {
        return Some(format!("code {code} became {own_code}: {own}\nwanted {wanted}"));
    }
    if code >= 400 {
        let (wanted_causes, own_causes) = (causes(wanted, requests), causes(own, requests));
        if wanted_causes != own_causes {
            return Some(format!("causes {wanted_causes:#?}\nbecame {own_causes:#?}"));
        }
        let subject = |body: &Value| ["name", "group", "kind"].map(|key| body["details"][key].clone());
        if subject(wanted) != subject(own)
            || wanted["reason"] != own["reason"] && !wanted["reason"].as_str().unwrap_or_default().is_empty()
        {
            return Some(format!("details of {wanted} became {own}"));
        }
        let (wanted, own) = (message(wanted, requests), message(own, requests));
        if wanted_causes.len() < 2 && wanted != own {
            return Some(format!("message {wanted}\nbecame {own}"));
        }
        return None;
    }
    let (wanted, own) = (canonical(wanted, requests), canonical(own, requests));
    (request["method"] != "DELETE" && wanted != own).then(|| format!("object {wanted}\nbecame {own}"))
}
