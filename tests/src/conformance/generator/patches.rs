//! Patches: merge, strategic merge, apply.

use random_operations::rng::Rng;
use serde_json::{Map, Value, json};

use super::objects::{self, UID};
use super::{Generator, JSON, Resource, object, query, writes};
use crate::conformance::request::{Body, Cell, Edit, Request};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// The merge patch with the same effect as edits outside of lists.
fn merge(edits: &[Edit]) -> Value {
    let mut patch = json!({});
    for edit in edits {
        let (pointer, value) = match edit {
            Edit::Set(pointer, value) => (pointer, value.clone()),
            Edit::Remove(pointer) => (pointer, Value::Null),
        };
        // An item of a list has no place in a merge patch.
        if pointer.split('/').any(|key| key.parse::<usize>().is_ok()) {
            Edit::set("/metadata/labels/merged", "x").apply(&mut patch);
            continue;
        }
        let mut at = &mut patch;
        for key in pointer.split('/').skip(1) {
            if !at.is_object() {
                *at = json!({});
            }
            let key = key.replace("~1", "/").replace("~0", "~");
            at = at.as_object_mut().unwrap().entry(key).or_insert(Value::Null);
        }
        if at.is_null() {
            *at = value;
        }
    }
    patch
}

/// A patch of the kind that an option of the status verb names.
pub(super) fn of_edits(
    rng: &mut Rng,
    request: &mut Request,
    resource: &Resource,
    option: &str,
    edits: &[Edit],
) {
    let (content_type, body) = match option {
        "strategic patch" => (STRATEGIC, merge(edits)),
        "apply" => {
            request.query = query(&[("fieldManager", "status-manager"), ("force", "true")]);
            let mut patch = merge(edits);
            patch["apiVersion"] = json!(resource.api_version);
            patch["kind"] = json!(resource.kind);
            (APPLY, patch)
        }
        _ => (MERGE, merge(edits)),
    };
    request.content_type = Some(content_type);
    request.body = Body::Json(body);
    if rng.percent(10) {
        request.query.push(("dryRun".to_owned(), "All".to_owned()));
        request.subject = None;
    }
}

pub(super) fn patch(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = if option == "apply create" { g.free(resource) } else { g.existing(resource) };
    let subject = resource.subject(&name);
    let cell = Cell { resource: resource.plural, verb: "patch", option };
    let mut request = g.request(cell, "PATCH", resource.object_path(&name));
    request.subject = Some(subject.clone());
    writes::answer(&mut request, option);
    let edits = (resource.change)(&mut g.rng);
    if option.starts_with("apply") {
        apply(g, resource, option, &name, request);
        return;
    }
    let (content_type, body) = if option.starts_with("strategic") {
        (STRATEGIC, Body::Json(strategic_option(g, resource, option, &edits)))
    } else {
        other_option(g, resource, option, &edits, &subject, &mut request)
    };
    request.content_type.get_or_insert(content_type);
    if option == "no content type" {
        request.content_type = None;
    }
    request.body = body;
    g.push(request);
}

fn other_option(
    g: &mut Generator,
    resource: &Resource,
    option: &str,
    edits: &[Edit],
    subject: &str,
    request: &mut Request,
) -> (&'static str, Body) {
    let mut patch = merge(edits);
    let set =
        |patch: &mut Value, pointer: &str, value: Value| Edit::Set(pointer.to_owned(), value).apply(patch);
    match option {
        "merge version" => set(&mut patch, "/metadata/resourceVersion", json!(format!("⟦rv:{subject}⟧"))),
        "merge stale version" => {
            set(&mut patch, "/metadata/resourceVersion", json!(format!("⟦first:{subject}⟧")))
        }
        "merge uid" => set(&mut patch, "/metadata/uid", json!(UID)),
        "merge invalid" => patch = merge(&(resource.invalid)(&mut g.rng)),
        "merge name" => {
            let field = *g.rng.pick(&["/metadata/name", "/metadata/namespace", "/kind", "/apiVersion"]);
            set(&mut patch, field, json!("other"));
        }
        "merge missing" => request.path = resource.object_path("⟦ns⟧-none"),
        "merge dry run" => {
            request.query = query(&[("dryRun", "All")]);
            request.subject = None;
        }
        "merge wrong type" => {
            let field = *g.rng.pick(&[
                "/metadata/labels",
                "/metadata/labels/app",
                "/spec",
                "/metadata/finalizers",
                "/metadata",
            ]);
            let value =
                g.rng.pick(&[json!(1), json!("x"), json!([1]), json!({"a": {"b": 1}}), json!(true)]).clone();
            set(&mut patch, field, value);
        }
        "merge unknown field" => {
            set(&mut patch, "/metadata/unknown", json!(1));
            let validation = *g.rng.pick(&["Strict", "Warn", "Ignore"]);
            request.query = query(&[("fieldValidation", validation)]);
        }
        "wrong content type" => {
            let types = [
                JSON,
                "application/yaml",
                "application/apply-patch+cbor",
                "text/plain",
                "application/json-patch",
                "application/merge-patch+json; charset=utf-8",
            ];
            request.content_type = Some(*g.rng.pick(&types));
        }
        "truncated" => {
            request.content_type = Some(*g.rng.pick(&[MERGE, STRATEGIC]));
            return (MERGE, Body::Text("{\"metadata\":{\"labels\":".to_owned()));
        }
        "empty body" => {
            request.content_type = Some(*g.rng.pick(&[MERGE, STRATEGIC, APPLY]));
            return (MERGE, Body::Text(String::new()));
        }
        "empty patch" => {
            request.content_type = Some(*g.rng.pick(&[MERGE, STRATEGIC]));
            patch = json!({});
        }
        "field manager" => request.query = query(&[("fieldManager", *g.rng.pick(&["a", "b"]))]),
        "force without apply" => request.query = query(&[("force", "true"), ("fieldManager", "a")]),
        _ => {}
    }
    (MERGE, Body::Json(patch))
}

