//! Server-side apply.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::timestamp;
use crate::status::Status;

use super::check::check;
use super::conflict::{self, Conflict};
use super::element::same;
use super::entries::{self, Entry, Identity};
use super::shape::Shape;
use super::update::group_version_kind;
use super::{FieldManager, OWNERLESS, last_applied, owners, set_entries, stored_entries};

/// The owner of what exists before an object is tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

impl FieldManager<'_> {
    /// The live object with a configuration applied to it by `manager`. `live` is absent if the object is created.
    ///
    /// The result is as the configuration left it: the caller decodes it as the type, which drops nulls, and fills defaults.
    /// Errors: 409 if others own fields that it changes and `force` is not set; 400 for another kind; 500 if it does not fit.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        manager: &str,
        force: bool,
        now: Timestamp,
    ) -> Result<Value, Status> {
        self.check_kind(config)?;
        let zero;
        let live = if let Some(live) = live {
            live
        } else {
            zero = self.of.zero();
            &zero
        };
        let time = timestamp(now);
        let mut applied = self.try_apply(live, config, manager, &time, force)?;
        if manager == last_applied::KUBECTL {
            last_applied::refresh(&mut applied, config);
        }
        Ok(applied)
    }

    /// The conflicts that count. Those of kubectl with its own client-side apply do not.
    fn blocking<'a>(&self, live: &Value, conflicts: Vec<Conflict<'a>>, manager: &str) -> Vec<Conflict<'a>> {
        if manager != last_applied::KUBECTL {
            return conflicts;
        }
        last_applied::unchanged(self, live, |fields| conflict::outside(&conflicts, fields))
            .unwrap_or(conflicts)
    }

    fn check_kind(&self, config: &Value) -> Result<(), Status> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version == self.api_version && kind == self.kind {
            return Ok(());
        }
        Err(Status::bad_request(format!("invalid object type: {}", group_version_kind(api_version, kind))))
    }

    fn try_apply(
        &self,
        live: &Value,
        config: &Value,
        manager: &str,
        time: &str,
        force: bool,
    ) -> Result<Value, Status> {
        let zero = self.of.zero();
        let mut entries = entries::decode(stored_entries(live))
            .map_err(|error| unknown(format!("failed to decode managed fields: {error}")))?;
        if entries.is_empty() {
            self.record((&zero, live), &mut entries, BEFORE_FIRST_APPLY, time);
        }
        self.check_config(config)?;
        let own = Identity::of_apply(manager, self.subresource);
        let applied = owners::apply(self, live, config, &mut entries, own.clone());
        if !force
            && let Err(conflicts) =
                owners::take(self, (live, &applied), &mut entries.clone(), Some(&own), false)
        {
            let blocking = self.blocking(live, conflicts, manager);
            if !blocking.is_empty() {
                return Err(conflict::status(blocking));
            }
        }
        Ok(self.finish(live, &applied, entries, &own, time))
    }

    /// Takes the fields from their owners and writes the entries.
    fn finish<'a>(
        &self,
        live: &Value,
        applied: &Value,
        mut entries: Vec<Entry<'a>>,
        own: &Identity<'_>,
        time: &'a str,
    ) -> Value {
        drop(owners::take(self, (live, applied), &mut entries, Some(own), true));
        if let Some(at) = entries.iter().position(|entry| entry.identity == *own)
            && let Some(entry) = entries.get_mut(at)
        {
            for path in OWNERLESS {
                entry.set.remove(path);
            }
            if !same(live, applied) {
                entry.time = Some(Cow::Borrowed(time));
            }
            if entry.set.is_empty() {
                entries.swap_remove(at);
            }
        }
        let entries = entries::encode(entries);
        let mut object = applied.clone();
        set_entries(&mut object, entries);
        object
    }

    fn check_config(&self, config: &Value) -> Result<(), Status> {
        if config
            .get("metadata")
            .and_then(|metadata| metadata.get("managedFields"))
            .is_some_and(Value::is_array)
        {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        check(Shape::of_type(self.of), config).map_err(|error| {
            unknown(format!("failed to create typed patch object ({}): {error}", self.name_of(config)))
        })
    }
}

/// An error that upstream has no reason for.
fn unknown(message: String) -> Status {
    Status::new(500, "", message)
}
