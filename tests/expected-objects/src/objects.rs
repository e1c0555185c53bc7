//! The endpoints and labels that objects should have, and those that they have. Each endpoint is a line; how endpoints
//! are spread over slices, hints and trigger times are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::Value;

use crate::index::Index;
use crate::mirrored::mirrored_lines;
use crate::ports::{at, has_ambiguous_ports, list, port_line, text};
use crate::{CONTROLLERS, DELEGATED};

/// Objects by name.
pub type Named = BTreeMap<String, Arc<Value>>;

/// Lines by the object or group that they belong to.
type Lines = BTreeMap<String, BTreeSet<String>>;

/// The labels that the controllers decide themselves.
const OF_SLICES: [&str; 3] = [MANAGED_BY, SERVICE_NAME, "service.kubernetes.io/headless"];
const OF_ENDPOINTS: [&str; 2] = ["service.kubernetes.io/headless", "endpoints.kubernetes.io/managed-by"];

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"].get(key)?.as_str()
}

/// True if Endpoints are the lock of a leader election.
pub(crate) fn elects_a_leader(endpoints: &Value) -> bool {
    endpoints["metadata"]["annotations"].get("control-plane.alpha.kubernetes.io/leader").is_some()
}

/// True if no program that has the controllers has written any field of this object.
fn is_copy(object: &Value) -> bool {
    let managers = list(object, "/metadata/managedFields").iter().map(|entry| text(entry, "/manager"));
    !managers.into_iter().any(|manager| PROGRAMS.contains(&manager))
}

