//! `values.schema.json` refuses wrong values, and the error names them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::manifests::file;
use super::{chart, helm};

/// The program reads fields of `config` that are null as absent.
#[test]
fn fields_of_the_configuration_may_be_null() {
    for config in
        [json!({"Generic": null}), json!({"Generic": {"Logging": {"verbosity": null}, "Debugging": null}})]
    {
        let values = json!({"lease": {"hold": true}, "config": config});
        let rendered = helm(&["template", "release", chart().to_str().unwrap()], &values);
        assert_eq!(rendered.err(), None, "{values}");
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    let chart = chart();
    let wrong: Vec<(String, Value)> = serde_yaml::from_str(include_str!("wrong.yaml")).unwrap();
    for (path, values) in wrong {
        let rendered = helm(&["template", "release", chart.to_str().unwrap()], &values);
        let error = rendered.err().unwrap_or_else(|| panic!("{values} is accepted"));
        assert!(error.contains(&path), "{values}: {error}");
    }
}

/// Helm leaves out what is null: it is the default, or refused by name, and fails in no template.
#[test]
fn no_template_fails_for_a_value_that_is_null() {
    let chart = chart();
    for (name, values) in nulls(&file("chart/values.yaml")[0]) {
        if let Err(error) = helm(&["template", "release", chart.to_str().unwrap()], &values) {
            assert!(error.contains(&name) && !error.contains("executing"), "{values}: {error}");
        }
    }
}

/// Each value's name, and values in which it alone is null.
fn nulls(defaults: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, default) in defaults.as_object().into_iter().flatten() {
        found.push((name.clone(), json!({name: null})));
        found.extend(nulls(default).into_iter().map(|(inner, values)| (inner, json!({name: values}))));
    }
    found
}

/// The defaults themselves have exactly the properties of the schema.
#[test]
fn each_value_has_a_default_and_a_description() {
    let schema = std::fs::read_to_string(chart().join("values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    compare("", &schema, &file("chart/values.yaml")[0]);
}

fn compare(path: &str, schema: &Value, default: &Value) {
    if schema["description"].is_string() {
        return;
    }
    let properties = schema["properties"].as_object();
    let properties = properties.unwrap_or_else(|| panic!("{path} has no description"));
    let defaults = default.as_object().unwrap_or_else(|| panic!("{path} has no default"));
    let named: BTreeSet<&String> = properties.keys().filter(|name| *name != "global").collect();
    assert_eq!(named, defaults.keys().collect(), "{path}");
    for name in named {
        compare(&format!("{path}.{name}"), &properties[name], &defaults[name]);
    }
}
