//! The shape of slices: their owners and sizes, and each endpoint once.

use std::collections::{BTreeMap, BTreeSet};

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::Value;

use random_operations::neighbour::FOREIGN;

use crate::CONTROLLERS;
use crate::objects::Objects;

impl Objects {
    /// The objects of [`FOREIGN`] that are gone.
    pub fn evicted(&self) -> Vec<String> {
        let [slice, endpoints] = FOREIGN;
        let is_there =
            [(slice, self.slices.contains_key(slice)), (endpoints, self.endpoints.contains_key(endpoints))];
        is_there.iter().filter(|(_, there)| !there).map(|(name, _)| format!("{name} is gone")).collect()
    }

    /// Rules that the slices of the controllers break. `max` is `--max-endpoints-per-slice`; the owners of slices
    /// named in `tampered`, which other clients have changed, count only where a sync compares them.
    pub fn broken_rules(&self, max: usize, tampered: &BTreeSet<String>) -> Vec<String> {
        let mut rules = Vec::new();
        let mut places: BTreeMap<String, &str> = BTreeMap::new();
        for (name, slice) in &self.slices {
            let metadata = &slice["metadata"];
            let label = |key: &str| metadata["labels"].get(key).and_then(Value::as_str);
            let Some(controller) = label(MANAGED_BY).filter(|name| CONTROLLERS.contains(name)) else {
                continue;
            };
            let service = label(SERVICE_NAME).unwrap_or_default();
            let endpoints = slice["endpoints"].as_array().cloned().unwrap_or_default();
            if controller == CONTROLLERS[0] && endpoints.len() > max {
                rules.push(format!("slice {name} has {} endpoints", endpoints.len()));
            }
            // The last plan for a Service that has become another controller's, or none's, may be unfinished for ever; so may one for
            // Endpoints whose slices the API server refuses, because two subsets give one address two ports of one name.
            let kept =
                if controller == CONTROLLERS[1] { !self.is_unjudged(service) } else { self.is_kept(service) };
            for endpoint in endpoints.iter().filter(|_| kept) {
                let key = format!(
                    "{controller} {service} {} {} {} {}",
                    slice["addressType"], slice["ports"], endpoint["addresses"], endpoint["targetRef"]["uid"]
                );
                if let Some(other) = places.insert(key.clone(), name) {
                    rules.push(format!("an endpoint is twice in {other} and {name}: {key}"));
                }
            }
            // Owner references are not compared, except those to older owners, which only other clients leave. A lone slice
            // without endpoints is kept whoever owns it, and so is all of a Service that is not looked at.
            if tampered.contains(name) && (controller != CONTROLLERS[0] || endpoints.is_empty() || !kept) {
                continue;
            }
            let uid = if controller == CONTROLLERS[0] {
                self.service_uid(service)
            } else {
                self.endpoints.get(service).and_then(|it| it["metadata"]["uid"].as_str())
            };
            let owner = metadata["ownerReferences"][0]["uid"].as_str();
            if owner != uid || owner.is_none() {
                rules.push(format!("slice {name} of {service} has the owner {owner:?} instead of {uid:?}"));
            }
        }
        rules
    }
}
