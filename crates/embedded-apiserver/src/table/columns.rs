//! The columns of each kind, as kube-apiserver 1.37.2 sends them: `columns.json`, which the test
//! `kubectl::documents::columns_are_those_of_the_real_server` of package `tests` compares and, with `RECORD=1`, writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::codec::json;

/// `TableColumnDefinition`.
#[derive(Deserialize)]
struct Column {
    name: Value,
    r#type: Value,
    format: Value,
    description: Value,
    priority: Value,
}

/// The column definitions of a kind as JSON.
pub(super) fn of(group: &str, kind: &str) -> &'static [u8] {
    static COLUMNS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        let kinds: BTreeMap<String, Vec<Column>> =
            serde_json::from_str(include_str!("columns.json")).unwrap_or_default();
        kinds.into_iter().map(|(kind, columns)| (kind, encode(columns))).collect()
    });
    COLUMNS.get(&key(group, kind)).map_or(b"null", Vec::as_slice)
}

/// The JSON of columns, with the fields in the order of upstream's struct.
fn encode(columns: Vec<Column>) -> Vec<u8> {
    let mut out = Vec::new();
    for Column { name, r#type, format, description, priority } in columns {
        out.push(if out.is_empty() { b'[' } else { b',' });
        for (key, value) in [
            ("{\"name\":", name),
            (",\"type\":", r#type),
            (",\"format\":", format),
            (",\"description\":", description),
            (",\"priority\":", priority),
        ] {
            out.extend_from_slice(key.as_bytes());
            json::encode_untyped(&value, &mut out);
        }
        out.push(b'}');
    }
    out.push(b']');
    out
}

/// `apps/Deployment`, or `Pod` in the core group.
fn key(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") }
}