pub(crate) fn flag(value: &Value, pointer: &str) -> bool {
    at(value, pointer).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn has_selector(service: &Value) -> bool {
    service["spec"]["selector"].as_object().is_some_and(|selector| !selector.is_empty())
}

fn is_external(service: &Value) -> bool {
    text(service, "/spec/type") == "ExternalName"
}

/// The programs that have the controllers, by their field managers.
const PROGRAMS: [&str; 2] = ["endpoint-controller-manager", "kube-controller-manager"];

/// The objects of one namespace, and all nodes, by name, at one moment.
#[derive(Debug, Default)]
pub struct Objects {
    pub services: Named,
    pub pods: Named,
    pub nodes: Named,
    pub endpoints: Named,
    pub slices: Named,
    /// The feature gate for delegated Services.
    pub gate: bool,
}

impl Objects {
    /// The uid of a Service.
    pub fn service_uid(&self, name: &str) -> Option<&str> {
        self.services.get(name).map(|service| text(service, "/metadata/uid"))
    }

    /// The names of pods that are bound to nodes that do not exist.
    pub fn pods_of_lost_nodes(&self) -> impl Iterator<Item = &String> {
        let node = |pod: &Value| text(pod, "/spec/nodeName").to_owned();
        let lost = move |pod: &Value| !node(pod).is_empty() && !self.nodes.contains_key(&node(pod));
        self.pods.iter().filter(move |(_, pod)| lost(pod)).map(|(name, _)| name)
    }

    /// The uids of all that may own slices.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.services.values().chain(self.endpoints.values()).map(|owner| text(owner, "/metadata/uid"))
    }

    pub fn is_delegated(&self, service: &Value) -> bool {
        self.gate && label(service, DELEGATED).is_some()
    }

    /// True if the controller of EndpointSlices maintains the slices of this Service.
    pub fn is_kept(&self, name: &str) -> bool {
        self.services.get(name).is_some_and(|service| has_selector(service) && !is_external(service))
    }

    /// The expected and the actual lines, of all that is determined.
    fn compare(&self) -> (Lines, Lines) {
        let (mut expected, mut actual) = (Lines::new(), Lines::new());
        let index = Index::of(self);
        for (name, service) in &self.services {
            let kept = self.is_kept(name);
            let delegated = self.is_delegated(service);
            if delegated || kept {
                let key = format!("slices of {name}");
                expected.insert(
                    key.clone(),
                    if delegated { BTreeSet::new() } else { self.slice_lines_of(&index, name, service) },
                );
                actual.insert(key, actual_slices(index.slices(name), Some(CONTROLLERS[0]), false));
            }
            if kept {
                let key = format!("Endpoints {name}");
                let (wanted, there) = if delegated {
                    (BTreeSet::new(), self.leftover_endpoints(name))
                } else {
                    (endpoints_lines_of(&index, service), self.actual_endpoints(name))
                };
                expected.insert(key.clone(), wanted);
                actual.insert(key, there);
            }
        }
        for (name, endpoints) in &self.endpoints {
            let service = self.services.get(name);
            let mirrored = self.is_mirrored(name);
            let opts_out = label(endpoints, "endpointslice.kubernetes.io/skip-mirror") == Some("true")
                || elects_a_leader(endpoints);
            if mirrored && has_ambiguous_ports(endpoints) {
                continue;
            }
            let key = format!("mirror of {name}");
            let mut lines = if mirrored && !opts_out { mirrored_lines(endpoints) } else { BTreeSet::new() };
            let mut there = actual_slices(index.slices(name), Some(CONTROLLERS[1]), true);
            // Subsets without ports may be merged with others.
            if list(endpoints, "/subsets").iter().any(|subset| !list(subset, "/ports").is_empty()) {
                lines.retain(|line| !line.ends_with(" -"));
                there.retain(|line| !line.ends_with(" -"));
            }
            expected.insert(key.clone(), lines);
            actual.insert(key, there);
            if service.is_none() {
                actual.insert(format!("Endpoints {name} without a Service"), self.leftover_endpoints(name));
            }
        }
        (expected, actual)
    }

    fn is_mirrored(&self, name: &str) -> bool {
        let service = self.services.get(name);
        service.is_some_and(|service| !has_selector(service) && !self.is_delegated(service))
    }

    /// True if slices of some mirror are not compared: those that the API server refuses, and addresses without ports next
    /// to others.
    pub fn has_unjudged_mirrors(&self) -> bool {
        self.endpoints.keys().any(|name| self.is_mirrored(name) && self.is_unjudged(name))
    }

    /// True if the mirror of the Endpoints of this name is not judged.
    pub(crate) fn is_unjudged(&self, name: &str) -> bool {
        let mixes = |endpoints: &Value| {
            let mut subsets = list(endpoints, "/subsets").iter();
            let has_ports = |subset: &Value| !list(subset, "/ports").is_empty();
            subsets.clone().any(has_ports) && !subsets.all(has_ports)
        };
        self.endpoints.get(name).is_some_and(|it| has_ambiguous_ports(it) || mixes(it))
    }

    /// Lines that differ.
    pub fn differences(&self) -> Vec<String> {
        self.wrong_objects().into_values().flatten().collect()
    }

    /// Lines that differ, by the object or group of slices that they belong to: `Endpoints NAME`, `slices of NAME`,
    /// `mirror of NAME`.
    pub fn wrong_objects(&self) -> BTreeMap<String, Vec<String>> {
        let (expected, actual) = self.compare();
        let keys: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
        let none = BTreeSet::new();
        let mut wrong = BTreeMap::new();
        for key in keys {
            let (expected, actual) = (expected.get(key).unwrap_or(&none), actual.get(key).unwrap_or(&none));
            let missing = expected.difference(actual).map(|line| format!("missing in {key}: {line}"));
            let excess = actual.difference(expected).map(|line| format!("too much in {key}: {line}"));
            let lines: Vec<String> = missing.chain(excess).collect();
            if !lines.is_empty() {
                wrong.insert(key.clone(), lines);
            }
        }
        wrong
    }

    pub fn slice_lines(&self, name: &str, service: &Value) -> BTreeSet<String> {
        self.slice_lines_of(&Index::of(self), name, service)
    }

    pub(crate) fn slice_lines_of(&self, index: &Index<'_>, name: &str, service: &Value) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for family in list(service, "/spec/ipFamilies").iter().filter_map(Value::as_str) {
            lines.insert(format!("{family} has slices"));
            lines.insert(labels(service, &OF_SLICES));
        }
        for Wanted { family, pod_name, pod, addresses, ready } in self.wanted(index, service) {
            let node = text(pod, "/spec/nodeName");
            let zone = self.nodes.get(node).and_then(|node| label(node, "topology.kubernetes.io/zone"));
            let zone = zone.unwrap_or_default();
            // A slice keeps the order of its ports when the Service's changes.
            let ports: BTreeSet<String> =
                service_ports(service).filter_map(|port| resolved(pod, port)).collect();
            let (serving, terminating) = (is_ready(pod), is_terminating(pod));
            let host = hostname(pod, name);
            lines.insert(format!(
                "{family} {ports:?} {addresses:?} ready={ready} serving={serving} terminating={terminating} \
                 host={host} node={node} zone={zone} pod={pod_name}"
            ));
        }
        lines
    }

    /// The endpoints that slices of a Service should have.
    pub(crate) fn wanted<'a>(
        &self,
        index: &Index<'a>,
        service: &'a Value,
    ) -> impl Iterator<Item = Wanted<'a>> {
        let publish = flag(service, "/spec/publishNotReadyAddresses");
        let families = list(service, "/spec/ipFamilies").iter().filter_map(Value::as_str);
        let pods = families.flat_map(move |family| index.selected(service).map(move |pod| (family, pod)));
        pods.filter_map(move |(family, (pod_name, pod))| {
            if !publish && !self.nodes.contains_key(text(pod, "/spec/nodeName")) {
                return None;
            }
            let addresses = addresses(pod, family);
            let ready = publish || is_ready(pod) && !is_terminating(pod);
            (!addresses.is_empty()).then_some(Wanted { family, pod_name, pod, addresses, ready })
        })
    }

    pub fn endpoints_lines(&self, service: &Value) -> BTreeSet<String> {
        endpoints_lines_of(&Index::of(self), service)
    }

    fn actual_endpoints(&self, name: &str) -> BTreeSet<String> {
        let Some(endpoints) = self.endpoints.get(name) else {
            return BTreeSet::from(["no object".to_owned()]);
        };
        let mut lines = BTreeSet::from([labels(endpoints, &OF_ENDPOINTS)]);
        if !self.managed_endpoints(name).is_empty() {
            lines.insert("managed".to_owned());
        }
        for subset in list(endpoints, "/subsets") {
            let ports: Vec<String> = list(subset, "/ports").iter().map(port_line).collect();
            for (ready, field) in [(true, "/addresses"), (false, "/notReadyAddresses")] {
                for address in list(subset, field) {
                    let line = |port: &str| {
                        format!("{} {ready} {} {port}", text(address, "/ip"), of_address(address))
                    };
                    lines.extend(ports.iter().map(|port| line(port)));
                    if ports.is_empty() {
                        lines.insert(line("-"));
                    }
                }
            }
        }
        lines
    }

    /// Not empty if the Endpoints of this name are the controller's, and to be deleted if no Service needs them: the locks of
    /// leader elections may stay, and copies that another client created.
    fn leftover_endpoints(&self, name: &str) -> BTreeSet<String> {
        let may_stay = |it: &Arc<Value>| elects_a_leader(it) || is_copy(it);
        let stays = self.endpoints.get(name).is_some_and(may_stay);
        if stays { BTreeSet::new() } else { self.managed_endpoints(name) }
    }

    /// Not empty if the Endpoints of this name are the controller's.
    fn managed_endpoints(&self, name: &str) -> BTreeSet<String> {
        let managed = self.endpoints.get(name).and_then(|it| label(it, "endpoints.kubernetes.io/managed-by"));
        managed.filter(|by| *by == "endpoint-controller").map(|_| "there".to_owned()).into_iter().collect()
    }
}

