//! The result as `kubectl get` prints it.

use std::fmt::Write as _;

use cli_runtime::differences::{Change, FieldChange};
use cli_runtime::input::object::text;
use cli_runtime::printing::{aligned, json as json_document, plain, yaml};
use serde_json::{Value, json};

use crate::format::Format;

/// Objects as a `List`, without managed fields, as kubectl leaves them out.
pub(crate) fn list(items: Vec<Value>) -> Value {
    let without_managers = |mut item: Value| {
        if let Some(Value::Object(metadata)) = item.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        item
    };
    let items: Vec<Value> = items.into_iter().map(without_managers).collect();
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// A document of YAML or, for all other formats, of JSON.
pub(crate) fn document(value: &Value, format: Format) -> String {
    if format == Format::Yaml { yaml(value) } else { json_document(value) }
}

/// The rows of a response in the form of a `Table`, with the namespace first if `with_namespace`. Names begin with
/// `prefix`, such as `endpoints/`.
pub(crate) fn table(table: &Value, prefix: &str, with_namespace: bool, wide: bool) -> String {
    let columns = array(table, "columnDefinitions");
    let shown: Vec<usize> = (0..columns.len())
        .filter(|index| {
            let priority = columns.get(*index).and_then(|column| column.get("priority"));
            wide || priority.and_then(Value::as_u64).unwrap_or(0) == 0
        })
        .collect();
    let heading = |index: &usize| {
        columns.get(*index).map(|column| text(column, &["name"]).to_uppercase()).unwrap_or_default()
    };
    let namespace = with_namespace.then(|| "NAMESPACE".to_owned());
    let head = namespace.into_iter().chain(shown.iter().map(heading)).collect();
    let rows = array(table, "rows").iter().map(|row| {
        let cells = array(row, "cells");
        let cell = |index: &usize| {
            let text = cells.get(*index).map(cell).unwrap_or_default();
            if *index == 0 { format!("{prefix}{text}") } else { text }
        };
        let namespace = text(row, &["object", "metadata", "namespace"]).to_owned();
        with_namespace.then_some(namespace).into_iter().chain(shown.iter().map(cell)).collect()
    });
    aligned(&[head].into_iter().chain(rows).collect::<Vec<Vec<String>>>())
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Changes as text: a line for each object, and one for each side of a field below it.
pub(crate) fn changes(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let rest = if change.is_generated { "<generated>" } else { "" };
        let Change { action, kind, namespace, name, .. } = change;
        let _ = writeln!(text, "{} {kind} {namespace}/{name}{rest}", action.verb());
        for FieldChange { path, before, after } in &change.fields {
            for (sign, value) in [('-', before), ('+', after)] {
                if let Some(value) = value {
                    let _ = writeln!(text, "  {sign} {path}: {}", plain(value));
                }
            }
        }
    }
    text
}

/// Changes as a list for programs.
pub(crate) fn changes_tree(changes: &[Change]) -> Value {
    let of = |Change { action, kind, namespace, name, is_generated, fields }: &Change| {
        let key = if *is_generated { "generateName" } else { "name" };
        json!({"action": action, "kind": kind, "namespace": namespace, key: name, "fields": fields})
    };
    changes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_leave_out_wide_columns() {
        let served = json!({
            "columnDefinitions": [
                {"name": "Name", "priority": 0}, {"name": "Ports", "priority": 0}, {"name": "Node", "priority": 1},
            ],
            "rows": [
                {"cells": ["web-1", "80", "a"], "object": {"metadata": {"namespace": "default"}}},
                {"cells": ["x", null, 3], "object": {"metadata": {"namespace": "b"}}},
            ],
        });
        assert_eq!(table(&served, "", false, false), "NAME    PORTS\nweb-1   80\nx       <none>\n");
        assert_eq!(
            table(&served, "endpoints/", true, true),
            "NAMESPACE   NAME              PORTS    NODE\n\
             default     endpoints/web-1   80       a\n\
             b           endpoints/x       <none>   3\n"
        );
        assert_eq!(table(&json!({}), "", false, false), "\n");
    }

    #[test]
    fn documents_are_kubectls() {
        let list = list(vec![json!({"kind": "Endpoints", "metadata": {"name": "a", "managedFields": []}})]);
        assert_eq!(
            document(&list, Format::Yaml),
            "apiVersion: v1\nitems:\n- kind: Endpoints\n  metadata:\n    name: a\nkind: List\nmetadata:\n  \
             resourceVersion: ''\n"
        );
        assert!(document(&list, Format::Json).starts_with("{\n    \"apiVersion\": \"v1\",\n"));
    }
}
