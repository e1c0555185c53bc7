//! Deployments and replica sets as plain storage: `pkg/registry/apps`. Of their specs and statuses, only the number of
//! replicas is checked.

use serde_json::{Value, json};

use super::field::{Errors, Path};
use super::strategy::{Scope, Strategy};
use super::{content, metadata, pod};
use crate::tree;

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
            metadata::set_generation(object, metadata::generation(old) + 1);
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, content::subdomain_name, errors);
        validate_replicas(object, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        validate_replicas(object, errors);
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

fn validate_replicas(object: &Value, errors: &mut Errors) {
    let spec = Path::root("spec");
    let replicas = tree::int(tree::field(object, "spec"), "replicas");
    metadata::nonnegative(replicas, &spec.child("replicas"), errors);
}
