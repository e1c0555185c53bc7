//! Namespaces: `pkg/registry/core/namespace`. Only their metadata is checked.

use serde_json::{Value, json};

use super::content;
use super::field::Errors;
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
        metadata::validate_own(object, false, content::label_name, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        if scope.subresource != "status" {
            self.validate(scope, object, errors);
        }
        metadata::validate_own_update(object, old, errors);
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
