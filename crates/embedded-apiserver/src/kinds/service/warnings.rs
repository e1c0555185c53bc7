//! `GetWarningsForService`.

use serde_json::Value;

use crate::kinds::field::Path;
use crate::kinds::ip;
use crate::tree;

use super::spec::Spec;

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const SPEC: Path<'static> = Path::root("spec");

/// Texts about deprecated and ignored fields.
pub(super) fn service(object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = Spec::of(object);
    if !tree::at(object, &["metadata", "annotations", HINTS]).is_null() {
        warnings.push(format!("annotation {HINTS} is deprecated, please use {MODE} instead"));
    }
    let is_headless = spec.service_type() == "ClusterIP" && spec.cluster_ip() == "None";
    if !matches!(spec.cluster_ip(), "" | "None") {
        warnings.extend(addresses(spec, "clusterIPs"));
    }
    let external = tree::list(spec.0, "externalIPs");
    let balancer_ip = tree::text(spec.0, "loadBalancerIP");
    if is_headless {
        if !balancer_ip.is_empty() {
            warnings.push("spec.loadBalancerIP is ignored for headless services".to_owned());
        }
        if !external.is_empty() {
            warnings.push("spec.externalIPs is ignored for headless services".to_owned());
        }
        if tree::text(spec.0, "sessionAffinity") != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    warnings.extend(addresses(spec, "externalIPs"));
    if !external.is_empty() && !is_headless && !spec.is_external_name() {
        let text = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(text.to_owned());
    }
    if !balancer_ip.is_empty() {
        warnings.extend(ip::warning(&SPEC.child("loadBalancerIP"), balancer_ip));
    }
    let path = SPEC.child("loadBalancerSourceRanges");
    for (index, range) in tree::texts(spec.0, "loadBalancerSourceRanges").into_iter().enumerate() {
        warnings.extend(ip::network_warnings(&path.index(index), range));
    }
    if spec.is_external_name() && !external.is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !spec.is_external_name() && !tree::text(spec.0, "externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if tree::text(spec.0, "trafficDistribution") == "PreferClose" {
        let text = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(text.to_owned());
    }
    warnings
}

fn addresses(spec: Spec<'_>, key: &str) -> Vec<String> {
    let path = SPEC.child(key);
    let texts = tree::texts(spec.0, key).into_iter().enumerate();
    texts.filter_map(|(index, text)| ip::warning(&path.index(index), text)).collect()
}