/// An endpoint that a slice should have.
pub(crate) struct Wanted<'a> {
    family: &'a str,
    pub(crate) pod_name: &'a str,
    pod: &'a Value,
    pub(crate) addresses: Vec<String>,
    pub(crate) ready: bool,
}

/// The endpoints of those of a Service's slices that a controller, or any, manages. Those of the mirroring controller are
/// flattened by port, as Endpoints are repacked.
pub(crate) fn actual_slices<'a>(
    slices: impl Iterator<Item = &'a Value>,
    controller: Option<&str>,
    by_port: bool,
) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let is_managed = |slice: &&Value| controller.is_none() || label(slice, MANAGED_BY) == controller;
    for slice in slices.filter(is_managed) {
        let family = text(slice, "/addressType");
        if !by_port {
            lines.insert(format!("{family} has slices"));
            lines.insert(labels(slice, &OF_SLICES));
        }
        let ports: BTreeSet<String> = list(slice, "/ports").iter().map(port_line).collect();
        for endpoint in list(slice, "/endpoints") {
            let condition = |name: &str| flag(endpoint, &format!("/conditions/{name}"));
            let (host, node) = (text(endpoint, "/hostname"), text(endpoint, "/nodeName"));
            let pod = text(endpoint, "/targetRef/name");
            let addresses: Vec<&str> =
                list(endpoint, "/addresses").iter().filter_map(Value::as_str).collect();
            if by_port {
                let ready = condition("ready");
                let flat =
                    |port: &str| format!("{family} {addresses:?} {ready} host={host} node={node} {port}");
                lines.extend(ports.iter().map(|port| flat(port)));
                if ports.is_empty() {
                    lines.insert(flat("-"));
                }
                continue;
            }
            let [ready, serving, terminating] = ["ready", "serving", "terminating"].map(condition);
            let zone = text(endpoint, "/zone");
            lines.insert(format!(
                "{family} {ports:?} {addresses:?} ready={ready} serving={serving} terminating={terminating} \
                 host={host} node={node} zone={zone} pod={pod}"
            ));
        }
    }
    lines
}

