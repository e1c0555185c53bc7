//! Pods: `pkg/registry/core/pod`.

mod admit;
mod bind;
mod containers;
mod defaults;
mod image;
mod qos;
mod spec;
mod status;
mod update;

use serde_json::{Value, json};

use crate::kinds::field::{Errors, Path};
use crate::kinds::strategy::{Scope, Strategy};
use crate::kinds::{content, metadata, tree};

pub(crate) use bind::bind;
pub(super) use defaults::default_template;

/// The rules of Pods.
pub(crate) struct Pod;

impl Strategy for Pod {
    fn default(&self, object: &mut Value) {
        defaults::default_pod(object);
    }

    fn admit(&self, scope: &Scope<'_>, object: &mut Value, old: Option<&Value>) {
        if scope.subresource.is_empty() {
            admit::admit(scope, object, old);
        }
    }

    fn prepare_for_create(&self, scope: &Scope<'_>, object: &mut Value) {
        metadata::set_generation(object, 1);
        let mut status = json!({ "phase": "Pending", "qosClass": qos::class(tree::field(object, "spec")) });
        if !tree::list(tree::field(object, "spec"), "schedulingGates").is_empty() {
            let condition = json!({
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": null,
                "lastTransitionTime": metadata::timestamp(scope.environment.now()),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            });
            tree::set(&mut status, "conditions", json!([condition]));
        }
        tree::set(object, "status", status);
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        if scope.subresource == "status" {
            status::prepare(object, old);
            return;
        }
        tree::copy(object, "status", old);
        // A client that does not know the resources of pods leaves them out.
        let spec = tree::field_mut(object, "spec");
        if !tree::has(spec, "resources") {
            tree::copy(spec, "resources", tree::field(old, "spec"));
        }
        if !tree::same(tree::field(object, "spec"), tree::field(old, "spec")) {
            metadata::next_generation(object, metadata::generation(old));
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        validate_pod(object, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        if scope.subresource == "status" {
            status::validate(object, old, errors);
            return;
        }
        validate_pod(object, errors);
        update::validate(tree::field(object, "spec"), tree::field(old, "spec"), errors);
    }

    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let spec = tree::field(object, "spec");
        let phase = tree::text(tree::field(object, "status"), "phase");
        if tree::text(spec, "nodeName").is_empty() || matches!(phase, "Failed" | "Succeeded") {
            return Some(0);
        }
        let period = requested.unwrap_or_else(|| tree::int(spec, "terminationGracePeriodSeconds"));
        Some(if period < 0 { 1 } else { period })
    }
}

/// `validatePodMetadataAndSpec`.
fn validate_pod(object: &Value, errors: &mut Errors) {
    metadata::validate_own(object, true, content::subdomain_name, errors);
    let spec = tree::field(object, "spec");
    let path = Path::root("spec");
    spec::validate(spec, &path, errors);
    for key in ["containers", "initContainers"] {
        let path = path.child(key);
        for (index, container) in tree::list(spec, key).iter().enumerate() {
            let image = tree::text(container, "image");
            if image.trim().len() != image.len() {
                let path = path.index(index);
                errors.invalid(&path.child("image"), image, "must not have leading or trailing whitespace");
            }
        }
    }
}

#[cfg(test)]
mod tests;
