//! Changes of stored objects: `Store.Update` of the generic registry and `GuaranteedUpdate` below it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::commit;
use super::create::{self, Creation};
use super::lifecycle;
use super::meta;
use super::names;
use crate::core::{Core, Entry};
use crate::kinds::{before_create, before_update};
use crate::list;
use crate::managed_fields::keep_times;
use crate::status::Status;
use crate::store::{Refused, Stored};

/// The circumstances of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) entry: &'static Entry,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) dry_run: bool,
    /// True if the object is created if it does not exist, whatever its kind says: server-side apply.
    pub(crate) creates: bool,
    /// The uid that the object must have; empty for any.
    pub(crate) uid: &'a str,
}

/// The result of a change.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The stored bytes.
    pub(crate) body: Bytes,
    /// False if it was there, with or without a difference, or is gone now.
    pub(crate) created: bool,
}

/// Computes the new object from the current one, which is absent if it is to be created. Called
/// again if another request was faster.
pub(crate) type Make<'a> = dyn FnMut(Option<&Value>, &mut Vec<String>) -> Result<Value, Status> + 'a;

/// Changes an object, or creates it.
pub(crate) fn change(
    core: &Core,
    change: Change<'_>,
    warnings: &mut Vec<String>,
    make: &mut Make<'_>,
) -> Result<Changed, Status> {
    let key = names::key_of(change.entry, change.namespace, change.name)?;
    loop {
        let stored = core.store.get(change.entry.resource, &key);
        let attempt = match &stored {
            Some(stored) => update(core, (change, stored), warnings, make)?,
            None => create_instead(core, change, warnings, make)?,
        };
        // A faster request won: what it left is changed.
        if let Some(changed) = attempt {
            return Ok(changed);
        }
    }
}

/// `None` if another request was faster.
fn create_instead(
    core: &Core,
    change: Change<'_>,
    warnings: &mut Vec<String>,
    make: &mut Make<'_>,
) -> Result<Option<Changed>, Status> {
    let Change { entry, namespace, name, dry_run, .. } = change;
    let allowed = change.creates || entry.kind.strategy.creates_on_update();
    let missing = || Status::not_found(entry.kind.group, entry.kind.plural, name);
    if !allowed {
        return Err(missing());
    }
    if !change.uid.is_empty() {
        return Err(precondition_failed(change, "UID", change.uid, ""));
    }
    let mut object = make(None, warnings)?;
    lifecycle::admit_create(core, entry, namespace, name)?;
    parse_version(meta::text(&object, "resourceVersion"))?;
    // Any number is ignored here, other than at a plain creation.
    meta::remove(&mut object, "resourceVersion");
    let prepared = before_create(&core.scope(entry, namespace, change.subresource, dry_run), &mut object)?;
    let creation = Creation { entry, namespace, dry_run, manager: "" };
    match create::store(core, creation, &object, prepared) {
        Ok(body) => Ok(Some(Changed { body, created: true })),
        Err(status) if status.reason == "AlreadyExists" && !dry_run => Ok(None),
        Err(status) => Err(status),
    }
}

/// `None` if another request was faster.
fn update(
    core: &Core,
    (change, stored): (Change<'_>, &Arc<Stored>),
    warnings: &mut Vec<String>,
    make: &mut Make<'_>,
) -> Result<Option<Changed>, Status> {
    let Change { entry, namespace, subresource, dry_run, .. } = change;
    let old = entry.tree(stored.body())?;
    let uid = meta::text(&old, "uid");
    if !change.uid.is_empty() && change.uid != uid {
        return Err(precondition_failed(change, "UID", change.uid, uid));
    }
    let mut object = make(Some(&old), warnings)?;
    fit_version(change, &mut object, &old)?;
    let prepared = before_update(&core.scope(entry, namespace, subresource, dry_run), &mut object, &old)?;
    keep_times(&old, &mut object);
    let body = entry.encode(&object);
    let done = |body: Bytes| Ok(Some(Changed { body, created: false }));
    if ends_deletion(entry, &object, &old) {
        if !dry_run {
            prepared.commit();
            if let Err(Refused::Changed(_)) = commit::remove(core, entry, stored) {
                return Ok(None);
            }
        }
        return done(body.into());
    }
    if body == *stored.body() {
        prepared.commit();
        return done(stored.body().clone());
    }
    if dry_run {
        return done(body.into());
    }
    match commit::put(core, entry, stored.key(), Some(stored), (&object, &body)) {
        Ok(stored) => {
            prepared.commit();
            done(stored.body().clone())
        }
        Err(_) => Ok(None),
    }
}

/// Compares the version of the new object with the stored one, and fills it in if the kind allows to leave it out.
fn fit_version(change: Change<'_>, object: &mut Value, old: &Value) -> Result<(), Status> {
    let Change { entry, name, .. } = change;
    let current = meta::text(old, "resourceVersion").to_owned();
    let given = meta::text(object, "resourceVersion");
    let version = parse_version(given)?;
    if version != 0 {
        if given == current || version.to_string() == current {
            return Ok(());
        }
        let cause =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(entry.kind.group, entry.kind.plural, name, cause));
    }
    if !entry.kind.strategy.updates_unconditionally() {
        let mut errors = crate::kinds::Errors::default();
        let metadata = crate::kinds::Path::root("metadata");
        errors.invalid(&metadata.child("resourceVersion"), 0, "must be specified for an update");
        return Err(errors.into_status(entry.kind.group, entry.kind.plural, name));
    }
    meta::set(object, "resourceVersion", current.into());
    Ok(())
}

fn parse_version(text: &str) -> Result<u64, Status> {
    list::parse_version(text).map_err(|error| Status::new(500, "", error))
}

/// `ShouldDeleteDuringUpdate`: the update took the last finalizer of an object that is being deleted.
fn ends_deletion(entry: &Entry, object: &Value, old: &Value) -> bool {
    let spec_finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    let held = entry.kind.plural == "namespaces" && spec_finalizers.is_some_and(|held| !held.is_empty());
    !held
        && meta::finalizers(object).is_empty()
        && meta::is_deleting(old)
        && meta::number(old, "deletionGracePeriodSeconds").unwrap_or_default() == 0
}

/// 409 in the words of `storage.Preconditions`, which print the key in etcd.
pub(crate) fn precondition_failed(change: Change<'_>, what: &str, wanted: &str, found: &str) -> Status {
    let Change { entry, namespace, name, dry_run, .. } = change;
    let prefix = match entry.kind.plural {
        "services" => "services/specs",
        "endpoints" => "services/endpoints",
        "nodes" => "minions",
        other => other,
    };
    // Dry runs do not get to the storage, which prefixes the key.
    let root = if dry_run { "" } else { "/registry" };
    let key = if entry.kind.namespaced { format!("{namespace}/{name}") } else { name.to_owned() };
    let cause = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{prefix}/{key}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    );
    Status::conflict(entry.kind.group, entry.kind.plural, name, &cause)
}
