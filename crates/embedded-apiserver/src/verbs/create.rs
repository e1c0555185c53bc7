//! Creation: `handlers/create.go` and `Store.Create` of the generic registry.

use bytes::Bytes;
use serde_json::Value;

use super::commit;
use super::lifecycle;
use super::meta;
use super::names;
use super::tracking;
use crate::core::{Core, Entry};
use crate::kinds::{Prepared, before_create, fit_namespace};
use crate::status::Status;
use crate::store::Refused;

/// Names that are generated before the server gives up.
const ATTEMPTS: usize = 8;

/// The circumstances of a creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Creation<'a> {
    pub(crate) entry: &'static Entry,
    pub(crate) namespace: &'a str,
    pub(crate) dry_run: bool,
    /// The name under which managed fields are recorded.
    pub(crate) manager: &'a str,
}

/// Creates an object, decoded and without kind and apiVersion. Returns the stored bytes.
pub(crate) fn create(core: &Core, creation: Creation<'_>, mut object: Value) -> Result<Bytes, Status> {
    let Creation { entry, namespace, manager, .. } = creation;
    for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        meta::remove(&mut object, field);
    }
    fit_namespace(entry.kind, namespace, &mut object)?;
    tracking::manager(entry, "").update(None, &mut object, manager, core.environment.now());
    lifecycle::admit_create(core, entry, namespace, meta::text(&object, "name"))?;
    // Only a number other than 0 counts as a version here.
    if meta::text(&object, "resourceVersion").parse::<u64>().unwrap_or_default() == 0 {
        meta::remove(&mut object, "resourceVersion");
    }
    let generates = meta::text(&object, "name").is_empty() && !meta::text(&object, "generateName").is_empty();
    let mut attempts = if generates { ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        let mut attempt = if attempts == 0 { std::mem::take(&mut object) } else { object.clone() };
        let scope = core.scope(entry, namespace, "", creation.dry_run);
        let prepared = before_create(&scope, &mut attempt)?;
        match store(core, creation, &attempt, prepared) {
            Err(status) if status.reason == "AlreadyExists" && attempts > 0 => {}
            result => return result,
        }
    }
}

/// Stores a new object that passed all checks.
/// Errors: 409 if it exists.
pub(crate) fn store(
    core: &Core,
    creation: Creation<'_>,
    object: &Value,
    prepared: Prepared,
) -> Result<Bytes, Status> {
    let Creation { entry, namespace, dry_run, .. } = creation;
    let key = names::key_of(entry, namespace, meta::text(object, "name"))?;
    // It is the storage that looks at it, after all warnings. Dry runs do not get there.
    if !dry_run && meta::has(object, "resourceVersion") {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let body = entry.encode(object);
    if dry_run {
        return match core.store.get(entry.resource, &key) {
            Some(existing) => Err(exists(entry, object, existing.body())),
            None => Ok(body.into()),
        };
    }
    match commit::put(core, entry, &key, None, (object, &body)) {
        Ok(stored) => {
            prepared.commit();
            Ok(stored.body().clone())
        }
        Err(Refused::Exists(existing)) => Err(exists(entry, object, existing.body())),
        Err(refused) => Err(Status::internal(format!("{refused:?}"))),
    }
}

fn exists(entry: &Entry, object: &Value, existing: &[u8]) -> Status {
    let (group, plural) = (entry.kind.group, entry.kind.plural);
    let mut status = Status::already_exists(group, plural, meta::text(object, "name"));
    if !meta::text(object, "generateName").is_empty() {
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status.details.get_or_insert_default().retry_after_seconds = 1;
    }
    if entry.tree(existing).is_ok_and(|existing| meta::is_deleting(&existing)) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}