/// Patches of the lists that have a merge key, by resource.
fn lists(resource: &Resource) -> Vec<Value> {
    match resource.plural {
        "pods" => vec![
            json!({"spec": {"containers": [{"name": "main", "image": "nginx:7"}]}}),
            json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            json!({"metadata": {"finalizers": ["example.com/merged"]}}),
        ],
        "services" => vec![
            json!({"spec": {"ports": [{"port": 80, "targetPort": 8081}]}}),
            json!({"spec": {"ports": [{"port": 80, "name": "http"}, {"port": 99, "name": "more"}]}}),
            json!({"spec": {"externalIPs": ["192.168.0.77"]}}),
        ],
        "deployments" | "replicasets" => vec![
            json!({"spec": {"template": {"spec": {"containers": [{"name": "extra", "image": "busybox"}]}}}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]}}}}),
        ],
        "endpointslices" => vec![
            json!({"ports": [{"name": "added", "port": 5}]}),
            json!({"endpoints": [{"addresses": ["10.0.0.55"]}]}),
        ],
        "endpoints" => {
            vec![json!({"subsets": [{"addresses": [{"ip": "10.0.0.55"}], "ports": [{"port": 5}]}]})]
        }
        "serviceaccounts" => {
            vec![json!({"imagePullSecrets": [{"name": "added"}]})]
        }
        "nodes" => vec![json!({"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}})],
        _ => vec![
            json!({"metadata": {"finalizers": ["example.com/merged"]}}),
            json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": UID}]}}),
        ],
    }
}

fn strategic_option(g: &mut Generator, resource: &Resource, option: &str, edits: &[Edit]) -> Value {
    let choices = match option {
        "strategic lists" => lists(resource),
        "strategic delete" => match resource.plural {
            "pods" => vec![
                json!({"spec": {"containers": [{"$patch": "delete", "name": "side"}]}}),
                json!({"metadata": {"labels": {"$patch": "delete"}}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/keep"]}}),
            ],
            "services" => vec![
                json!({"spec": {"ports": [{"$patch": "delete", "port": 443}]}}),
                json!({"spec": {"selector": {"$patch": "delete"}}}),
            ],
            _ => vec![
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/keep"]}}),
                json!({"metadata": {"annotations": {"$patch": "delete"}}}),
                json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": UID}]}}),
            ],
        },
        "strategic replace" => match resource.plural {
            "services" => vec![
                json!({"spec": {"ports": [{"$patch": "replace"}, {"port": 90}]}}),
                json!({"spec": {"selector": {"$patch": "replace", "new": "x"}}}),
            ],
            "pods" => vec![
                json!({"metadata": {"labels": {"$patch": "replace", "sequence": "⟦ns⟧"}}}),
                json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "main", "image": "nginx:8"}]}}),
            ],
            _ => vec![
                json!({"metadata": {"labels": {"$patch": "replace", "sequence": "⟦ns⟧"}}}),
                json!({"metadata": {"annotations": {"$patch": "replace", "x": "y"}}}),
            ],
        },
        "strategic order" => match resource.plural {
            "services" => vec![
                json!({"spec": {"$setElementOrder/ports": [{"port": 443}, {"port": 80}], "ports": [{"port": 80, "name": "http"}]}}),
            ],
            "pods" => vec![
                json!({"spec": {"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}], "containers": [{"name": "main", "image": "nginx:5"}]}}),
            ],
            _ => vec![
                json!({"metadata": {"$setElementOrder/finalizers": ["example.com/more", "example.com/keep"], "finalizers": ["example.com/more"]}}),
            ],
        },
        "strategic retain keys" if resource.plural == "deployments" => {
            vec![json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})]
        }
        "strategic invalid" => {
            let mut patch = merge(&(resource.invalid)(&mut g.rng));
            // An owner without a uid cannot be merged, which the embedded server says in other words.
            if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("ownerReferences");
            }
            vec![patch]
        }
        _ => vec![merge(edits)],
    };
    g.rng.pick(&choices).clone()
}

