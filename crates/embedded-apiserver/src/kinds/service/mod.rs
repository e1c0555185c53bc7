//! Services: `pkg/registry/core/service`.

mod allocate;
mod families;
mod spec;
mod update;
mod validate;

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::kinds::allocation::{Allocators, Reservation};
use crate::kinds::field::Errors;
use crate::kinds::strategy::{Scope, Strategy};
use crate::kinds::{metadata, tree};
use crate::status::Status;

use spec::Spec;

/// The rules of Services.
pub(crate) struct Service;

impl Strategy for Service {
    fn default(&self, object: &mut Value) {
        default_spec(tree::field_mut(object, "spec"));
        if Spec::of(object).service_type() == "LoadBalancer"
            && let Some(status) = tree::present_mut(object, "status")
            && let Some(balancer) = tree::present_mut(status, "loadBalancer")
        {
            for ingress in tree::list_mut(balancer, "ingress") {
                if !tree::text(ingress, "ip").is_empty() {
                    tree::set_default(ingress, "ipMode", "VIP");
                }
            }
        }
    }

    fn begin(
        &self,
        scope: &Scope<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<Reservation, Status> {
        match old {
            None => {
                update::normalize_cluster_ips(object, None);
                allocate::for_create(scope, object)
            }
            Some(old) => {
                let old = &as_stored(old);
                update::patch_allocated(object, old);
                update::normalize_cluster_ips(object, Some(old));
                allocate::for_update(scope, object, old)
            }
        }
    }

    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        tree::set(object, "status", json!({ "loadBalancer": {} }));
    }

    fn prepare_for_update(&self, scope: &Scope<'_>, object: &mut Value, old: &Value) {
        if scope.subresource == "status" {
            tree::copy(object, "spec", old);
            return;
        }
        tree::copy(object, "status", old);
        update::drop_type_dependent(object, old);
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, crate::kinds::content::label_name, errors);
        validate::service(object, None, errors);
    }

    fn validate_update(&self, scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        if scope.subresource == "status" {
            validate::status(object, errors);
            return;
        }
        update::validate(Spec::of(object), Spec::of(old), errors);
        validate::service(object, Some(old), errors);
    }

    /// Does to external names what the real server does when it reads them (`defaultOnReadService`).
    fn canonicalize(&self, object: &mut Value) {
        if Spec::of(object).is_external_name() {
            tree::remove(tree::field_mut(object, "spec"), "internalTrafficPolicy");
            update::normalize_cluster_ips(object, None);
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn release(&self, allocators: &Allocators, object: &Value) {
        allocators.release(allocate::claims(Spec::of(object)));
    }

    fn adopt(&self, allocators: &Allocators, object: &Value) {
        allocators.adopt(allocate::claims(Spec::of(object)));
    }
}

/// A Service as the real server has it in its store, where external names have no `clusterIPs`.
fn as_stored(service: &Value) -> Cow<'_, Value> {
    let mut service = Cow::Borrowed(service);
    if Spec::of(&service).is_external_name() {
        tree::remove(tree::field_mut(service.to_mut(), "spec"), "clusterIPs");
    }
    service
}

/// `SetDefaults_Service`.
fn default_spec(spec: &mut Value) {
    tree::set_default_text(spec, "sessionAffinity", "None");
    match tree::text(spec, "sessionAffinity") {
        "None" => tree::remove(spec, "sessionAffinityConfig"),
        "ClientIP" => {
            let timeout = tree::at(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
            if timeout.is_null() {
                tree::set(spec, "sessionAffinityConfig", json!({ "clientIP": { "timeoutSeconds": 10800 } }));
            }
        }
        _ => {}
    }
    tree::set_default_text(spec, "type", "ClusterIP");
    for port in tree::list_mut(spec, "ports") {
        tree::set_default_text(port, "protocol", "TCP");
        let target = tree::field(port, "targetPort");
        if target.is_null() || target.as_i64() == Some(0) || target.as_str() == Some("") {
            let number = tree::int(port, "port");
            tree::set(port, "targetPort", number);
        }
    }
    if Spec(spec).is_externally_accessible() {
        tree::set_default_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(tree::text(spec, "type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        tree::set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if tree::text(spec, "type") == "LoadBalancer" {
        tree::set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
}
