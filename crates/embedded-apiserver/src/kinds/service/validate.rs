//! `validateService` and `ValidateLoadBalancerStatus`.

use serde_json::Value;

use crate::kinds::checks::{self, PROTOCOLS};
use crate::kinds::field::{Errors, Path};
use crate::kinds::{content, ip, metadata};
use crate::{go, tree};

use super::families;
use super::spec::Spec;

const SPEC: Path<'static> = Path::root("spec");
const ANNOTATIONS: Path<'static> = Path::root("metadata.annotations");
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
const ONLY_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";

/// Checks everything but the metadata.
pub(super) fn service(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let annotation = |key| tree::at(object, &["metadata", "annotations", key]).as_str();
    if let (Some(mode), Some(hints)) = (annotation(MODE), annotation(HINTS))
        && mode != hints
    {
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        errors.invalid(&ANNOTATIONS.key(MODE), mode, &detail);
    }
    let spec = Spec::of(object);
    let old_spec = old.map(Spec::of);
    validate_type_rules(spec, errors);
    validate_ports(spec, errors);
    metadata::labels(tree::field(spec.0, "selector"), &SPEC.child("selector"), errors);
    validate_affinity(spec, errors);
    families::validate(spec, old_spec, errors);
    validate_external_ips(spec, old_spec, errors);
    checks::one_of(spec.service_type(), TYPES, &SPEC.child("type"), errors);
    validate_unique_ports(spec, errors);
    validate_source_ranges(object, old, errors);
    let allocates = tree::has(spec.0, "allocateLoadBalancerNodePorts");
    match (allocates, spec.service_type() == "LoadBalancer") {
        (true, false) => errors.forbidden(&SPEC.child("allocateLoadBalancerNodePorts"), ONLY_BALANCERS),
        (false, true) => errors.required(&Path::root("allocateLoadBalancerNodePorts"), ""),
        _ => {}
    }
    load_balancer_class(spec, errors);
    validate_external_traffic(spec, errors);
    validate_internal_traffic(spec, errors);
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
            let name = tree::text(spec.0, "externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            let path = SPEC.child("externalName");
            if name.is_empty() {
                errors.required(&path, "");
            } else {
                checks::subdomain(name, &path, errors);
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

fn validate_affinity(spec: Spec<'_>, errors: &mut Errors) {
    let affinity = tree::text(spec.0, "sessionAffinity");
    checks::one_of(affinity, &["ClientIP", "None"], &SPEC.child("sessionAffinity"), errors);
    let path = SPEC.child("sessionAffinityConfig");
    let config = tree::field(spec.0, "sessionAffinityConfig");
    if affinity == "None" && !config.is_null() {
        errors.forbidden(&path, "must not be set when session affinity is None");
    }
    if affinity == "ClientIP" {
        // Defaulting has filled in all levels.
        let timeout = tree::int(tree::field(config, "clientIP"), "timeoutSeconds");
        if timeout <= 0 || timeout > 86_400 {
            let path = path.child("clientIP");
            errors.invalid(
                &path.child("timeoutSeconds"),
                timeout,
                "must be greater than 0 and less than 86400",
            );
        }
    }
}

fn validate_external_ips(spec: Spec<'_>, old: Option<Spec<'_>>, errors: &mut Errors) {
    let before = old.map(|old| tree::texts(old.0, "externalIPs")).unwrap_or_default();
    let path = SPEC.child("externalIPs");
    for (index, text) in tree::texts(spec.0, "externalIPs").into_iter().enumerate() {
        let path = path.index(index);
        if ip::check(errors, &path, text, &before) {
            ip::check_endpoint(errors, &path, text);
        }
    }
}

fn validate_unique_ports(spec: Spec<'_>, errors: &mut Errors) {
    let ports = spec.ports();
    let path = SPEC.child("ports");
    if spec.service_type() == "ClusterIP" {
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| tree::int(port, "nodePort") != 0) {
            errors.forbidden(
                &path.index(index).child("nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            );
        }
    }
    for key in ["nodePort", "port"] {
        let mut seen = Vec::with_capacity(ports.len());
        for (index, port) in ports.iter().enumerate() {
            let (protocol, number) = (tree::text(port, "protocol"), tree::int(port, key));
            if key == "nodePort" && number == 0 {
                continue;
            }
            if seen.contains(&(protocol, number)) {
                let path = path.index(index);
                if key == "nodePort" {
                    errors.duplicate(&path.child("nodePort"), number);
                } else {
                    errors.duplicate(&path, port_key(protocol, number));
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

fn validate_source_ranges(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let spec = Spec::of(object);
    let is_balancer = spec.service_type() == "LoadBalancer";
    let ranges = tree::texts(spec.0, "loadBalancerSourceRanges");
    if !ranges.is_empty() {
        // Upstream's path begins with a capital letter.
        let path = SPEC.child("LoadBalancerSourceRanges");
        if !is_balancer {
            errors.forbidden(&path, ONLY_BALANCERS);
        }
        let before =
            old.map(|old| tree::texts(Spec::of(old).0, "loadBalancerSourceRanges")).unwrap_or_default();
        let before: Vec<&str> = before.into_iter().map(str::trim).collect();
        for (index, range) in ranges.into_iter().enumerate() {
            ip::check_network(errors, &path.index(index), range.trim(), &before);
        }
        return;
    }
    let annotation = |object| tree::at(object, &["metadata", "annotations", SOURCE_RANGES]).as_str();
    let Some(ranges) = annotation(object) else {
        return;
    };
    let path = ANNOTATIONS.key(SOURCE_RANGES);
    if !is_balancer {
        errors.forbidden(&path, ONLY_BALANCERS);
    }
    if old.and_then(annotation) != Some(ranges) && !ranges.trim().is_empty() {
        for range in ranges.trim().split(',') {
            ip::check_network(errors, &path, range.trim(), &[]);
        }
    }
}

/// The format of `loadBalancerClass`.
pub(super) fn load_balancer_class(spec: Spec<'_>, errors: &mut Errors) {
    if let Some(class) = tree::maybe_text(spec.0, "loadBalancerClass") {
        let path = SPEC.child("loadBalancerClass");
        if spec.service_type() == "LoadBalancer" {
            checks::qualified(class, &path, errors);
        } else {
            errors.forbidden(&path, ONLY_BALANCERS);
        }
    }
}

fn validate_external_traffic(spec: Spec<'_>, errors: &mut Errors) {
    let policy = tree::text(spec.0, "externalTrafficPolicy");
    let path = SPEC.child("externalTrafficPolicy");
    if spec.is_externally_accessible() {
        checks::one_of(policy, &["Cluster", "Local"], &path, errors);
    } else if !policy.is_empty() {
        errors.invalid(&path, Value::from(policy), "may only be set for externally-accessible services");
    }
    let port = spec.health_check_port();
    let path = SPEC.child("healthCheckNodePort");
    match (spec.needs_health_check(), port) {
        (false, 0) => {}
        (false, _) => errors.invalid(
            &path,
            port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ),
        (true, 0) => errors.required(&path, ""),
        (true, _) => checks::port(port, &path, errors),
    }
}

fn validate_internal_traffic(spec: Spec<'_>, errors: &mut Errors) {
    let path = SPEC.child("internalTrafficPolicy");
    match tree::maybe_text(spec.0, "internalTrafficPolicy") {
        None if matches!(spec.service_type(), "NodePort" | "LoadBalancer" | "ClusterIP") => {
            errors.required(&path, "");
        }
        None | Some("Cluster" | "Local") => {}
        Some(other) => errors.not_supported(&path, Value::from(other), &["Cluster", "Local"]),
    }
    if let Some(distribution) = tree::maybe_text(spec.0, "trafficDistribution")
        && !DISTRIBUTIONS.contains(&distribution)
    {
        errors.not_supported(&SPEC.child("trafficDistribution"), distribution, DISTRIBUTIONS);
    }
}

/// `ValidateLoadBalancerStatus`.
pub(super) fn status(object: &Value, old: &Value, errors: &mut Errors) {
    let ingress = |object| tree::list(tree::at(object, &["status", "loadBalancer"]), "ingress");
    let path = Path::root("status.loadBalancer.ingress");
    if Spec::of(object).service_type() != "LoadBalancer" && !ingress(object).is_empty() {
        errors.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    let before: Vec<&str> =
        ingress(old).iter().filter_map(|ingress| tree::maybe_text(ingress, "ip")).collect();
    for (index, ingress) in ingress(object).iter().enumerate() {
        let path = path.index(index);
        let address = tree::text(ingress, "ip");
        if !address.is_empty() {
            ip::check(errors, &path.child("ip"), address, &before);
        }
        let mode_path = path.child("ipMode");
        match (tree::maybe_text(ingress, "ipMode"), address.is_empty()) {
            (None, false) => errors.required(&mode_path, "must be specified when `ip` is set"),
            (Some(_), true) => errors.forbidden(&mode_path, "may not be specified when `ip` is not set"),
            (None, true) | (Some("VIP" | "Proxy"), false) => {}
            (Some(mode), false) => errors.not_supported(&mode_path, Value::from(mode), &["Proxy", "VIP"]),
        }
        let hostname = tree::text(ingress, "hostname");
        if !hostname.is_empty() {
            errors.invalid_each(&path.child("hostname"), hostname, &content::dns_subdomain(hostname));
            if ip::parse(hostname).is_some() {
                errors.invalid(&path.child("hostname"), hostname, "must be a DNS name, not an IP address");
            }
        }
    }
}
