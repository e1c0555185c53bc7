//! The columns of each kind, as kube-apiserver 1.36.3 sends them: `columns.json`, which the test
//! `kubectl::documents::columns_are_those_of_the_real_server` of package `tests` compares and, with `RECORD=1`, writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// `TableColumnDefinition`, with the fields in the order of upstream's struct.
#[derive(Serialize, Deserialize)]
struct Column {
    name: String,
    r#type: String,
    format: String,
    description: String,
    priority: i32,
}

/// The column definitions of a kind as JSON.
pub(super) fn of(group: &str, kind: &str) -> &'static [u8] {
    /// A kind without a printer.
    const OTHER: &str = "";
    static COLUMNS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        let kinds: BTreeMap<String, Vec<Column>> =
            serde_json::from_str(include_str!("columns.json")).unwrap_or_default();
        let encode = |columns: &Vec<Column>| serde_json::to_vec(columns).unwrap_or_default();
        kinds.iter().map(|(kind, columns)| (kind.clone(), encode(columns))).collect()
    });
    COLUMNS.get(&key(group, kind)).or_else(|| COLUMNS.get(OTHER)).map_or(b"null", Vec::as_slice)
}

/// `apps/Deployment`, or `Pod` in the core group.
fn key(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") }
}