/// Leaves out what would make a Service of type `ExternalName` with a policy for traffic, which the real server stores and
/// does not always show.
fn without_external_name(service: &mut Map<String, Value>) {
    let Some(Value::Object(spec)) = service.get_mut("spec") else { return };
    spec.remove("internalTrafficPolicy");
    if spec.remove("externalName").is_some() {
        spec.remove("type");
    }
}

/// The fields that a manager has opinions about: a part of an object.
fn applied(rng: &mut Rng, resource: &Resource, name: &str) -> Map<String, Value> {
    let full = object(rng, resource, Some(name));
    let mut applied = full.as_object().unwrap().clone();
    if resource.plural == "services" {
        without_external_name(&mut applied);
    }
    let mut metadata = json!({"name": name, "labels": {"sequence": "⟦ns⟧"}});
    for edit in objects::change_metadata(rng) {
        if let Edit::Set(pointer, value) = edit
            && [
                "/metadata/labels",
                "/metadata/annotations",
                "/metadata/finalizers",
                "/metadata/ownerReferences",
            ]
            .iter()
            .any(|start| pointer.starts_with(start))
        {
            Edit::Set(pointer.replacen("/metadata", "", 1), value).apply(&mut metadata);
        }
    }
    applied.insert("metadata".to_owned(), metadata);
    applied
}

/// The required fields of an object.
fn fewer_fields(document: &Value, resource: &Resource) -> Value {
    let mut kept = vec!["apiVersion", "kind"];
    if writes::is_workload(resource) {
        // The selector and the template.
        kept.push("spec");
    }
    Value::Object(kept.into_iter().map(|key| (key.to_owned(), document[key].clone())).collect())
}

fn apply(
    g: &mut Generator,
    resource: &'static Resource,
    option: &'static str,
    name: &str,
    mut request: Request,
) {
    let mut document = Value::Object(applied(&mut g.rng, resource, name));
    let mut manager = "applier";
    let mut force = g.rng.percent(30);
    match option {
        "apply other manager" => manager = "second",
        "apply conflict" => {
            manager = "third";
            force = false;
            document["metadata"]["labels"]["app"] = json!(*g.rng.pick(&["x", "z"]));
        }
        "apply force" => {
            manager = "third";
            force = true;
            document["metadata"]["labels"]["app"] = json!(*g.rng.pick(&["x", "z"]));
        }
        "apply no manager" => manager = "",
        "apply fewer fields" => {
            force = true;
            let labels = if g.rng.percent(80) { json!({"sequence": "⟦ns⟧"}) } else { json!({}) };
            document = fewer_fields(&document, resource);
            document["metadata"] = json!({"name": name, "labels": labels});
        }
        "apply wrong kind" => {
            let (field, value) =
                *g.rng.pick(&[("kind", "ConfigMap"), ("apiVersion", "v9"), ("kind", ""), ("apiVersion", "")]);
            document[field] = json!(value);
        }
        "apply managed fields" => {
            document["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}])
        }
        "apply dry run" => {
            request.query = query(&[("dryRun", "All")]);
            request.subject = None;
        }
        "apply unknown field" => {
            let place = *g.rng.pick(&["/unknown", "/metadata/unknown"]);
            Edit::set(place, 1).apply(&mut document);
            let validation = *g.rng.pick(&["Strict", "Warn", "Ignore"]);
            request.query = query(&[("fieldValidation", validation)]);
        }
        "apply invalid" => (resource.invalid)(&mut g.rng).iter().for_each(|edit| edit.apply(&mut document)),
        "apply missing name" => {
            let value = g.rng.pick(&[json!("other"), Value::Null]).clone();
            document["metadata"]["name"] = value;
        }
        "apply version" => {
            document["metadata"]["resourceVersion"] =
                json!(format!("⟦{}:{}⟧", *g.rng.pick(&["rv", "first"]), resource.subject(name)))
        }
        _ => {}
    }
    if !manager.is_empty() {
        request.query.push(("fieldManager".to_owned(), manager.to_owned()));
    }
    if force {
        request.query.push(("force".to_owned(), "true".to_owned()));
    }
    request.content_type = Some(APPLY);
    request.body = Body::Json(document);
    g.push(request);
    if matches!(option, "apply" | "apply create" | "apply force" | "apply other manager") {
        g.created(resource, name);
    }
}
