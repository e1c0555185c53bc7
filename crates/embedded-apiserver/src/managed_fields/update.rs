//! The entries after a create, an update or a patch.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::go_quote::is_printable;
use crate::kinds::timestamp;

use super::check::{Duplicates, check};
use super::compare::compare;
use super::entries::{self, Entry, Identity};
use super::fields_v1;
use super::shape::{Shape, can_lack_keys};
use super::{Failure, FieldManager, OWNERLESS, owners, set_entries, stored_entries};

/// The longest name of a manager in bytes, if it comes from a user agent.
const LONGEST_MANAGER: usize = 128;

/// The name of the manager of a request: its `fieldManager`, or else the beginning of its user agent.
pub(crate) fn manager_of(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let mut name = String::new();
    for c in user_agent.split('/').next().unwrap_or_default().chars().filter(|c| is_printable(*c)) {
        if name.len() + c.len_utf8() > LONGEST_MANAGER {
            break;
        }
        name.push(c);
    }
    name
}

impl FieldManager<'_> {
    /// Records in `new` that `manager` has turned `live` into it. `live` is absent at creation.
    ///
    /// `new` holds the entries that the request brings: none or unreadable ones stand for those of `live`, and an empty list
    /// or one empty entry deletes all. The rules of the kind have not changed it yet; defaults are filled in.
    ///
    /// Cost: linear in both objects; allocates for changed fields and for the entries of `live`.
    pub(crate) fn update(&self, live: Option<&Value>, new: &mut Value, manager: &str, now: Timestamp) {
        let sent = take_entries(new);
        let stored = live.and_then(stored_entries);
        let unchanged = sent.is_none() || !self.subresource.is_empty() || sent.as_ref() == stored;
        let entries = match (live, stored) {
            (Some(live), Some(stored)) if unchanged && self.can_edit(stored) => {
                let stored = sent.filter(|_| self.subresource.is_empty()).unwrap_or_else(|| stored.clone());
                self.edited((live, new), stored, manager, &timestamp(now))
            }
            _ => self.updated(live, new, sent.as_ref(), manager, &timestamp(now)),
        };
        set_entries(new, entries);
    }

    /// True if the stored entries can be changed as they are: all are of this API version.
    fn can_edit(&self, stored: &Value) -> bool {
        let entries = stored.as_array().map_or(&[][..], Vec::as_slice);
        let is_current =
            |entry: &Value| entry.get("apiVersion").and_then(Value::as_str) == Some(self.api_version);
        !entries.is_empty() && entries.iter().all(is_current) && !can_lack_keys(self.of)
    }

    /// [`updated`](Self::updated) without decoding the entries, for stored ones, which have upstream's form.
    fn edited(
        &self,
        (live, new): (&Value, &Value),
        mut stored: Value,
        manager: &str,
        time: &str,
    ) -> Option<Value> {
        let Ok(mut comparison) = compare(Shape::of_type(self.of), live, new) else {
            return stored_entries(live).cloned();
        };
        self.filter(&mut comparison);
        if comparison.is_empty() {
            return Some(stored);
        }
        let list = stored.as_array_mut()?;
        for entry in list.iter_mut() {
            let Some(fields) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) else { continue };
            for paths in [&comparison.modified, &comparison.added, &comparison.removed] {
                fields_v1::subtract(fields, paths);
            }
        }
        let mut own = comparison.modified.union(comparison.added);
        for path in OWNERLESS {
            own.remove(path);
        }
        let identity = Identity::of_update(manager, self.api_version, self.subresource);
        if !own.is_empty() {
            entries::add(list, &identity, &own, time);
        }
        list.retain(|entry| {
            entry.get("fieldsV1").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty())
        });
        if list.is_empty() {
            return None;
        }
        entries::sort(list);
        Some(stored)
    }

    fn updated(
        &self,
        live: Option<&Value>,
        new: &Value,
        sent: Option<&Value>,
        manager: &str,
        time: &str,
    ) -> Option<Value> {
        let stored = live.and_then(stored_entries);
        let mut entries = self.starting_entries(stored, sent);
        if entries.is_empty() && live.is_some() {
            // upstream starts to track an object at its creation or its first apply
            return None;
        }
        let zero;
        let live = if let Some(live) = live {
            live
        } else {
            zero = self.of.zero();
            &zero
        };
        match self.record((live, new), &mut entries, manager, time) {
            Ok(()) => entries::encode(entries),
            // What cannot be recorded is not: the entries of the stored object stay.
            Err(_) => stored.cloned(),
        }
    }

    fn starting_entries<'a>(&self, stored: Option<&'a Value>, sent: Option<&'a Value>) -> Vec<Entry<'a>> {
        let of_stored = || entries::decode(stored).unwrap_or_default();
        let Some(sent) = sent.filter(|sent| self.subresource.is_empty() && Some(*sent) != stored) else {
            return of_stored();
        };
        if is_reset(sent) {
            return Vec::new();
        }
        match entries::decode(Some(sent)) {
            Ok(entries) if !entries.is_empty() => entries,
            _ => of_stored(),
        }
    }

    /// Changes the entries by what differs between two objects.
    ///
    /// # Errors
    /// A list has an item without a key; upstream's text.
    pub(super) fn record<'a>(
        &'a self,
        (live, new): (&'a Value, &'a Value),
        entries: &mut Vec<Entry<'a>>,
        manager: &'a str,
        time: &'a str,
    ) -> Result<(), String> {
        for (name, object) in [("new", new), ("live", live)] {
            self.check_keys(object).map_err(|error| {
                format!("failed to convert {name} object ({}) to smd typed: {error}", self.name_of(object))
            })?;
        }
        let comparison =
            owners::take(self, (live, new), entries, None, true).map_err(|failure| match failure {
                Failure::Conflicts(_) => String::new(),
                Failure::Other(error) => error,
            })?;
        let mut own = comparison.modified.union(comparison.added);
        for path in OWNERLESS {
            own.remove(path);
        }
        if !own.is_empty() {
            let identity = Identity::of_update(manager, self.api_version, self.subresource);
            let time = Some(Cow::Borrowed(time));
            match entries.iter_mut().find(|entry| entry.identity == identity) {
                Some(entry) => {
                    entry.set = std::mem::take(&mut entry.set).union(own);
                    entry.time = time;
                    entry.encoded = None;
                }
                None => entries.push(Entry {
                    identity,
                    api_version: Cow::Borrowed(self.api_version),
                    time,
                    set: own,
                    encoded: None,
                }),
            }
        }
        Ok(())
    }
}

impl FieldManager<'_> {
    /// Checks that list items have keys, in types where they can lack them.
    pub(super) fn check_keys(&self, object: &Value) -> Result<(), String> {
        if !can_lack_keys(self.of) {
            return Ok(());
        }
        check(Shape::of_type(self.of), object, Duplicates::Allowed).into_result()
    }

    /// `namespace/name; group/version, Kind=kind`.
    pub(super) fn name_of(&self, object: &Value) -> String {
        let text = |name: &str| {
            object
                .get("metadata")
                .and_then(|metadata| metadata.get(name))
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        format!("{}/{}; {}", text("namespace"), text("name"), group_version_kind(self.api_version, self.kind))
    }
}

/// `schema.GroupVersionKind` as Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`.
pub(super) fn group_version_kind(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        None => format!("/{api_version}, Kind={kind}"),
        Some((_, version)) if version.contains('/') => "/, Kind=".to_owned(),
        Some(_) => format!("{api_version}, Kind={kind}"),
    }
}

fn take_entries(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields").filter(|entries| !entries.is_null())
}

/// True if these entries ask for the deletion of all.
fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    }
}
