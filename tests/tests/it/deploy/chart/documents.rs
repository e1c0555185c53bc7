//! The table of values in the chart's README, generated from its schema and defaults.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::manifests::file;
use super::chart;

const REFRESH: &str = "UPDATE_DOCS=1 cargo test --manifest-path tests/Cargo.toml --test it chart::documents";
const BEGIN: &str = "<!-- values -->\n";
const END: &str = "<!-- end of values -->\n";

#[test]
fn the_readme_has_the_values_of_the_schema() {
    let schema = std::fs::read_to_string(chart().join("values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut table = "| Value | Default | Effect |\n|---|---|---|\n".to_owned();
    rows("", &schema, &file("chart/values.yaml")[0], &mut table);
    let path = chart().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(readme == expected, "deploy/chart/README.md is not that of the schema: run `{REFRESH}`");
    }
}

/// One row for each value, in the order of the schema's names.
fn rows(path: &str, schema: &Value, default: &Value, table: &mut String) {
    if let Some(description) = schema["description"].as_str() {
        let default = if path == "global" { String::new() } else { format!("`{default}`") };
        writeln!(table, "| `{path}` | {default} | {} |", description.replace('|', "\\|")).unwrap();
        return;
    }
    for (name, property) in schema["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        rows(&path, property, &default[name], table);
    }
}
