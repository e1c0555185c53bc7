//! The entries after a create, an update or a patch.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::go::is_printable;

use super::compare::{Comparison, compare};
use super::entries::{self, Entry, Identity};
use super::shape::Shape;
use super::{FieldManager, OWNERLESS, seconds, set_entries, stored_entries};

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
        let entries = self.updated(live, new, sent.as_ref(), manager, &seconds(now));
        set_entries(new, entries);
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
            // upstream starts to track an object at its creation
            return None;
        }
        let zero;
        let live = if let Some(live) = live {
            live
        } else {
            zero = self.of.zero();
            &zero
        };
        self.record((live, new), &mut entries, manager, time)?;
        entries::encode(entries)
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
            Some(mut entries) if !entries.is_empty() => {
                // What a client sent may be spelled in another way.
                for entry in &mut entries {
                    entry.encoded = None;
                }
                entries
            }
            _ => of_stored(),
        }
    }

    /// Changes the entries by what differs between two objects. `None` if a list has an item without a key: upstream removes
    /// all entries then.
    fn record<'a>(
        &'a self,
        (live, new): (&'a Value, &'a Value),
        entries: &mut Vec<Entry<'a>>,
        manager: &'a str,
        time: &'a str,
    ) -> Option<()> {
        let comparison = self.take((live, new), entries)?;
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
        entries::cap(entries);
        Some(())
    }

    /// Takes the fields that differ between `old` and `new` away from all owners, and returns them. Source:
    /// structured-merge-diff `merge.Updater`.
    fn take<'o>(
        &self,
        (old, new): (&'o Value, &'o Value),
        entries: &mut Vec<Entry<'_>>,
    ) -> Option<Comparison<'o>> {
        let mut comparison = compare(Shape::of_type(self.of), old, new)?;
        self.filter(&mut comparison);
        // Entries of other versions are dropped. Events have two, but each group's type converter knows only its own.
        entries.retain_mut(|entry| {
            let Comparison { removed, modified, added } = &comparison;
            let changed =
                entry.set.subtract(modified) | entry.set.subtract(added) | entry.set.subtract(removed);
            if changed {
                entry.encoded = None;
            }
            entry.api_version == self.api_version && !entry.set.is_empty()
        });
        Some(comparison)
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
