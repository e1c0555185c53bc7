//! The columns of each kind, as kube-apiserver 1.36.3 sends them: `columns.json`, which the test
//! `kubectl::tables::columns_are_those_of_the_real_server` of package `tests` compares and, with `RECORD=1`, writes.

use std::sync::OnceLock;

use serde_json::{Map, Value};

/// The column definitions of a kind.
pub(super) fn of(group: &str, kind: &str) -> &'static Value {
    /// A kind without a printer.
    const OTHER: &str = "";
    static COLUMNS: OnceLock<Map<String, Value>> = OnceLock::new();
    static NONE: Value = Value::Null;
    let columns =
        COLUMNS.get_or_init(|| serde_json::from_str(include_str!("columns.json")).unwrap_or_default());
    columns.get(&key(group, kind)).or_else(|| columns.get(OTHER)).unwrap_or(&NONE)
}

/// `apps/Deployment`, or `Pod` in the core group.
fn key(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") }
}
