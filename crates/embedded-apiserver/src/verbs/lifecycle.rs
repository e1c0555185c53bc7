//! The admission plugin `NamespaceLifecycle`: writes that the phase of a namespace allows. Updates it always allows.

use std::borrow::Cow;

use crate::core::{Core, Entry};
use crate::selectors::text_at;
use crate::status::{Cause, Status};

/// Namespaces that cannot be deleted.
const IMMORTAL: &[&str] = &["default", "kube-system", "kube-public"];
/// `status.phase` of a Namespace, by the numbers of its fields.
const PHASE: &[u32] = &[3, 1];

/// Allows new objects only in existing namespaces that are not being deleted.
pub(crate) fn admit_create(core: &Core, entry: &Entry, namespace: &str, name: &str) -> Result<(), Status> {
    if phase(core, entry, namespace)?.as_deref() != Some("Terminating") {
        return Ok(());
    }
    let cause =
        format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(entry.kind.group, entry.kind.plural, name, &cause);
    status.details.get_or_insert_default().causes.push(Cause {
        reason: Cow::Borrowed("NamespaceTerminating"),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    });
    Err(status)
}

/// Allows deletions, but not of the namespaces that every cluster needs.
pub(crate) fn admit_delete(entry: &Entry, name: &str) -> Result<(), Status> {
    if entry.kind.plural == "namespaces" && IMMORTAL.contains(&name) {
        return Err(Status::forbidden("", "namespaces", name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// The phase of the namespace of a namespaced kind.
fn phase(core: &Core, entry: &Entry, namespace: &str) -> Result<Option<String>, Status> {
    if !entry.kind.namespaced {
        return Ok(None);
    }
    let namespaces = Entry::named("v1", "Namespace").ok_or_else(|| Status::internal("no kind Namespace"))?;
    let stored = core.store.get(namespaces.resource, namespace);
    let stored = stored.ok_or_else(|| Status::not_found("", "namespaces", namespace))?;
    let phase = text_at(stored.body(), PHASE).unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(phase).into_owned()))
}
