//! Deployments and replica sets as plain storage: `pkg/registry/apps` and `pkg/apis/apps/validation`.

use serde_json::{Value, json};

use super::checks;
use super::content;
use super::field::{Errors, Path};
use super::go;
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

const SPEC: Path<'static> = Path::root("spec");
const STATUS: Path<'static> = Path::root("status");

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
        drop_annotations(object);
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
        drop_annotations(object);
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
        self.validate_spec(object, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        if scope.subresource == "status" {
            self.validate_status(object, old, errors);
            return;
        }
        self.validate_spec(object, errors);
        let selector = |object| tree::at(object, &["spec", "selector"]);
        if !tree::same(selector(object), selector(old)) {
            errors.invalid(&SPEC.child("selector"), printed(selector(object)), "field is immutable");
        }
    }
}

fn drop_annotations(object: &mut Value) {
    pod::drop_annotations(tree::field_mut(tree::field_mut(object, "spec"), "template"));
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

impl Workload {
    fn validate_spec(&self, object: &Value, errors: &mut Errors) {
        let spec = tree::field(object, "spec");
        let nonnegative = |key: &str, errors: &mut Errors| {
            metadata::nonnegative(tree::int(spec, key), &SPEC.child(key), errors);
        };
        nonnegative("replicas", errors);
        if !self.is_deployment {
            nonnegative("minReadySeconds", errors);
        }
        validate_selector(spec, errors);
        if !self.is_deployment {
            return;
        }
        validate_strategy(tree::field(spec, "strategy"), errors);
        for key in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
            nonnegative(key, errors);
        }
        if let Some(deadline) = tree::maybe_int(spec, "progressDeadlineSeconds")
            && deadline <= tree::int(spec, "minReadySeconds")
        {
            let path = SPEC.child("progressDeadlineSeconds");
            errors.invalid(&path, deadline, "must be greater than minReadySeconds");
        }
    }

    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors) {
        let status = tree::field(object, "status");
        let numbers: &[&str] = if self.is_deployment {
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ]
        } else {
            &[
                "replicas",
                "fullyLabeledReplicas",
                "readyReplicas",
                "availableReplicas",
                "observedGeneration",
                "terminatingReplicas",
            ]
        };
        for key in numbers {
            metadata::nonnegative(tree::int(status, key), &STATUS.child(key), errors);
        }
        let first = if self.is_deployment { "updatedReplicas" } else { "fullyLabeledReplicas" };
        for (key, limit, detail) in [
            (first, "replicas", "cannot be greater than status.replicas"),
            ("readyReplicas", "replicas", "cannot be greater than status.replicas"),
            ("availableReplicas", "replicas", "cannot be greater than status.replicas"),
            ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
        ] {
            let number = tree::int(status, key);
            if number > tree::int(status, limit) {
                errors.invalid(&STATUS.child(key), number, detail);
            }
        }
        let count = |status| tree::maybe_int(status, "collisionCount");
        if self.is_deployment && count(status) < count(tree::field(old, "status")) {
            let count = tree::int(status, "collisionCount");
            errors.invalid(&STATUS.child("collisionCount"), count, "cannot be decremented");
        }
    }
}

fn validate_selector(spec: &Value, errors: &mut Errors) {
    let selector = tree::field(spec, "selector");
    let path = SPEC.child("selector");
    let mut own = Errors::default();
    checks::label_selector(selector, &path, &mut own);
    let is_valid = own.is_empty();
    errors.extend(own);
    let is_empty = ["matchLabels", "matchExpressions"]
        .iter()
        .all(|key| tree::same(tree::field(selector, key), &Value::Null));
    if selector.is_null() {
        errors.required(&path, "");
    } else if is_empty {
        errors.invalid(&path, printed(selector), "empty selector is invalid for deployment");
    }
    if !is_valid {
        errors.invalid(&path, printed(selector), "invalid label selector");
        return;
    }
    let template = tree::field(spec, "template");
    let path = SPEC.child("template");
    let labels = tree::at(template, &["metadata", "labels"]);
    if selector.is_null() || (!is_empty && !checks::selects(selector, labels)) {
        let path = path.child("metadata");
        errors.invalid(&path.child("labels"), labels, "`selector` does not match template `labels`");
    }
    pod::validate_template(template, &path, errors);
    let path = path.child("spec");
    let pod_spec = tree::field(template, "spec");
    let restart = tree::text(pod_spec, "restartPolicy");
    if restart != "Always" {
        errors.not_supported(&path.child("restartPolicy"), Value::from(restart), &["Always"]);
    }
    if tree::has(pod_spec, "activeDeadlineSeconds") {
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(&path.child("activeDeadlineSeconds"), detail);
    }
}

/// The selector as Go prints it.
fn printed(selector: &Value) -> String {
    if selector.is_null() {
        "null".to_owned()
    } else {
        go::ordered(selector, &["matchLabels", "matchExpressions"])
    }
}

fn validate_strategy(strategy: &Value, errors: &mut Errors) {
    let path = SPEC.child("strategy");
    let rolling = tree::field(strategy, "rollingUpdate");
    let rolling_path = path.child("rollingUpdate");
    match tree::text(strategy, "type") {
        "Recreate" => {
            if !rolling.is_null() {
                errors.forbidden(&rolling_path, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) =
                (tree::field(rolling, "maxUnavailable"), tree::field(rolling, "maxSurge"));
            let unavailable_path = rolling_path.child("maxUnavailable");
            validate_count(unavailable, &unavailable_path, errors);
            validate_count(surge, &rolling_path.child("maxSurge"), errors);
            if count(unavailable) == 0 && count(surge) == 0 {
                errors.invalid(&unavailable_path, unavailable, "may not be 0 when `maxSurge` is 0");
            }
            if unavailable.is_string() && count(unavailable) > 100 {
                errors.invalid(&unavailable_path, unavailable, "must not be greater than 100%");
            }
        }
        other => {
            // Upstream prints its internal struct, which has no JSON names.
            let kind = go::json(&Value::from(other));
            let shown = match rolling {
                Value::Null => "null".to_owned(),
                rolling => format!(
                    "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                    or_zero(tree::field(rolling, "maxUnavailable")),
                    or_zero(tree::field(rolling, "maxSurge"))
                ),
            };
            let shown = format!("{{\"Type\":{kind},\"RollingUpdate\":{shown}}}");
            errors.not_supported(&path, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn or_zero(count: &Value) -> Value {
    if count.is_null() { json!(0) } else { count.clone() }
}

/// `ValidatePositiveIntOrPercent`.
fn validate_count(count: &Value, path: &Path<'_>, errors: &mut Errors) {
    match count.as_str() {
        Some(text) => {
            if let Some(message) = content::percent(text) {
                errors.invalid(path, count, message);
            }
        }
        None => metadata::nonnegative(count.as_i64().unwrap_or_default(), path, errors),
    }
}

/// The number of an integer or percentage. Other text is read as a number, as Go's `IntValue` does.
fn count(count: &Value) -> i64 {
    match count.as_str() {
        Some(text) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or_default(),
        None => count.as_i64().unwrap_or_default(),
    }
}
