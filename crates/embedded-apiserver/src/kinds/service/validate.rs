//! `validateService`, as far as endpoints depend on it, and of `ValidateLoadBalancerStatus` the type.

use serde_json::Value;

use crate::kinds::checks::{self, PROTOCOLS};
use crate::kinds::field::{Errors, Path};
use crate::kinds::{go, metadata, tree};

use super::families;
use super::spec::Spec;

const SPEC: Path<'static> = Path::root("spec");
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];

/// Checks everything but the metadata.
pub(super) fn service(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = Spec::of(object);
    validate_type_rules(spec, errors);
    validate_ports(spec, errors);
    metadata::labels(tree::field(spec.0, "selector"), &SPEC.child("selector"), errors);
    families::validate(spec, old.map(Spec::of), errors);
    checks::one_of(spec.service_type(), TYPES, &SPEC.child("type"), errors);
    validate_unique_ports(spec, errors);
    if tree::has(spec.0, "allocateLoadBalancerNodePorts") && spec.service_type() != "LoadBalancer" {
        let path = SPEC.child("allocateLoadBalancerNodePorts");
        errors.forbidden(&path, "may only be used when `type` is 'LoadBalancer'");
    }
    // Allocated before, but where an update of the status creates the Service.
    if spec.needs_health_check() && spec.health_check_port() == 0 {
        errors.required(&SPEC.child("healthCheckNodePort"), "");
    }
    validate_traffic(spec, errors);
}

fn validate_type_rules(spec: Spec<'_>, errors: &mut Errors) {
    if spec.ports().is_empty() && !spec.is_headless() && !spec.is_external_name() {
        errors.required(&SPEC.child("ports"), "");
    }
    match spec.service_type() {
        kind @ ("LoadBalancer" | "NodePort") if spec.is_headless() => {
            let path = SPEC.child("clusterIPs");
            errors.invalid(&path.index(0), "None", &format!("may not be set to 'None' for {kind} services"));
        }
        "ExternalName" => {
            for key in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !tree::same(tree::field(spec.0, key), &Value::Null) {
                    errors.forbidden(&SPEC.child(key), "may not be set for ExternalName services");
                }
            }
        }
        _ => {}
    }
}

fn validate_ports(spec: Spec<'_>, errors: &mut Errors) {
    let ports = spec.ports();
    let mut names: Vec<&str> = Vec::new();
    let path = SPEC.child("ports");
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = tree::text(port, "name");
        let name_path = path.child("name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.required(&name_path, "");
            }
        } else {
            checks::label(name, &name_path, errors);
            if names.contains(&name) {
                errors.duplicate(&name_path, name);
            } else {
                names.push(name);
            }
        }
        checks::port(tree::int(port, "port"), &path.child("port"), errors);
        checks::one_of(tree::text(port, "protocol"), PROTOCOLS, &path.child("protocol"), errors);
        checks::port_or_name(tree::field(port, "targetPort"), &path.child("targetPort"), errors);
        if let Some(protocol) = tree::maybe_text(port, "appProtocol") {
            checks::qualified(protocol, &path.child("appProtocol"), errors);
        }
    }
}

fn validate_unique_ports(spec: Spec<'_>, errors: &mut Errors) {
    let path = SPEC.child("ports");
    for key in ["nodePort", "port"] {
        let mut seen = Vec::with_capacity(spec.ports().len());
        for (index, port) in spec.ports().iter().enumerate() {
            let (protocol, number) = (tree::text(port, "protocol"), tree::int(port, key));
            if (key == "port" || number != 0) && seen.contains(&(protocol, number)) {
                let path = path.index(index);
                match key {
                    "nodePort" => errors.duplicate(&path.child("nodePort"), number),
                    _ => errors.duplicate(&path, port_key(protocol, number)),
                }
            }
            seen.push((protocol, number));
        }
    }
}

/// Upstream's internal struct of a port with only these two fields set, as its error prints it.
fn port_key(protocol: &str, number: i64) -> String {
    let protocol = go::json(&Value::from(protocol));
    format!(
        "{{\"Name\":\"\",\"Protocol\":{protocol},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
    )
}

fn validate_traffic(spec: Spec<'_>, errors: &mut Errors) {
    let policy = tree::text(spec.0, "externalTrafficPolicy");
    let path = SPEC.child("externalTrafficPolicy");
    if spec.is_externally_accessible() {
        checks::one_of(policy, &["Cluster", "Local"], &path, errors);
    } else if !policy.is_empty() {
        errors.invalid(&path, Value::from(policy), "may only be set for externally-accessible services");
    }
    if let Some(distribution) = tree::maybe_text(spec.0, "trafficDistribution")
        && !DISTRIBUTIONS.contains(&distribution)
    {
        errors.not_supported(&SPEC.child("trafficDistribution"), distribution, DISTRIBUTIONS);
    }
}

/// `ValidateLoadBalancerStatus`.
pub(super) fn status(object: &Value, errors: &mut Errors) {
    let ingress = |object| tree::list(tree::at(object, &["status", "loadBalancer"]), "ingress");
    let path = Path::root("status.loadBalancer.ingress");
    if Spec::of(object).service_type() != "LoadBalancer" && !ingress(object).is_empty() {
        errors.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
    }
}
