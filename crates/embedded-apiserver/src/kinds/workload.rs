//! Deployments and replica sets as plain storage: `pkg/registry/apps`. Only their metadata is checked, and that they select the
//! pods of their template.

use serde_json::{Value, json};

use super::content;
use super::field::{Errors, Path};
use super::label_selector;
use super::metadata;
use super::pod;
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of Deployments and replica sets.
pub(super) struct Workload {
    is_deployment: bool,
}

pub(super) const DEPLOYMENT: Workload = Workload { is_deployment: true };
pub(super) const REPLICA_SET: Workload = Workload { is_deployment: false };

impl Strategy for Workload {
    fn default(&self, object: &mut Value) {
        let spec = tree::field_mut(object, "spec");
        pod::default_template(tree::field_mut(spec, "template"));
        tree::set_default(spec, "replicas", 1);
        if self.is_deployment {
            default_deployment(spec);
        }
    }

    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        let status = if self.is_deployment { json!({}) } else { json!({ "replicas": 0 }) };
        tree::set(object, "status", status);
        metadata::set_generation(object, 1);
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        if scope.subresource == "status" {
            tree::copy(object, "spec", old);
            if self.is_deployment {
                tree::copy(tree::field_mut(object, "metadata"), "labels", tree::field(old, "metadata"));
            }
            return;
        }
        tree::copy(object, "status", old);
        let annotations = |object| tree::at(object, &["metadata", "annotations"]);
        let is_changed = !tree::same(tree::field(object, "spec"), tree::field(old, "spec"))
            || (self.is_deployment && !tree::same(annotations(object), annotations(old)));
        if is_changed {
            metadata::next_generation(object, metadata::generation(old));
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, content::subdomain_name, errors);
        validate_selector(object, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        if scope.subresource != "status" {
            validate_selector(object, errors);
        }
    }
}

/// `SetDefaults_Deployment`.
fn default_deployment(spec: &mut Value) {
    let strategy = tree::field_mut(spec, "strategy");
    tree::set_default_text(strategy, "type", "RollingUpdate");
    if tree::text(strategy, "type") == "RollingUpdate" {
        let rolling = tree::field_mut(strategy, "rollingUpdate");
        tree::set_default(rolling, "maxUnavailable", "25%");
        tree::set_default(rolling, "maxSurge", "25%");
    }
    tree::set_default(spec, "revisionHistoryLimit", 10);
    tree::set_default(spec, "progressDeadlineSeconds", 600);
}

fn validate_selector(object: &Value, errors: &mut Errors) {
    let spec = tree::field(object, "spec");
    let selector = tree::field(spec, "selector");
    if selector.is_null() {
        errors.required(&Path::root("spec.selector"), "");
    }
    let labels = tree::at(spec, &["template", "metadata", "labels"]);
    if selector.is_null() || !label_selector::selects(selector, labels) {
        let path = Path::root("spec.template.metadata.labels");
        errors.invalid(&path, labels, "`selector` does not match template `labels`");
    }
}
