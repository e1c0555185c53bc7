//! The configuration as `/configz` shows it.

use serde_json::{Map, Value, json};

use super::config_file::{API_VERSION, KIND};
use super::groups::all;
use super::values::FlagValues;

/// The configuration in force, with the sections that apply. Controllers have their canonical names.
pub(super) fn document(values: &FlagValues) -> Value {
    let mut document = Map::new();
    document.insert("kind".to_owned(), KIND.into());
    document.insert("apiVersion".to_owned(), API_VERSION.into());
    for (flag, path) in all().filter_map(|flag| Some((flag, flag.key?))) {
        insert(&mut document, path, values.json(flag));
    }
    // Upstream shows the insecure port that it no longer has.
    insert(&mut document, "Generic.Port", json!(0));
    insert(&mut document, "Generic.Address", json!("0.0.0.0"));
    insert(&mut document, "Generic.ClientConnection.acceptContentTypes", json!(""));
    Value::Object(document)
}

fn insert(section: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(section.insert(path.to_owned(), value)),
        Some((name, rest)) => {
            let inner = section.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}
