//! `metadata.managedFields`: who owns which fields.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::element;
use super::fields_v1;
use super::set::Set;

/// The identity of an entry. Appliers are the same at every API version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity<'a> {
    pub(crate) manager: Cow<'a, str>,
    /// True if it is an entry of server-side apply.
    pub(crate) applied: bool,
    /// The API version of an entry of updates; empty for appliers.
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
}

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) identity: Identity<'a>,
    /// The API version that the fields belong to.
    pub(crate) api_version: Cow<'a, str>,
    /// As in JSON: RFC 3339 in UTC, to the second.
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) set: Set<'a>,
    /// The entry as it was read, as long as nothing is changed.
    pub(crate) encoded: Option<&'a Value>,
}

impl<'a> Identity<'a> {
    pub(crate) fn of_update(manager: &'a str, api_version: &'a str, subresource: &'a str) -> Self {
        Self {
            manager: known(manager),
            applied: false,
            api_version: Cow::Borrowed(api_version),
            subresource: Cow::Borrowed(subresource),
        }
    }

    pub(crate) fn of_apply(manager: &'a str, subresource: &'a str) -> Self {
        Self {
            manager: known(manager),
            applied: true,
            api_version: Cow::Borrowed(""),
            subresource: Cow::Borrowed(subresource),
        }
    }

    /// The text by which upstream keeps managers apart and orders them.
    pub(crate) fn text(&self) -> String {
        let mut fields = Vec::with_capacity(4);
        let operation = Cow::Borrowed(operation(self.applied));
        for (name, value) in [
            ("manager", &self.manager),
            ("operation", &operation),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                let value = crate::patch::go_text::json(&Value::String(value.clone().into_owned()));
                fields.push(format!("\"{name}\":{value}"));
            }
        }
        format!("{{{}}}", fields.join(","))
    }
}

fn known(manager: &str) -> Cow<'_, str> {
    Cow::Borrowed(if manager.is_empty() { "unknown" } else { manager })
}

fn operation(applied: bool) -> &'static str {
    if applied { "Apply" } else { "Update" }
}

/// Reads all entries. Of two with one identity, the later wins.
pub(crate) fn decode(list: Option<&Value>) -> Result<Vec<Entry<'_>>, String> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(list.len() + 1);
    for (index, encoded) in list.iter().enumerate() {
        let entry = decode_entry(index, encoded)?;
        match entries.iter_mut().find(|other| other.identity == entry.identity) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }
    Ok(entries)
}

fn decode_entry(index: usize, encoded: &Value) -> Result<Entry<'_>, String> {
    let text = |name: &str| encoded.get(name).and_then(Value::as_str).unwrap_or_default();
    let applied = match text("operation") {
        "Apply" => true,
        "Update" => false,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => return Err(format!("invalid fieldsType \"{other}\" in managed fields entry {index}")),
    }
    let set = match encoded.get("fieldsV1") {
        Some(fields) => fields_v1::decode(fields).map_err(|_: element::Unreadable| {
            format!("error decoding set of managed fields entry {index}")
        })?,
        None => Set::default(),
    };
    let identity = Identity {
        manager: Cow::Borrowed(text("manager")),
        applied,
        api_version: Cow::Borrowed(if applied { "" } else { api_version }),
        subresource: Cow::Borrowed(text("subresource")),
    };
    let time = encoded.get("time").and_then(Value::as_str).map(Cow::Borrowed);
    Ok(Entry { identity, api_version: Cow::Borrowed(api_version), time, set, encoded: Some(encoded) })
}

impl Entry<'_> {
    fn encode(&self) -> Value {
        if let Some(encoded) = self.encoded {
            return encoded.clone();
        }
        let mut fields = Map::new();
        let mut text = |name: &str, value: &str| {
            if !value.is_empty() {
                fields.insert(name.to_owned(), Value::String(value.to_owned()));
            }
        };
        text("manager", &self.identity.manager);
        text("operation", operation(self.identity.applied));
        text("apiVersion", &self.api_version);
        text("time", self.time.as_deref().unwrap_or_default());
        text("fieldsType", "FieldsV1");
        text("subresource", &self.identity.subresource);
        fields.insert("fieldsV1".to_owned(), fields_v1::encode(&self.set));
        Value::Object(fields)
    }

    /// Entries without a time are the oldest.
    fn order(&self, other: &Self) -> Ordering {
        (operation(self.identity.applied).cmp(operation(other.identity.applied)))
            .then_with(|| self.time.cmp(&other.time))
            .then_with(|| self.identity.manager.cmp(&other.identity.manager))
            .then_with(|| self.api_version.cmp(&other.api_version))
            .then_with(|| self.identity.subresource.cmp(&other.identity.subresource))
    }
}

/// Writes the entries in upstream's order. `None` if there are none.
pub(crate) fn encode(mut entries: Vec<Entry<'_>>) -> Option<Value> {
    if entries.is_empty() {
        return None;
    }
    entries.sort_by(Entry::order);
    Some(entries.iter().map(Entry::encode).collect())
}
