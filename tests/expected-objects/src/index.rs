//! Slices by Service and pods by label, so that a look at all Services costs no product of their numbers.

use std::collections::HashMap;
use std::sync::Arc;

use random_operations::SERVICE_NAME;
use serde_json::Value;

use crate::objects::{Objects, label};
use crate::ports::{list, text};

type Pod<'a> = (&'a String, &'a Arc<Value>);

/// Lookups in the objects.
pub(crate) struct Index<'a> {
    slices: HashMap<&'a str, Vec<&'a Value>>,
    pods: HashMap<(&'a str, &'a str), Vec<Pod<'a>>>,
}

impl<'a> Index<'a> {
    /// The slices and pods of these objects.
    pub(crate) fn of(objects: &'a Objects) -> Self {
        let mut slices: HashMap<&str, Vec<&Value>> = HashMap::new();
        for slice in objects.slices.values() {
            if let Some(service) = label(slice, SERVICE_NAME) {
                slices.entry(service).or_default().push(slice);
            }
        }
        let mut pods: HashMap<(&str, &str), Vec<Pod<'_>>> = HashMap::new();
        for pod in &objects.pods {
            for (key, value) in pod.1["metadata"]["labels"].as_object().into_iter().flatten() {
                pods.entry((key, value.as_str().unwrap_or_default())).or_default().push(pod);
            }
        }
        Self { slices, pods }
    }

    /// The slices of a Service, of every manager.
    pub(crate) fn slices(&self, service: &str) -> impl Iterator<Item = &'a Value> {
        self.slices.get(service).into_iter().flatten().copied()
    }

    /// The pods that a Service with a selector selects, and that have an address.
    pub(crate) fn selected(&self, service: &'a Value) -> impl Iterator<Item = Pod<'a>> {
        let selector = || service["spec"]["selector"].as_object().into_iter().flatten();
        let first = selector().next().and_then(|(key, value)| Some((key.as_str(), value.as_str()?)));
        let pods = first.and_then(|first| self.pods.get(&first)).into_iter().flatten().copied();
        pods.filter(move |(_, pod)| {
            selector().all(|(key, value)| label(pod, key) == value.as_str())
                && !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
                && !list(pod, "/status/podIPs").is_empty()
        })
    }
}
