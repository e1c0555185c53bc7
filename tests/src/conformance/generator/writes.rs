//! Create, update, status, delete.

use random_operations::rng::Rng;
use serde_json::{Value, json};

use super::objects::{self, UID};
use super::{Generator, JSON, PROTOBUF, Resource, TABLE, object, query};
use crate::conformance::request::{Body, Cell, Edit, Request};

fn cell(resource: &Resource, verb: &'static str, option: &'static str) -> Cell {
    Cell { resource: resource.plural, verb, option }
}

/// Sets the encoding of the answer that an option asks for.
pub(super) fn answer(request: &mut Request, option: &str) {
    match option {
        "answer protobuf" => request.accept = Some(PROTOBUF),
        "answer table" => request.accept = Some(TABLE),
        _ => {}
    }
}

/// Changes one value to one of another type.
fn wrong_type(rng: &mut Rng, document: &mut Value) {
    let mut pointers = checked(document);
    pointers.retain(|pointer| !matches!(pointer.as_str(), "/apiVersion" | "/kind"));
    let pointer = rng.pick(&pointers).clone();
    let others = [
        json!("text"),
        json!(7),
        json!(-1.5),
        json!(true),
        json!({"a": "b"}),
        json!(["x"]),
        json!(12_345_678_901_i64),
        json!({}),
        json!([{}]),
    ];
    let value = rng.pick(&others).clone();
    // The real server's error about the labels of a template prints an empty map as such, the embedded server's as null.
    if !(value == json!({}) && pointer == "/spec/template/metadata/labels") {
        Edit::Set(pointer, value).apply(document);
    }
}

/// The pointers to values of an object that are checked.
fn checked(document: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    collect("", document, &mut pointers);
    let kind = document["kind"].as_str().unwrap_or_default();
    pointers.retain(|pointer| objects::is_checked(kind, pointer));
    pointers
}

fn collect(at: &str, value: &Value, pointers: &mut Vec<String>) {
    if !at.is_empty() {
        pointers.push(at.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, pointers);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                collect(&format!("{at}/{number}"), value, pointers);
            }
        }
        _ => {}
    }
}

/// True for a kind with a template of pods.
pub(super) fn is_workload(resource: &Resource) -> bool {
    matches!(resource.kind, "Deployment" | "ReplicaSet")
}

