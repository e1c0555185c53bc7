//! Parts of the cluster that the result leaves out, and the reasons.

use std::collections::{BTreeMap, HashMap, HashSet};

use cli_runtime::input::object::{field, key, text};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use serde_json::{Map, Value};

/// The most names in one line.
const MAX_NAMES: usize = 5;

/// Names by the reason for which they were left out.
#[derive(Debug, Default)]
pub(crate) struct Skipped(BTreeMap<&'static str, Vec<String>>);

impl Skipped {
    fn add(&mut self, reason: &'static str, object: &Value) {
        self.0.entry(reason).or_default().push(key(object));
    }

    /// One line for each reason.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(reason, names): (&&str, &Vec<String>)| format!("{reason}: {}", listed(names));
        self.0.iter().map(line).collect()
    }
}

/// The first names, and the number of the others.
pub(crate) fn listed(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The Services and pods of a cluster that get no endpoints. With `delegation`, Services may belong to other controllers.
pub(crate) fn skipped(services: &[Value], pods: &[Value], endpoints: &[Value], delegation: bool) -> Skipped {
    let mut skipped = Skipped::default();
    let custom: HashSet<String> = endpoints.iter().map(key).collect();
    let index = PodIndex::new(pods);
    let mut without_address = vec![false; pods.len()];
    for service in services {
        let labels = field(service, &["metadata", "labels"]);
        let selector = field(service, &["spec", "selector"]).and_then(Value::as_object);
        if delegation && labels.is_some_and(|labels| labels.get(ENDPOINT_CONTROLLER_NAME).is_some()) {
            skipped.add(
                "Services of other controllers (label service.kubernetes.io/endpoint-controller-name)",
                service,
            );
        } else if text(service, &["spec", "type"]) == "ExternalName" {
            skipped.add("Services of type ExternalName, which have no endpoints", service);
        } else if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
            let selected = index.selected(text(service, &["metadata", "namespace"]), selector);
            if selected.is_empty() {
                skipped.add("Services that select no pod", service);
            }
            for pod in selected {
                let lacks_address = pods.get(pod).is_some_and(lacks_address);
                without_address.get_mut(pod).into_iter().for_each(|marked| *marked |= lacks_address);
            }
        } else if !custom.contains(&key(service)) {
            skipped.add("Services without a selector and without Endpoints to mirror", service);
        }
    }
    for (pod, _) in pods.iter().zip(without_address).filter(|(_, lacks_address)| *lacks_address) {
        skipped.add("pods without an address", pod);
    }
    skipped
}

/// True if a pod that may still run has no address.
fn lacks_address(pod: &Value) -> bool {
    text(pod, &["status", "podIP"]).is_empty()
        && !["Succeeded", "Failed"].contains(&text(pod, &["status", "phase"]))
}

/// Pods by namespace and label.
struct PodIndex<'a> {
    by_label: HashMap<(&'a str, &'a str, &'a str), Vec<usize>>,
}

impl<'a> PodIndex<'a> {
    fn new(pods: &'a [Value]) -> Self {
        let mut by_label: HashMap<_, Vec<usize>> = HashMap::new();
        for (number, pod) in pods.iter().enumerate() {
            let namespace = text(pod, &["metadata", "namespace"]);
            let labels = field(pod, &["metadata", "labels"]).and_then(Value::as_object);
            for (label, value) in labels.into_iter().flatten() {
                let value = value.as_str().unwrap_or_default();
                by_label.entry((namespace, label.as_str(), value)).or_default().push(number);
            }
        }
        Self { by_label }
    }

    /// The pods of a namespace that have a label.
    fn with<'b>(&'b self, namespace: &'b str, label: &'b str, value: &'b str) -> &'b [usize] {
        self.by_label.get(&(namespace, label, value)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The pods of a namespace that have all labels of a selector.
    fn selected(&self, namespace: &str, selector: &Map<String, Value>) -> Vec<usize> {
        let mut lists = Vec::new();
        for (label, value) in selector {
            lists.push(self.with(namespace, label, value.as_str().unwrap_or_default()));
        }
        lists.sort_by_key(|list| list.len());
        let Some((shortest, others)) = lists.split_first() else { return Vec::new() };
        let in_all = |pod: &&usize| others.iter().all(|list| list.binary_search(pod).is_ok());
        shortest.iter().filter(in_all).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": "ns", "name": name}, "spec": spec})
    }

    fn pod(name: &str, labels: &Value, status: &Value) -> Value {
        json!({"metadata": {"namespace": "ns", "name": name, "labels": labels}, "status": status})
    }

    #[test]
    fn each_reason_has_a_line() {
        let mut delegated = service("delegated", &json!({"selector": {"a": "b"}}));
        delegated["metadata"]["labels"] = json!({ENDPOINT_CONTROLLER_NAME: "other"});
        let services = [
            service("external", &json!({"type": "ExternalName"})),
            service("custom", &json!({})),
            service("empty", &json!({})),
            service("web", &json!({"selector": {"app": "web", "tier": "front"}})),
            service("none", &json!({"selector": {"app": "web", "tier": "back"}})),
            delegated,
        ];
        let labels = json!({"app": "web", "tier": "front"});
        let pods = [
            pod("ready", &labels, &json!({"podIP": "10.0.0.1"})),
            pod("pending", &labels, &json!({})),
            pod("done", &labels, &json!({"phase": "Succeeded"})),
            pod("unselected", &json!({"app": "x"}), &json!({})),
        ];
        let endpoints = [service("custom", &json!({}))];
        let lines = |delegation| skipped(&services, &pods, &endpoints, delegation).lines();
        assert_eq!(
            lines(true),
            [
                "Services of other controllers (label service.kubernetes.io/endpoint-controller-name): ns/delegated",
                "Services of type ExternalName, which have no endpoints: ns/external",
                "Services that select no pod: ns/none",
                "Services without a selector and without Endpoints to mirror: ns/empty",
                "pods without an address: ns/pending",
            ]
        );
        assert!(lines(false).contains(&"Services that select no pod: ns/none, ns/delegated".to_owned()));
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(listed(&names[..2]), "0, 1");
    }
}
