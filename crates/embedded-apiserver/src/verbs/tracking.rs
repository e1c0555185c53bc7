//! The field management of a kind.

use serde_json::Value;

use crate::core::Entry;
use crate::kinds::KINDS;
use crate::managed_fields::{FieldManager, reset_fields};
use crate::schema::Type;

/// The field manager of a kind or of a subresource of it.
pub(crate) fn manager(entry: &'static Entry, subresource: &'static str) -> FieldManager<'static> {
    FieldManager {
        of: entry.type_,
        api_version: &entry.api_version,
        kind: entry.kind.kind,
        subresource,
        reset: reset_fields(entry.kind.group, entry.kind.plural, subresource),
        convert: if entry.kind.storage == "events" { Some(&convert_event) } else { None },
    }
}

/// The field manager of a kind that is answered and not stored.
pub(crate) fn of_other<'a>(
    of: &'static Type,
    api_version: &'a str,
    kind: &'a str,
    subresource: &'a str,
) -> FieldManager<'a> {
    FieldManager { of, api_version, kind, subresource, reset: &[], convert: None }
}

/// An Event in another of its two versions. The group tells which way it goes.
fn convert_event(event: &Value, api_version: &str) -> Option<(Value, &'static Type)> {
    let kinds = KINDS.iter().filter(|kind| kind.storage == "events");
    let entry = kinds.filter_map(Entry::of).find(|entry| entry.api_version == api_version)?;
    let mut event = event.clone();
    if entry.converts() {
        entry.kind.strategy.from_storage(&mut event);
    } else if let Some(other) = KINDS.iter().find(|kind| kind.storage == "events" && !kind.group.is_empty()) {
        other.strategy.to_storage(&mut event);
    }
    Some((event, entry.type_))
}
