//! Services by what a user has in hand: a pod, an address, a node, a label.

use std::collections::HashSet;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::{NamespaceObjects, PodEntry};
use endpointslice::model::LabelSet;
use serde::Serialize;

/// Results of each kind.
const LIMIT: usize = 50;
/// Further pods whose Services are looked up: a node has that many at most.
const FURTHER: usize = 450;
/// The shortest text that is looked for in names: a letter is in all of them.
const SHORTEST: usize = 2;

/// The result of a search.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Pods, with the Services that select them.
    pub pods: Vec<PodFound>,
    /// Services that have it themselves.
    pub services: Vec<ServiceFound>,
    /// True if there is more than a response holds.
    pub more: bool,
}

/// A pod.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PodFound {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The node.
    pub node: Option<String>,
    /// The addresses.
    pub addresses: Vec<String>,
    /// True if the pod is ready.
    pub ready: bool,
    /// The kind of match: `pod`, `address`, `node` or `label`.
    pub by: &'static str,
    /// The names of the Services that select the pod.
    pub services: Vec<String>,
}

/// A Service that has an address, a label in its selector, or an endpoint that is not a pod.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ServiceFound {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The kind of match: `cluster address`, `selector` or `endpoint`; `pod` for a pod for which there was no place.
    pub by: &'static str,
    /// The value.
    pub value: String,
}

/// Looks for a text in names of pods and nodes, for the beginning of an address, or for `key=value` in labels.
///
/// Cost: linear in pods and endpoints.
pub(crate) fn search(snapshot: &Snapshot, query: &str) -> Found {
    let query = query.trim().to_lowercase();
    let mut found = Found::default();
    if query.chars().count() < SHORTEST {
        return found;
    }
    let query = Query::new(&query);
    // What is exactly the text comes first, wherever it is.
    let (mut exact, mut others) = (Vec::new(), Vec::new());
    for (namespace, objects) in snapshot.by_namespace() {
        for entry in objects.pods() {
            let Some(by) = query.finds(entry) else { continue };
            let list = if query.is(entry) { &mut exact } else { &mut others };
            if list.len() < LIMIT + FURTHER {
                list.push((namespace, objects, entry, by));
            } else {
                found.more = true;
            }
        }
        services(namespace, objects, &query, &mut found);
    }
    let known = |it: &ServiceFound| (it.namespace.clone(), it.name.clone());
    let mut known: HashSet<(String, String)> = found.services.iter().map(known).collect();
    for (namespace, objects, entry, by) in exact.into_iter().chain(others).take(LIMIT + FURTHER) {
        let pod = pod_found(namespace, objects, entry, by);
        if found.pods.len() < LIMIT {
            known.extend(pod.services.iter().map(|name| (pod.namespace.clone(), name.clone())));
            found.pods.push(pod);
        } else {
            found.more = true;
            found.add_services_of(pod, &mut known);
        }
    }
    found
}

impl Found {
    /// Adds the Services of a pod that has no place itself, but for those that are known.
    fn add_services_of(&mut self, pod: PodFound, known: &mut HashSet<(String, String)>) {
        for name in pod.services {
            if self.services.len() < LIMIT && known.insert((pod.namespace.clone(), name.clone())) {
                let (namespace, value) = (pod.namespace.clone(), pod.name.clone());
                self.services.push(ServiceFound { namespace, name, by: "pod", value });
            }
        }
    }
}

/// A query, as far as its form says what it may be.
struct Query<'a> {
    text: &'a str,
    label: Option<(&'a str, &'a str)>,
    is_address: bool,
}

impl<'a> Query<'a> {
    fn new(text: &'a str) -> Self {
        let is_part = |letter: char| letter.is_ascii_hexdigit() || ".:".contains(letter);
        let is_address = text.contains(['.', ':']) && text.chars().all(is_part);
        Self { text, label: text.split_once('=').filter(|(key, _)| !key.is_empty()), is_address }
    }

    fn finds(&self, entry: &PodEntry) -> Option<&'static str> {
        let pod = &entry.pod;
        if let Some(label) = self.label {
            return label_of(&pod.labels, label).map(|_| "label");
        }
        if self.is_address && pod.addresses.iter().any(|address| self.begins(&address.to_string())) {
            return Some("address");
        }
        if pod.name.contains(self.text) {
            return Some("pod");
        }
        pod.node_name.as_deref().is_some_and(|node| node.contains(self.text)).then_some("node")
    }

    /// True for a pod whose name, address or node is the text.
    fn is(&self, entry: &PodEntry) -> bool {
        let pod = &entry.pod;
        &*pod.name == self.text
            || pod.node_name.as_deref() == Some(self.text)
            || self.is_address && pod.addresses.iter().any(|address| address.to_string() == self.text)
    }

    /// True for an address that is the text, or begins with it if the text ends within a part.
    fn begins(&self, address: &str) -> bool {
        address.starts_with(self.text)
    }
}

/// The label that a query finds. Labels may have capital letters, and the query has none.
fn label_of<'a>(labels: &'a LabelSet, (key, value): (&str, &str)) -> Option<(&'a str, &'a str)> {
    let mut labels = labels.iter().map(|(found, its)| (&**found, &**its));
    labels.find(|(found, its)| found.eq_ignore_ascii_case(key) && its.to_lowercase().starts_with(value))
}

fn pod_found(namespace: &str, objects: &NamespaceObjects, entry: &PodEntry, by: &'static str) -> PodFound {
    let pod = &entry.pod;
    let selects = |selector: &LabelSet| selector.selects(&pod.labels);
    let services = objects.services().filter(|it| it.service.selector.as_ref().is_some_and(selects));
    PodFound {
        namespace: namespace.to_owned(),
        name: pod.name.to_string(),
        node: pod.node_name.as_deref().map(Into::into),
        addresses: pod.addresses.iter().map(ToString::to_string).collect(),
        ready: pod.ready,
        by,
        services: services.map(|it| it.name().to_string()).collect(),
    }
}

fn services(namespace: &str, objects: &NamespaceObjects, query: &Query<'_>, found: &mut Found) {
    let mut add = |name: &str, by, value: String| {
        if found.services.len() < LIMIT {
            found.services.push(ServiceFound {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                by,
                value,
            });
        } else {
            found.more = true;
        }
    };
    for entry in objects.services() {
        let spec = entry.object.spec.as_ref();
        if query.is_address {
            let addresses = spec.and_then(|spec| spec.cluster_ips.as_ref()).into_iter().flatten();
            if let Some(address) = addresses.into_iter().find(|address| query.begins(address)) {
                add(&entry.name(), "cluster address", address.clone());
            } else if let Some(address) = of_others(objects, &entry.name(), query) {
                add(&entry.name(), "endpoint", address);
            }
        } else if let (Some(label), Some(selector)) = (query.label, entry.service.selector.as_ref())
            && let Some((key, value)) = label_of(selector, label)
        {
            add(&entry.name(), "selector", format!("{key}={value}"));
        }
    }
}

/// An address of an endpoint that is not a pod: those of pods are found at the pods.
fn of_others(objects: &NamespaceObjects, service: &str, query: &Query<'_>) -> Option<String> {
    let endpoints = objects.slices_of(service).flat_map(|slice| slice.endpoints.iter().flatten());
    let others = endpoints.filter(|endpoint| {
        let target = endpoint.target_ref.as_ref();
        target.and_then(|target| target.name.as_deref()).is_none_or(|name| objects.pod(name).is_none())
    });
    let mut addresses = others.flat_map(|endpoint| &endpoint.addresses);
    addresses.find(|address| query.begins(address)).cloned()
}

#[cfg(test)]
mod tests;
