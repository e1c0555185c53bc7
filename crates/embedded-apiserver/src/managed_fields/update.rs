//! The entries after a create, an update or a patch.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::go_quote::is_printable;
use crate::kinds::timestamp;

use super::entries::{self, Entry, Identity};
use super::{FieldManager, OWNERLESS, owners, set_entries, stored_entries};

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
    /// `new` holds the entries that the request brings: none or unreadable ones stand for those of `live`. The rules of the kind
    /// have not changed it yet; defaults are filled in.
    ///
    /// Cost: linear in both objects; allocates for changed fields and for the entries of `live`.
    pub(crate) fn update(&self, live: Option<&Value>, new: &mut Value, manager: &str, now: Timestamp) {
        let sent = take_entries(new);
        let time = timestamp(now);
        let stored = live.and_then(stored_entries);
        let zero = self.of.zero();
        let mut entries = self.starting_entries(stored, sent.as_ref());
        // Upstream starts to track an object at its creation or its first apply.
        if live.is_none() || !entries.is_empty() {
            self.record((live.unwrap_or(&zero), new), &mut entries, manager, &time);
        }
        let entries = entries::encode(entries);
        set_entries(new, entries);
    }

    fn starting_entries<'a>(&self, stored: Option<&'a Value>, sent: Option<&'a Value>) -> Vec<Entry<'a>> {
        let of_stored = || entries::decode(stored).unwrap_or_default();
        let Some(sent) = sent.filter(|sent| self.subresource.is_empty() && Some(*sent) != stored) else {
            return of_stored();
        };
        match entries::decode(Some(sent)) {
            Ok(entries) if !entries.is_empty() => entries,
            _ => of_stored(),
        }
    }

    /// Changes the entries by what differs between two objects.
    pub(super) fn record<'a>(
        &'a self,
        (live, new): (&'a Value, &'a Value),
        entries: &mut Vec<Entry<'a>>,
        manager: &'a str,
        time: &'a str,
    ) {
        // By force there are no conflicts.
        let Ok(comparison) = owners::take(self, (live, new), entries, None, true) else { return };
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
    }
}

impl FieldManager<'_> {
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
