//! Tables: columns and rows of odd objects are those of the real server.

use jiff::{SignedDuration, Timestamp, Unit};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tests::requests;
use tests::wait::{self, LIMIT};

use super::side::Side;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const NAMESPACE: &str = "tables";

/// Each kind, with its API version.
const KINDS: [(&str, &str); 11] = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Endpoints"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("v1", "Event"),
    ("coordination.k8s.io/v1", "Lease"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "Deployment"),
];

fn collection(api_version: &str, kind: &str) -> String {
    let namespace = (!matches!(kind, "Node" | "Namespace")).then_some(NAMESPACE);
    let metadata = json!({"namespace": namespace});
    requests::collection(&json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
}

/// The objects of `tables.yaml`, at this time.
fn objects(now: Timestamp) -> Vec<Value> {
    let mut text = String::new();
    let mut rest = include_str!("tables.yaml");
    while let Some((before, after)) = rest.split_once(": NOW-") {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (seconds, after) = after.split_at(digits);
        let time = now - SignedDuration::from_secs(seconds.parse().expect("seconds"));
        let time = time.round(Unit::Second).expect("a time");
        // Micro times are marked by a fraction.
        let (precision, after) = after.strip_prefix(".000000").map_or((0, after), |after| (6, after));
        text.extend([before, ": \"", &format!("{time:.precision$}"), "\""]);
        rest = after;
    }
    text += rest;
    let objects = Value::deserialize(serde_yaml::Deserializer::from_str(&text)).expect("objects");
    let Value::Array(mut objects) = objects else { panic!("tables.yaml holds a list") };
    for object in &mut objects {
        let fields = object.as_object_mut().expect("an object");
        fields.entry("apiVersion").or_insert_with(|| json!("v1"));
    }
    objects
}

async fn create(side: &Side, objects: &[Value]) {
    side.send("POST", "/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}})).await;
    for object in objects {
        let text = |field: &str| object[field].as_str().expect("a version and a kind");
        let collection = collection(text("apiVersion"), text("kind"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        let mut created = side.send("POST", &collection, object).await;
        assert_eq!(created["metadata"]["name"], name, "creation on the {} server: {created}", side.name);
        if let Some(status) = object.get("status") {
            created["status"] = status.clone();
            let answer = side.send("PUT", &format!("{collection}/{name}/status"), &created).await;
            assert_eq!(answer["metadata"]["name"], name, "status on the {} server: {answer}", side.name);
        }
        if object.pointer("/metadata/annotations/delete").is_some() {
            side.send("DELETE", &format!("{collection}/{name}"), &json!({})).await;
        }
    }
}

/// Name, cells without ages of seconds, and conditions of each row.
fn rows(table: &Value) -> Vec<Value> {
    let rows = table["rows"].as_array().expect("rows").iter();
    let names = |row: &Value| row["object"]["metadata"]["name"].as_str().expect("a name").to_owned();
    let cell = |cell: &Value| match cell.as_str() {
        // The servers are not asked at the same moment; ages have tests of their own.
        Some(text) => json!(text.split(' ').map(age).collect::<Vec<_>>().join(" ")),
        None => cell.clone(),
    };
    let row = |row: &Value| {
        let cells: Vec<_> = row["cells"].as_array().expect("cells").iter().map(cell).collect();
        json!({"name": names(row), "cells": cells, "conditions": row.get("conditions")})
    };
    // The servers' own namespaces differ, and the real one reports what it finds out about cluster IPs.
    let ours = |row: &&Value| {
        let name = names(row);
        let by_server = row["cells"].to_string().contains("ipallocator-repair-controller");
        name != "default" && !name.starts_with("kube-") && !by_server
    };
    rows.filter(ours).map(row).collect()
}

/// Replaces the smallest unit of an age, which changes while the test runs.
fn age(word: &str) -> String {
    let inner = word.trim_matches(['(', ')']);
    let is_age =
        inner.ends_with(['s', 'm']) && inner.chars().all(|c| c.is_ascii_digit() || "smhd".contains(c));
    if !is_age || inner.len() < 2 {
        return word.to_owned();
    }
    let large = inner[..inner.len() - 1].trim_end_matches(|c: char| c.is_ascii_digit());
    word.replacen(inner, &format!("{large}<n>"), 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_are_those_of_the_real_server() {
    let objects = objects(Timestamp::now());
    let (real, embedded) = tokio::join!(Box::pin(Side::real()), Side::embedded());
    tokio::join!(create(&real, &objects), create(&embedded, &objects));
    let mut compared = 0;
    for (version, kind) in KINDS {
        for parameter in ["", "?includeObject=Object&limit=3"] {
            let path = format!("{}{parameter}", collection(version, kind));
            let (first, second) = tokio::join!(real.get(&path, TABLE), embedded.get(&path, TABLE));
            assert_eq!(first["columnDefinitions"], second["columnDefinitions"], "columns at {path}");
            assert_eq!(shape(&first), shape(&second), "shape at {path}");
            if parameter.is_empty() {
                compared += same_rows(&real, &embedded, &path).await;
            }
        }
    }
    assert!(compared >= objects.len(), "only {compared} rows of {} objects", objects.len());
}

/// Compares the rows of both servers, again if the minutes of an age may have changed between the two answers. Returns their
/// number.
async fn same_rows(real: &Side, embedded: &Side, path: &str) -> usize {
    wait::until(&format!("the same rows at {path}"), LIMIT, async || {
        let (real, embedded) = tokio::join!(real.get(path, TABLE), embedded.get(path, TABLE));
        let (real, embedded) = (rows(&real), rows(&embedded));
        if real == embedded {
            Ok(real.len())
        } else {
            Err(format!("real: {real:#?}\nembedded: {embedded:#?}"))
        }
    })
    .await
}

/// The head of a table, and the kind of object that its rows show.
fn shape(table: &Value) -> Value {
    let rows = table["rows"].as_array().expect("rows").iter();
    let first = rows.map(|row| json!([row["object"]["kind"], row["object"]["apiVersion"]])).next();
    let metadata = table["metadata"].as_object().expect("metadata");
    json!([table["kind"], table["apiVersion"], metadata.keys().collect::<Vec<_>>(), first])
}

/// A column with the fields in the order of Go's struct.
fn ordered(column: &Value) -> String {
    let fields = ["name", "type", "format", "description", "priority"];
    format!("{{{}}}", fields.map(|field| format!("{field:?}:{}", column[field])).join(","))
}

/// The columns of each kind on the real server, in the form in which the embedded server keeps them.
pub(super) async fn columns(real: &Side) -> String {
    let mut columns = Vec::new();
    for (version, kind) in KINDS {
        let table = real.get(&collection(version, kind), TABLE).await;
        let group = version.split_once('/').map_or(String::new(), |(group, _)| format!("{group}/"));
        columns.push((group + kind, table["columnDefinitions"].clone()));
    }
    columns.sort_by(|a, b| a.0.cmp(&b.0));
    let lines = |columns: &Value| {
        let lines =
            columns.as_array().expect("columns").iter().map(|column| format!("  {}", ordered(column)));
        lines.collect::<Vec<_>>().join(",\n")
    };
    let kinds: Vec<_> =
        columns.iter().map(|(key, of)| format!("{}: [\n{}\n]", json!(key), lines(of))).collect();
    format!("{{\n{}\n}}\n", kinds.join(",\n"))
}
