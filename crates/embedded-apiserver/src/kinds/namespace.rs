//! Namespaces: `pkg/registry/core/namespace`.

use serde_json::{Value, json};

use super::content;
use super::field::{Errors, Path};
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

/// The rules of Namespaces.
pub(super) struct Namespace;

impl Strategy for Namespace {
    fn default(&self, object: &mut Value) {
        label_name(object);
        tree::set_default_text(tree::field_mut(object, "status"), "phase", "Active");
    }

    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        tree::set(object, "status", json!({ "phase": "Active" }));
        let spec = tree::field_mut(object, "spec");
        if !tree::texts(spec, "finalizers").contains(&FINALIZER) {
            tree::push(spec, "finalizers", FINALIZER);
        }
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        let kept: &[&str] = match scope.subresource {
            "status" => &["spec"],
            "finalize" => &["status"],
            _ => &["spec", "status"],
        };
        for key in kept {
            tree::copy(object, key, old);
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        validate(object, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        if scope.subresource == "status" {
            metadata::validate_own_update(object, old, errors);
            validate_phase(object, errors);
        } else {
            validate(object, errors);
            metadata::validate_own_update(object, old, errors);
        }
    }

    fn canonicalize(&self, object: &mut Value) {
        // The name may be generated after the defaults.
        label_name(object);
    }
}

fn label_name(object: &mut Value) {
    let name = tree::text(tree::field(object, "metadata"), "name").to_owned();
    if !name.is_empty() {
        metadata::set_label(object, NAME_LABEL, &name);
    }
}

fn validate(object: &Value, errors: &mut Errors) {
    metadata::validate_own(object, false, content::label_name, errors);
    let path = Path::root("spec.finalizers");
    for finalizer in tree::texts(tree::field(object, "spec"), "finalizers") {
        errors.invalid_each(&path, finalizer, &content::qualified_name(finalizer));
        metadata::known_finalizer(finalizer, &path, errors);
    }
}

fn validate_phase(object: &Value, errors: &mut Errors) {
    let phase = tree::text(tree::field(object, "status"), "phase");
    let is_deleted = tree::has(tree::field(object, "metadata"), "deletionTimestamp");
    // Upstream's path has a capital letter.
    let path = Path::root("status.Phase");
    if !is_deleted && phase != "Active" {
        errors.invalid(&path, Value::from(phase), "may only be 'Active' if `deletionTimestamp` is empty");
    } else if is_deleted && phase != "Terminating" {
        errors.invalid(
            &path,
            Value::from(phase),
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        );
    }
}
