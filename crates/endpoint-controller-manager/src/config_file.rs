//! The configuration file, and the configuration as `/configz` shows it.
//!
//! Both have the shape of upstream's `KubeControllerManagerConfiguration`
//! (`kubecontrollermanager.config.k8s.io/v1alpha1`), which upstream only shows. Each of its fields is the value of a flag.

mod fields;

use std::path::Path;

use serde_json::{Map, Value, json};
use serde_yaml::Value as Yaml;

use crate::controllers;
use crate::options::FlagValues;
use fields::{Entry, FIELDS, Form, IGNORED_SECTIONS};

/// The group of the configuration, and its key in `/configz`.
pub(crate) const GROUP: &str = "kubecontrollermanager.config.k8s.io";
const API_VERSION: &str = "kubecontrollermanager.config.k8s.io/v1alpha1";
const KIND: &str = "KubeControllerManagerConfiguration";

/// What a file sets.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) fields: Vec<Field>,
    /// Paths of sections and fields that do nothing here.
    pub(crate) without_effect: Vec<String>,
}

/// One field of a file.
#[derive(Debug)]
pub(crate) struct Field {
    /// Where it stands, such as `Generic.LeaderElection.leaseDuration`.
    pub(crate) path: String,
    pub(crate) flag: &'static str,
    /// Its value as the flag takes it.
    pub(crate) text: String,
}

/// Reads a file, YAML or JSON. The error is one line that begins with the file.
pub(crate) fn read(path: &Path) -> Result<File, String> {
    let named = |reason: String| format!("{}: {reason}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--config: cannot read {}: {error}", path.display()))?;
    parse(&text).map_err(named)
}

fn parse(text: &str) -> Result<File, String> {
    let document: Yaml = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let mut file = File::default();
    let Yaml::Mapping(document) = document else {
        return Err(format!("must be an object of kind {KIND}"));
    };
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match document.get(name) {
            Some(Yaml::String(found)) if found == expected => {}
            Some(found) => return Err(format!("{name}: must be {expected}, is {}", shown(found))),
            None => return Err(format!("{name}: must be {expected}")),
        }
    }
    for (key, value) in &document {
        match key.as_str() {
            Some("apiVersion" | "kind") => {}
            _ => file.take("", key, value)?,
        }
    }
    Ok(file)
}

impl File {
    /// Takes one field, or all fields of a section.
    fn take(&mut self, section: &str, key: &Yaml, value: &Yaml) -> Result<(), String> {
        let name = key.as_str().ok_or_else(|| format!("{section}: {} is no name", shown(key)))?;
        let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
        if let Some(entry) = FIELDS.iter().find(|entry| entry.path == path) {
            return self.set(entry, value);
        }
        if IGNORED_SECTIONS.contains(&path.as_str()) {
            self.without_effect.push(path);
            return Ok(());
        }
        if !is_section(&path) {
            return Err(format!("{path}: unknown field"));
        }
        match value {
            Yaml::Null => Ok(()),
            Yaml::Mapping(fields) => fields.iter().try_for_each(|(key, value)| self.take(&path, key, value)),
            other => Err(format!("{path}: must be an object, is {}", shown(other))),
        }
    }

    /// Null is the same as absent, as in Go.
    fn set(&mut self, entry: &'static Entry, value: &Yaml) -> Result<(), String> {
        let path = entry.path;
        let text = match (entry.form, value) {
            (_, Yaml::Null) => return Ok(()),
            (Form::Bool, Yaml::Bool(on)) => on.to_string(),
            (Form::Number, Yaml::Number(number)) => number.to_string(),
            (Form::Text, Yaml::String(text)) => text.clone(),
            (Form::List, Yaml::Sequence(items)) => {
                let texts: Option<Vec<&str>> = items.iter().map(Yaml::as_str).collect();
                let wrong = || format!("{path}: must be a list of texts, is {}", shown(value));
                texts.ok_or_else(wrong)?.join(",")
            }
            (form, other) => return Err(format!("{path}: must be {form}, is {}", shown(other))),
        };
        self.fields.push(Field { path: path.to_owned(), flag: entry.flag, text });
        Ok(())
    }
}

fn is_section(path: &str) -> bool {
    FIELDS.iter().any(|entry| entry.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// A value for a message, as short JSON.
fn shown(value: &Yaml) -> String {
    const LONGEST: usize = 60;
    let text = serde_json::to_string(value).unwrap_or_else(|_| "something else".to_owned());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}

/// The configuration in force, with the sections that apply: the value of `/configz` under [`GROUP`]. Controllers have
/// their canonical names.
pub(crate) fn configz(values: &FlagValues) -> Value {
    let mut document = Map::new();
    document.insert("kind".to_owned(), KIND.into());
    document.insert("apiVersion".to_owned(), API_VERSION.into());
    for entry in FIELDS {
        let value = match values.get(entry.flag) {
            Some(Value::Array(names)) if entry.flag == "controllers" => {
                names.iter().filter_map(Value::as_str).map(controllers::canonical).collect()
            }
            value => value.cloned().unwrap_or_default(),
        };
        insert(&mut document, entry.path, value);
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

#[cfg(test)]
mod tests;
