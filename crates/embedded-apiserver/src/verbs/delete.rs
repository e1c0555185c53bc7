//! Deletion: `handlers/delete.go`, `Store.Delete` of the generic registry, and that of Namespaces.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::commit;
use super::lifecycle;
use super::meta;
use super::names;
use super::options::DeleteOptions;
use crate::core::{Core, Entry};
use crate::kinds::{next_generation, timestamp, tree};
use crate::status::Status;
use crate::store::{Refused, Stored};

/// The outcome of a deletion.
#[derive(Debug)]
pub(crate) struct Deletion {
    /// Its last state.
    pub(crate) body: Bytes,
    /// True if the response shows the object whatever its kind.
    pub(crate) marked: bool,
}

/// Deletes an object, or marks it as being deleted.
pub(crate) fn delete(
    core: &Core,
    entry: &'static Entry,
    (namespace, name): (&str, &str),
    options: &DeleteOptions,
) -> Result<Deletion, Status> {
    let key = names::key_of(entry, namespace, name)?;
    loop {
        let stored = core.store.get(entry.resource, &key);
        let stored = stored.ok_or_else(|| Status::not_found(entry.kind.group, entry.kind.plural, name))?;
        let request = Request { core, entry, name, options };
        let attempt = if entry.kind.plural == "namespaces" && entry.kind.group.is_empty() {
            request.namespace(&stored)?
        } else {
            request.object(&stored)?
        };
        if let Some(deletion) = attempt {
            return Ok(deletion);
        }
    }
}

struct Request<'a> {
    core: &'a Core,
    entry: &'static Entry,
    name: &'a str,
    options: &'a DeleteOptions,
}

/// One attempt to delete; `None` if another request was faster.
type Attempt = Result<Option<Deletion>, Status>;

impl Request<'_> {
    /// `Store.Delete`.
    fn object(&self, stored: &Arc<Stored>) -> Attempt {
        let entry = self.entry;
        let mut object = entry.tree(stored.body())?;
        self.check_preconditions(&object)?;
        let before = object.clone();
        let grace = self.options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
        let graceful = match grace_of(entry, &mut object, grace, self.core.environment.now()) {
            Grace::Pending => {
                let body = stored.body().clone();
                return Ok(Some(Deletion { body, marked: false }));
            }
            Grace::None => None,
            Grace::Seconds(seconds) => Some(seconds),
        };
        lifecycle::admit_delete(entry, self.name)?;
        let waits = !meta::finalizers(&object).is_empty();
        if graceful.is_none() {
            if !waits {
                return self.remove(stored, false);
            }
            mark(&mut object, self.core.environment.now());
        }
        let body = entry.encode(&object);
        let gone = graceful == Some(0) && !waits;
        if self.options.dry_run {
            return Ok(Some(Deletion { body: body.into(), marked: true }));
        }
        let marked = if object == before {
            Arc::clone(stored)
        } else {
            match commit::put(self.core, entry, stored.key(), Some(stored), (&object, &body)) {
                Ok(marked) => marked,
                Err(_) => return Ok(None),
            }
        };
        if gone {
            return self.remove(&marked, true);
        }
        Ok(Some(Deletion { body: marked.body().clone(), marked: true }))
    }

    /// Deletes from the store. If this request has `marked` the object, another one may be the faster to do so: then the last state
    /// that is known is answered (`ignoreNotFound` of `Store.Delete`).
    fn remove(&self, stored: &Arc<Stored>, marked: bool) -> Attempt {
        let done = |last: &Stored| Ok(Some(Deletion { body: last.body().clone(), marked: false }));
        if self.options.dry_run {
            return done(stored);
        }
        match commit::remove(self.core, self.entry, stored) {
            Ok(gone) => done(&gone),
            Err(Refused::NotFound) if marked => done(stored),
            Err(Refused::NotFound) => {
                Err(Status::not_found(self.entry.kind.group, self.entry.kind.plural, self.name))
            }
            Err(_) => Ok(None),
        }
    }

    /// `rest.BeforeDelete`: the kind stands where other errors have the resource.
    fn check_preconditions(&self, object: &Value) -> Result<(), Status> {
        let kind = self.entry.kind;
        let conflict = |cause: String| Err(Status::conflict(kind.group, kind.kind, self.name, &cause));
        let uid = meta::text(object, "uid");
        if let Some(wanted) = self.options.uid.as_deref().filter(|wanted| *wanted != uid) {
            return conflict(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have \
                 been deleted and then recreated"
            ));
        }
        let version = meta::text(object, "resourceVersion");
        if let Some(wanted) = self.options.resource_version.as_deref().filter(|wanted| *wanted != version) {
            return conflict(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }

    /// The registry of Namespaces: the first deletion only begins the end.
    fn namespace(&self, stored: &Arc<Stored>) -> Attempt {
        let mut object = self.entry.tree(stored.body())?;
        for (what, field, wanted) in [
            ("UID", "uid", &self.options.uid),
            ("ResourceVersion", "resourceVersion", &self.options.resource_version),
        ] {
            let found = meta::text(&object, field);
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let cause = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                return Err(Status::conflict("", "namespaces", self.name, &cause));
            }
        }
        if meta::is_deleting(&object) {
            if !tree::list(tree::field(&object, "spec"), "finalizers").is_empty() {
                let body = stored.body().clone();
                return Ok(Some(Deletion { body, marked: true }));
            }
            return self.object(stored);
        }
        lifecycle::admit_delete(self.entry, self.name)?;
        meta::set(&mut object, "deletionTimestamp", timestamp(self.core.environment.now()).into());
        tree::set(tree::field_mut(&mut object, "status"), "phase", "Terminating");
        let body = self.entry.encode(&object);
        if self.options.dry_run {
            return Ok(Some(Deletion { body: body.into(), marked: true }));
        }
        let marked = commit::put(self.core, self.entry, stored.key(), Some(stored), (&object, &body)).ok();
        Ok(marked.map(|marked| Deletion { body: marked.body().clone(), marked: true }))
    }
}

