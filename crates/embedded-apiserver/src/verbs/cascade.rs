//! Cascading deletion, and what else follows from a write: the dependents of a deleted owner, the contents of a deleted namespace, and, as until Kubernetes
//! 1.36, the Endpoints of a deleted Service.
//!
//! In a cluster the garbage collector and the namespace controller do the first two some time later. Here it happens after the
//! commit and before the response, in a fixed order, so that a test sees the result at once and a simulation repeats.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;

use super::change::{Change, change};
use super::delete::delete;
use super::meta;
use super::options::DeleteOptions;
use crate::core::{Core, Entry, Happened, entries};
use crate::kinds::tree::{self, text};
use crate::store::{Resource, Span, Stored, key};

/// Does what follows from a write, and from that, until nothing is left.
pub(crate) fn cascade(core: &Core) {
    let _alone = core.cascading.lock();
    loop {
        let Some(happened) = core.happened.lock().pop_front() else { return };
        match happened {
            Happened::Gone(entry, object) => gone(core, entry, &object),
            Happened::Deleting(entry, key) if entry.kind.plural == "namespaces" => {
                terminate(core, &key, true)
            }
            Happened::Deleting(..) => {}
        }
    }
}

fn gone(core: &Core, entry: &'static Entry, object: &Arc<Stored>) {
    if core.behaviour.deletes_endpoints
        && entry.kind.plural == "services"
        && let Some(endpoints) = Entry::named("v1", "Endpoints")
    {
        let place = (object.namespace(), object.name());
        _ = delete(core, endpoints, place, &DeleteOptions::default());
    }
    if core.behaviour.collects_garbage
        && entry.kind.strategy.is_collected()
        && let Ok(tree) = entry.tree(object.body())
    {
        for (resource, key) in core.owners.dependents(meta::text(&tree, "uid")) {
            collect(core, resource, &key);
        }
    }
    if !object.namespace().is_empty() {
        terminate(core, object.namespace(), false);
    }
}

/// `attemptToDeleteItem` of the garbage collector.
fn collect(core: &Core, resource: Resource, key: &str) {
    let Some(entry) = Entry::stored(resource) else { return };
    let Some(object) = current(core, entry, key) else { return };
    let owners = tree::list(tree::field(&object, "metadata"), "ownerReferences");
    if owners.is_empty() || meta::is_deleting(&object) {
        return;
    }
    let namespace = meta::text(&object, "namespace");
    let dangling: Vec<&str> = owners
        .iter()
        .filter(|owner| !exists(core, namespace, owner))
        .map(|owner| text(owner, "uid"))
        .collect();
    if dangling.len() < owners.len() {
        disown(core, resource, key, |owner| dangling.contains(&text(owner, "uid")));
        return;
    }
    let options =
        DeleteOptions { uid: Some(meta::text(&object, "uid").to_owned()), ..DeleteOptions::default() };
    _ = delete(core, entry, (namespace, meta::text(&object, "name")), &options);
}

/// True if an owner exists, or is of a kind that this server does not have.
fn exists(core: &Core, namespace: &str, owner: &Value) -> bool {
    let Some(entry) = Entry::named(text(owner, "apiVersion"), text(owner, "kind")) else { return true };
    let namespace = if entry.kind.namespaced { namespace } else { "" };
    current(core, entry, &key(namespace, text(owner, "name")))
        .is_some_and(|object| meta::text(&object, "uid") == text(owner, "uid"))
}

/// Removes owner references from an object.
fn disown(core: &Core, resource: Resource, key: &str, loose: impl Fn(&Value) -> bool) {
    let Some(entry) = Entry::stored(resource) else { return };
    alter(core, entry, (key, ""), &|object| {
        if let Some(Value::Array(owners)) =
            object.get_mut("metadata").and_then(|meta| meta.get_mut("ownerReferences"))
        {
            owners.retain(|owner| !loose(owner));
            if owners.is_empty() {
                meta::remove(object, "ownerReferences");
            }
        }
    });
}

/// Updates an object as a controller would. What the rules refuse stays as it is.
fn alter(core: &Core, entry: &'static Entry, (key, subresource): (&str, &str), edit: &dyn Fn(&mut Value)) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let request = Change { entry, namespace, name, subresource, dry_run: false, creates: false, uid: "" };
    _ = change(core, request, &mut Vec::new(), &mut |live, _| {
        let mut object = live.cloned().unwrap_or_default();
        edit(&mut object);
        Ok(object)
    });
}

/// The namespace controller: deletes the contents of a namespace that is being deleted, then takes its finalizer. Pods are
/// deleted at once, as there is no kubelet to end them.
///
/// `begins` is true if the namespace was written, and false if some of its contents have gone. Then an object that is being deleted
/// (no pod with a grace period, which no kubelet ends) and is the first of its kind holds all, as its end leads here again.
fn terminate(core: &Core, namespace: &str, begins: bool) {
    if !core.behaviour.terminates_namespaces {
        return;
    }
    let Some(entry) = Entry::named("v1", "Namespace") else { return };
    let Some(object) = current(core, entry, namespace) else { return };
    let is_held = !tree::list(tree::field(&object, "spec"), "finalizers").is_empty();
    if !meta::is_deleting(&object) || !is_held {
        return;
    }
    let kinds = || entries().iter().filter(|entry| entry.kind.namespaced);
    let first = |contents: &Entry| names(core, contents.resource, namespace, 1).pop();
    let is_waiting = |contents: &Entry| {
        let object = first(contents).and_then(|name| current(core, contents, &key(namespace, &name)));
        object.is_some_and(|object| {
            meta::is_deleting(&object)
                && meta::number(&object, "deletionGracePeriodSeconds").unwrap_or_default() == 0
        })
    };
    if !begins && kinds().any(is_waiting) {
        return;
    }
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    for contents in kinds() {
        for name in names(core, contents.resource, namespace, usize::MAX) {
            _ = delete(core, contents, (namespace, &name), &options);
        }
    }
    if kinds().any(|contents| first(contents).is_some()) {
        return;
    }
    let uid = meta::text(&object, "uid");
    alter(core, entry, (namespace, "finalize"), &|object| {
        if meta::text(object, "uid") == uid
            && let Some(spec) = object.get_mut("spec")
        {
            tree::remove(spec, "finalizers");
        }
    });
}

/// The names of the first objects of a kind in a namespace, up to `most`.
fn names(core: &Core, resource: Resource, namespace: &str, most: usize) -> Vec<String> {
    let prefix = format!("{namespace}/");
    let mut names = Vec::new();
    let span = Span { prefix: &prefix, start: "" };
    _ = core.store.visit(resource, None, span, |object| {
        names.push(object.name().to_owned());
        if names.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    names
}

fn current(core: &Core, entry: &Entry, key: &str) -> Option<Value> {
    entry.tree(core.store.get(entry.resource, key)?.body()).ok()
}
