//! `metadata.managedFields`: who owns which fields.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::fields_v1;
use super::set::Set;

/// The most entries of updates that an object keeps. Source: apimachinery `DefaultMaxUpdateManagers`.
const MOST_UPDATE_MANAGERS: usize = 10;

/// The manager that takes over the oldest entries beyond that.
const ANCIENT: &str = "ancient-changes";

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
            manager: Cow::Borrowed(if manager.is_empty() { "unknown" } else { manager }),
            applied: false,
            api_version: Cow::Borrowed(api_version),
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
                let value = crate::go::json(&Value::String(value.clone().into_owned()));
                fields.push(format!("\"{name}\":{value}"));
            }
        }
        format!("{{{}}}", fields.join(","))
    }
}

fn operation(applied: bool) -> &'static str {
    if applied { "Apply" } else { "Update" }
}

/// Reads all entries. Of two with one identity, the later wins. `None` if one is malformed.
pub(crate) fn decode(list: Option<&Value>) -> Option<Vec<Entry<'_>>> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(list.len() + 1);
    for encoded in list {
        let entry = decode_entry(encoded)?;
        match entries.iter_mut().find(|other| other.identity == entry.identity) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }
    Some(entries)
}

fn decode_entry(encoded: &Value) -> Option<Entry<'_>> {
    let text = |name: &str| encoded.get(name).and_then(Value::as_str).unwrap_or_default();
    let applied = match text("operation") {
        "Apply" => true,
        "Update" => false,
        _ => return None,
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
        return None;
    }
    let set = encoded.get("fieldsV1").map_or_else(|| Some(Set::default()), fields_v1::decode)?;
    let identity = Identity {
        manager: Cow::Borrowed(text("manager")),
        applied,
        api_version: Cow::Borrowed(if applied { "" } else { api_version }),
        subresource: Cow::Borrowed(text("subresource")),
    };
    let time = encoded.get("time").and_then(Value::as_str).map(Cow::Borrowed);
    Some(Entry { identity, api_version: Cow::Borrowed(api_version), time, set, encoded: Some(encoded) })
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

/// Merges the oldest entries of updates into one a version until there are few enough. Source: apimachinery
/// `capManagersManager`.
pub(crate) fn cap(entries: &mut Vec<Entry<'_>>) {
    let mut updates: Vec<usize> =
        (0..entries.len()).filter(|at| entries.get(*at).is_some_and(is_update)).collect();
    let mut count = updates.len();
    if count <= MOST_UPDATE_MANAGERS {
        return;
    }
    updates
        .sort_by_cached_key(|at| entries.get(*at).map(|entry| (entry.time.clone(), entry.identity.text())));
    // taken out one by one; the positions of the others must not change meanwhile
    let mut slots: Vec<Option<Entry<'_>>> = std::mem::take(entries).into_iter().map(Some).collect();
    // the oldest entry of each version waits until there is a second one
    let mut buckets: Vec<(String, usize, bool)> = Vec::new();
    for at in updates {
        if count <= MOST_UPDATE_MANAGERS {
            break;
        }
        let Some(version) =
            slots.get(at).and_then(Option::as_ref).map(|entry| entry.api_version.clone().into_owned())
        else {
            continue;
        };
        let Some((_, first, _)) = buckets.iter_mut().find(|(of, ..)| *of == version) else {
            buckets.push((version, at, false));
            continue;
        };
        let first = *first;
        if merge_into_bucket(&mut slots, first, at, &version) {
            count -= 1;
        }
    }
    entries.extend(slots.into_iter().flatten());
}

fn is_update(entry: &Entry<'_>) -> bool {
    !entry.identity.applied
}

/// Adds the entry at `at` to the bucket of its version, which is made of the entry at `first` if there is none.
fn merge_into_bucket(slots: &mut [Option<Entry<'_>>], first: usize, at: usize, version: &str) -> bool {
    let is_bucket = |entry: &Entry<'_>| {
        entry.identity.manager == ANCIENT
            && entry.identity.api_version == version
            && entry.identity.subresource.is_empty()
            && is_update(entry)
    };
    let existing = slots.iter().position(|slot| slot.as_ref().is_some_and(is_bucket));
    let Some(entry) = slots.get_mut(at).and_then(Option::take) else { return false };
    if existing == Some(at) {
        // upstream merges the bucket with itself, and then deletes what it merged
        return true;
    }
    let Some(bucket) = slots.get_mut(existing.unwrap_or(first)).and_then(Option::as_mut) else {
        return false;
    };
    bucket.identity.manager = Cow::Borrowed(ANCIENT);
    bucket.identity.subresource = Cow::Borrowed("");
    bucket.set = std::mem::take(&mut bucket.set).union(entry.set);
    bucket.time = entry.time;
    bucket.encoded = None;
    true
}