/// The graceful deletion of an object.
enum Grace {
    /// The kind knows none, or the object need not wait.
    None,
    /// It is being deleted already, and this request changes nothing.
    Pending,
    /// It was marked; at 0 it goes at once.
    Seconds(i64),
}

/// The second half of `rest.BeforeDelete`: marks the object.
fn grace_of(entry: &Entry, object: &mut Value, requested: Option<i64>, now: Timestamp) -> Grace {
    let Some(seconds_left) = entry.kind.strategy.grace_period(object, requested) else { return Grace::None };
    if !meta::is_deleting(object) {
        let at = now.saturating_add(SignedDuration::from_secs(seconds_left)).unwrap_or(now);
        meta::set(object, "deletionTimestamp", timestamp(at).into());
        meta::set(object, "deletionGracePeriodSeconds", seconds_left.into());
        bump_generation(object);
        return Grace::Seconds(seconds_left);
    }
    let current = meta::number(object, "deletionGracePeriodSeconds").unwrap_or_default();
    let current = if current < 0 { 1 } else { current };
    if current == 0 {
        return Grace::None;
    }
    let Some(mut period) = requested.filter(|requested| *requested < current) else { return Grace::Pending };
    let marked: Timestamp = meta::text(object, "deletionTimestamp").parse().unwrap_or(now);
    let mut at = marked.saturating_add(SignedDuration::from_secs(period - current)).unwrap_or(now);
    if at < now {
        at = now;
        if period != 0 {
            period = 1;
        }
    }
    meta::set(object, "deletionTimestamp", timestamp(at).into());
    meta::set(object, "deletionGracePeriodSeconds", period.into());
    Grace::Seconds(period)
}

/// `markAsDeleting`: the object waits for its finalizers.
fn mark(object: &mut Value, now: Timestamp) {
    if !meta::is_deleting(object) {
        bump_generation(object);
    }
    let marked: Option<Timestamp> = meta::text(object, "deletionTimestamp").parse().ok();
    if marked.is_none_or(|marked| marked > now) {
        meta::set(object, "deletionTimestamp", timestamp(now).into());
    }
    meta::set(object, "deletionGracePeriodSeconds", json!(0));
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = meta::number(object, "generation").filter(|generation| *generation > 0) {
        next_generation(object, generation);
    }
}