fn endpoints_lines_of(index: &Index<'_>, service: &Value) -> BTreeSet<String> {
    let name = text(service, "/metadata/name");
    let publish = flag(service, "/spec/publishNotReadyAddresses");
    let family = list(service, "/spec/ipFamilies").first().and_then(Value::as_str).unwrap_or("IPv4");
    let mut lines = BTreeSet::from([labels(service, &OF_ENDPOINTS), "managed".to_owned()]);
    for (pod_name, pod) in index.selected(service) {
        if is_terminating(pod) && !publish {
            continue;
        }
        let Some(ip) = addresses(pod, family).into_iter().next() else { continue };
        let ready = publish || is_ready(pod);
        let (host, node) = (hostname(pod, name), text(pod, "/spec/nodeName"));
        let line = |port: &str| format!("{ip} {ready} host={host} node={node} of={pod_name} {port}");
        lines.extend(service_ports(service).filter_map(|port| resolved(pod, port)).map(|port| line(&port)));
        if service_ports(service).next().is_none() && text(service, "/spec/clusterIP") == "None" {
            lines.insert(line("-"));
        }
    }
    lines
}

/// The labels that come from the Service. Which of the others an object has depends on what it was before.
fn labels(object: &Value, reserved: &[&str]) -> String {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    // Neither upstream nor ours writes a slice because a label without a value comes or goes.
    let labels = labels.filter(|(key, value)| !reserved.contains(&key.as_str()) && *value != "");
    format!("labels {:?}", labels.collect::<Vec<_>>())
}

fn of_address(address: &Value) -> String {
    let (host, node) = (text(address, "/hostname"), text(address, "/nodeName"));
    format!("host={host} node={node} of={}", text(address, "/targetRef/name"))
}

fn service_ports(service: &Value) -> impl Iterator<Item = &Value> {
    list(service, "/spec/ports").iter()
}

/// The port of a Service on a pod, unless the pod lacks it.
fn resolved(pod: &Value, port: &Value) -> Option<String> {
    let protocol = text(port, "/protocol");
    let number = match &port["targetPort"] {
        Value::String(name) => container_port(pod, name, protocol)?,
        Value::Number(number) if number.as_u64() != Some(0) => number.as_u64()?,
        _ => port["port"].as_u64()?,
    };
    Some(format!("{}:{protocol}:{number}:{}", text(port, "/name"), text(port, "/appProtocol")))
}

/// Containers first, then sidecars.
fn container_port(pod: &Value, name: &str, protocol: &str) -> Option<u64> {
    let sidecars = list(pod, "/spec/initContainers").iter();
    let sidecars = sidecars.filter(|container| text(container, "/restartPolicy") == "Always");
    let containers = list(pod, "/spec/containers").iter().chain(sidecars);
    let mut ports = containers.flat_map(|container| list(container, "/ports"));
    let port = ports.find(|port| text(port, "/name") == name && text(port, "/protocol") == protocol)?;
    port["containerPort"].as_u64()
}

fn addresses(pod: &Value, family: &str) -> Vec<String> {
    let ips = list(pod, "/status/podIPs").iter().filter_map(|ip| text(ip, "/ip").parse::<IpAddr>().ok());
    ips.filter(|ip| ip.is_ipv6() == (family == "IPv6")).map(|ip| ip.to_string()).collect()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = list(pod, "/status/conditions").iter();
    conditions.filter(|it| text(it, "/type") == "Ready").any(|it| text(it, "/status") == "True")
}

fn is_terminating(pod: &Value) -> bool {
    pod["metadata"].get("deletionTimestamp").is_some()
}

fn hostname<'a>(pod: &'a Value, service: &str) -> &'a str {
    if text(pod, "/spec/subdomain") == service { text(pod, "/spec/hostname") } else { "" }
}