/// Makes a Service of one family: which of two is named in an error is chance.
fn one_family(document: &mut Value) {
    if let Some(spec) = document.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("ipFamilyPolicy");
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each option")]
pub(super) fn create(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = match option {
        "existing" => g.existing(resource),
        "bad name" => {
            (*g.rng.pick(&["Upper", "under_score", "-a", "a..b", "a/b", "1a", "a.b", "x.y-", "é"])).to_owned()
        }
        _ => g.free(resource),
    };
    let name = if option == "bad name" && !resource.namespaced { format!("⟦ns⟧-{name}") } else { name };
    let mut document = object(&mut g.rng, resource, Some(&name));
    let mut request = g.request(cell(resource, "create", option), "POST", resource.path());
    request.content_type = Some(JSON);
    request.subject = Some(resource.subject(&name));
    answer(&mut request, option);
    let mut succeeds = true;
    let mut body = None;
    match option {
        "generate name" => {
            let prefix = format!("gn{}-", request.number);
            document["metadata"].as_object_mut().unwrap().remove("name");
            document["metadata"]["generateName"] = json!(prefix);
            let name = format!("⟦name:{}⟧", request.number);
            request.subject = Some(resource.subject(&name));
            request.body = Body::Json(document);
            g.push(request);
            if g.rng.percent(50) {
                g.created(resource, &name);
            }
            return;
        }
        "dry run" => {
            request.query = query(&[("dryRun", "All")]);
            request.subject = None;
            succeeds = false;
        }
        "bad dry run" => {
            request.query = query(&[("dryRun", "Some")]);
            succeeds = false;
        }
        "protobuf" => {
            // The server encodes the object first.
            let of = request.number;
            g.push(Request {
                query: query(&[("dryRun", "All")]),
                accept: Some(PROTOBUF),
                body: Body::Json(document),
                subject: None,
                ..request.clone()
            });
            request.content_type = Some(PROTOBUF);
            request.body =
                Body::Protobuf { of, fresh: true, label: Some(("encoding", "protobuf".to_owned())) };
            if g.rng.percent(50) {
                request.accept = Some(PROTOBUF);
            }
            g.push(request);
            g.created(resource, &name);
            return;
        }
        "field manager" => {
            request.query =
                query(&[("fieldManager", *g.rng.pick(&["a", "kubectl-create", "with space", "bad\u{7}"]))])
        }
        "strict unknown field" | "warn unknown field" | "ignore unknown field" => {
            let places = [
                "/unknown",
                "/metadata/unknown",
                "/spec/unknown",
                "/spec/ports/0/unknown",
                "/metadata/Name",
                "/Metadata",
            ];
            let place = *g.rng.pick(&places);
            if place.starts_with("/spec") && document.get("spec").is_none() {
                document["unknown"] = json!(1);
            } else {
                Edit::set(place, json!({"a": 1})).apply(&mut document);
            }
            let (validation, ok) = match option {
                "strict unknown field" => ("Strict", false),
                "warn unknown field" => ("Warn", true),
                _ => ("Ignore", true),
            };
            request.query = query(&[("fieldValidation", validation)]);
            succeeds = ok;
        }
        "invalid" => {
            for edit in (resource.invalid)(&mut g.rng) {
                edit.apply(&mut document);
            }
            succeeds = false;
        }
        "wrong type" => {
            wrong_type(&mut g.rng, &mut document);
            one_family(&mut document);
            succeeds = false;
        }
        "null fields" => {
            let pointer = g.rng.pick(&checked(&document)).clone();
            Edit::Set(pointer, Value::Null).apply(&mut document);
        }
        "wrong kind" => {
            // The embedded server refuses kinds of other paths like these.
            document["kind"] = json!(*g.rng.pick(&["Unknown", "pod"]));
            succeeds = false;
        }
        "wrong version" => {
            document["apiVersion"] = json!(*g.rng.pick(&["v2", "example.com/v1", "a/b/c", "V1"]));
            succeeds = false;
        }
        "no type" => {
            let fields = document.as_object_mut().unwrap();
            let both = g.rng.percent(60);
            fields.remove("kind");
            if both {
                fields.remove("apiVersion");
            }
            succeeds = both;
        }
        "other namespace" => {
            document["metadata"]["namespace"] = json!(*g.rng.pick(&["elsewhere", "⟦ns⟧", ""]));
            succeeds = false;
        }
        "no name" => {
            document["metadata"].as_object_mut().unwrap().remove("name");
            one_family(&mut document);
            succeeds = false;
        }
        "with version" => {
            document["metadata"]["resourceVersion"] = json!(*g.rng.pick(&["7", "0", "x", ""]));
            succeeds = false;
        }
        "bad name" => {
            one_family(&mut document);
            succeeds = false;
        }
        "with uid" => document["metadata"]["uid"] = json!(UID),
        "content type" => {
            request.content_type = *g.rng.pick(&[
                None,
                Some("text/plain"),
                Some("application/xml"),
                Some("application/json; charset=utf-8"),
                Some("application/json;stream=watch"),
                Some("bad"),
                Some("application/merge-patch+json"),
                Some("application/cbor"),
                Some("*/*"),
                Some(""),
            ]);
            succeeds = false;
        }
        "missing namespace" => {
            request.path = request.path.replace("⟦ns⟧", "⟦ns⟧-none");
            succeeds = false;
        }
        "random bytes" => {
            request.content_type = Some(PROTOBUF);
            let bytes: [&[u8]; 7] = [
                b"\xff\xfe",
                b"k8s\0\xff",
                b"k8s\0",
                b"k8s\0\x0a\x05",
                // An unknown field that ends early.
                b"k8s\0\x0a\x04\x0a\x02v1\x12\x02\xa2\x1f",
                b"\x00",
                b"k9s\0\x0a",
            ];
            let mut bytes = *g.rng.pick(&bytes);
            if is_workload(resource) && bytes == b"k8s\0" {
                // An empty object.
                bytes = b"\x00";
            }
            body = Some(Body::Bytes(bytes));
            succeeds = false;
        }
        _ => {}
    }
    request.body = body.unwrap_or(Body::Json(document));
    g.push(request);
    if succeeds {
        g.created(resource, &name);
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each option")]
pub(super) fn update(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = g.existing(resource);
    let subject = resource.subject(&name);
    let mut request = g.request(cell(resource, "update", option), "PUT", resource.object_path(&name));
    request.content_type = Some(JSON);
    request.subject = Some(subject.clone());
    answer(&mut request, option);
    let mut edits = if option == "unchanged" { Vec::new() } else { (resource.change)(&mut g.rng) };
    match option {
        "no version" => edits.push(Edit::remove("/metadata/resourceVersion")),
        "stale version" => edits.push(Edit::set("/metadata/resourceVersion", format!("⟦first:{subject}⟧"))),
        "future version of object" => edits.push(Edit::set("/metadata/resourceVersion", "999999999999")),
        "wrong uid" => edits.push(Edit::set("/metadata/uid", UID)),
        "no uid" => edits.push(Edit::remove("/metadata/uid")),
        "missing" => request.path = resource.object_path("⟦ns⟧-none"),
        "other name" => edits.push(Edit::set("/metadata/name", *g.rng.pick(&["other", ""]))),
        "other namespace" => edits.push(Edit::set("/metadata/namespace", *g.rng.pick(&["elsewhere", ""]))),
        "protobuf" => {
            let of = request.number;
            g.push(Request {
                method: "GET",
                content_type: None,
                accept: Some(PROTOBUF),
                subject: None,
                ..request.clone()
            });
            let label = g.rng.percent(60).then(|| ("encoding", format!("u{of}")));
            let fresh = g.rng.percent(15);
            request.content_type = Some(PROTOBUF);
            request.body = Body::Protobuf { of, fresh, label };
            g.push(request);
            return;
        }
        "invalid" => edits = (resource.invalid)(&mut g.rng),
        "dry run" => {
            request.query = query(&[("dryRun", "All")]);
            request.subject = None;
        }
        "wrong type" => {
            let mut document = object(&mut g.rng, resource, Some(&name));
            wrong_type(&mut g.rng, &mut document);
            request.body = Body::Json(document);
            g.push(request);
            return;
        }
        "empty body" => {
            request.body = Body::Text((*g.rng.pick(&["{}", "null"])).to_owned());
            g.push(request);
            return;
        }
        "strict unknown field" | "warn unknown field" => {
            edits.push(Edit::set("/metadata/unknown", 1));
            let validation = if option == "strict unknown field" { "Strict" } else { "Warn" };
            request.query = query(&[("fieldValidation", validation)]);
        }
        "wrong kind" => edits.push(Edit::set("/kind", *g.rng.pick(&["Unknown", ""]))),
        "wrong version" => edits.push(Edit::set("/apiVersion", *g.rng.pick(&["v2", "example.com/v1", ""]))),
        "field manager" => request.query = query(&[("fieldManager", *g.rng.pick(&["a", "b"]))]),
        "metadata" => edits = objects::change_metadata(&mut g.rng),
        "replaced" => {
            let mut document = object(&mut g.rng, resource, Some(&name));
            if g.rng.percent(60) {
                document["metadata"]["resourceVersion"] = json!(format!("⟦rv:{subject}⟧"));
            }
            request.body = Body::Json(document);
            g.push(request);
            return;
        }
        _ => {}
    }
    let unseen = object(&mut g.rng, resource, Some(&name));
    request.body = Body::Latest { subject, unseen, edits };
    g.push(request);
}

pub(super) fn status(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = g.existing(resource);
    let subject = resource.subject(&name);
    let path = format!("{}/status", resource.object_path(&name));
    let mut request = g.request(cell(resource, "status", option), "PUT", path);
    request.subject = Some(subject.clone());
    request.content_type = Some(JSON);
    answer(&mut request, option);
    let mut edits = if option == "unchanged" { Vec::new() } else { (resource.status_change)(&mut g.rng) };
    match option {
        "get" => {
            request.method = "GET";
            request.content_type = None;
            g.push(request);
            return;
        }
        "stale version" => edits.push(Edit::set("/metadata/resourceVersion", format!("⟦first:{subject}⟧"))),
        "missing" => request.path = format!("{}/status", resource.object_path("⟦ns⟧-none")),
        "dry run" => {
            request.query = query(&[("dryRun", "All")]);
            request.subject = None;
        }
        "wrong type" => edits.push(Edit::set("/status", *g.rng.pick(&["text", ""]))),
        "merge patch" | "strategic patch" | "apply" => {
            request.method = "PATCH";
            super::patches::of_edits(&mut g.rng, &mut request, resource, option, &edits);
            g.push(request);
            return;
        }
        _ => {}
    }
    let unseen = object(&mut g.rng, resource, Some(&name));
    request.body = Body::Latest { subject, unseen, edits };
    g.push(request);
}

#[expect(clippy::too_many_lines, reason = "one arm for each option")]
pub(super) fn delete(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = if option == "missing" { resource.name(9) } else { g.existing(resource) };
    let subject = resource.subject(&name);
    if option == "finalizer" {
        // It stays until the finalizer is removed.
        let mut request = g.request(cell(resource, "delete", option), "PATCH", resource.object_path(&name));
        request.content_type = Some("application/merge-patch+json");
        request.subject = Some(subject.clone());
        request.body = Body::Json(json!({"metadata": {"finalizers": ["example.com/keep"]}}));
        g.push(request);
    }
    let mut request = g.request(cell(resource, "delete", option), "DELETE", resource.object_path(&name));
    request.subject = Some(subject.clone());
    answer(&mut request, option);
    let mut options = Value::Null;
    let mut succeeds = true;
    match option {
        "dry run" => {
            if g.rng.percent(50) {
                request.query = query(&[("dryRun", "All")]);
            } else {
                options = json!({"dryRun": ["All"]});
            }
            request.subject = None;
            succeeds = false;
        }
        "uid" => options = json!({"preconditions": {"uid": format!("⟦uid:{subject}⟧")}}),
        "wrong uid" => {
            options = json!({"preconditions": {"uid": UID}});
            succeeds = false;
        }
        "version" => options = json!({"preconditions": {"resourceVersion": format!("⟦rv:{subject}⟧")}}),
        "stale version" => {
            options = json!({"preconditions": {"resourceVersion": format!("⟦first:{subject}⟧")}})
        }
        "background" => options = json!({"propagationPolicy": "Background"}),
        "grace 0" => options = json!({"gracePeriodSeconds": 0}),
        "grace 1" => options = json!({"gracePeriodSeconds": 1}),
        "grace 100" => options = json!({"gracePeriodSeconds": 100}),
        "negative grace" => options = json!({"gracePeriodSeconds": -1}),
        "query grace" => request.query = query(&[("gracePeriodSeconds", *g.rng.pick(&["0", "100"]))]),
        "wrong kind" => {
            options = json!({"kind": "Pod", "apiVersion": "v1"});
            succeeds = false;
        }
        "unknown field" => options = json!({"unknown": 1, "gracePeriodSeconds": 0}),
        "finalizer" => succeeds = false,
        _ => {}
    }
    if let Value::Object(fields) = &mut options {
        if g.rng.percent(70) && option != "wrong kind" {
            fields.insert("kind".to_owned(), json!("DeleteOptions"));
            fields.insert(
                "apiVersion".to_owned(),
                json!(*g.rng.pick(&["v1", "v1", "meta.k8s.io/v1", resource.api_version])),
            );
        }
        request.content_type = Some(JSON);
        request.body = Body::Json(options);
    }
    g.push(request);
    if option == "finalizer" {
        let mut request = g.request(cell(resource, "delete", option), "PATCH", resource.object_path(&name));
        request.content_type = Some("application/merge-patch+json");
        request.subject = Some(subject);
        request.body = Body::Json(json!({"metadata": {"finalizers": null}}));
        if g.rng.percent(60) {
            g.push(request);
            succeeds = true;
        }
    }
    if succeeds {
        g.deleted(resource, &name);
    }
}
