//! Addresses that have been ready since before a process started.

use std::sync::Arc;

use expected_objects::Objects;
use serde_json::Value;

use super::published::Place;

/// True if a Service is to publish this address as ready, in its slices or in its Endpoints, and neither the Service nor the
/// pod nor its node has changed since this version.
pub fn is_ready_since(
    version: u64,
    objects: &Objects,
    service: &str,
    place: &Place,
    in_slices: bool,
) -> bool {
    let Place { pod: pod_name, address, ports } = place;
    let (Some(object), Some(pod)) = (objects.services.get(service), objects.pods.get(pod_name)) else {
        return false;
    };
    let node = pod["spec"]["nodeName"].as_str().and_then(|name| objects.nodes.get(name));
    let changed = |object: &Arc<Value>| self::version(object).is_none_or(|number| number > version);
    let has_changed = [object, pod].into_iter().chain(node).any(changed);
    if has_changed || !objects.is_kept(service) || objects.is_delegated(object) {
        return false;
    }
    if in_slices {
        let (address, pod) = (format!("\"{address}\""), format!(" pod={pod_name}"));
        let ports = format!(" {ports:?} ");
        let is_it = |line: &String| {
            line.contains(&address)
                && line.contains(&ports)
                && line.contains(" ready=true ")
                && line.ends_with(&pod)
        };
        objects.slice_lines(service, object).iter().any(is_it)
    } else {
        let (address, pod) = (format!("{address} true "), format!(" of={pod_name} "));
        objects.endpoints_lines(object).iter().any(|line| line.starts_with(&address) && line.contains(&pod))
    }
}

/// The version of an object.
pub fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}
