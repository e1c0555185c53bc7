//! What must hold in the end beyond the model: the shape of slices.

use std::collections::BTreeMap;

use http::Method;
use random_operations::{MANAGED_BY, NAMESPACE, SERVICE_NAME};
use serde_json::{Value, json};

use super::CONTROLLERS;
use super::model::Objects;
use crate::world::World;

impl World {
    /// Deletes slices whose owner is gone, which the garbage collector does. The API server deletes at most those that exist
    /// when their owner is deleted; one that was under way comes later. Also deletes pods whose node is gone, as the
    /// collector of pods does: a controller need not look at a Service again because a node went.
    pub fn collect_garbage(&self, objects: Objects) -> Objects {
        let mut collected = self.collect_slices(&objects);
        for pod in objects.pods_of_lost_nodes() {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}");
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
            self.send(&Method::DELETE, &path, &options);
            self.merge(&path, &json!({"metadata": {"finalizers": null}}));
            self.log(|| format!("  garbage: {pod}"));
            collected = true;
        }
        if collected { Objects::read(self) } else { objects }
    }

    /// Deletes slices whose owner is gone. Returns true if there were some.
    pub fn collect_slices(&self, objects: &Objects) -> bool {
        let mut collected = false;
        for (name, slice) in &objects.slices {
            let owner = slice["metadata"]["ownerReferences"][0]["uid"].as_str();
            if owner.is_some_and(|owner| !objects.owners().any(|uid| uid == owner)) {
                let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{name}");
                self.send(&Method::DELETE, &path, &Value::Null);
                self.log(|| format!("  garbage: {name}"));
                collected = true;
            }
        }
        collected
    }
}

/// Rules that the slices break.
pub fn broken_rules(world: &World, objects: &Objects) -> Vec<String> {
    let tampered = world.with(|state| state.watcher.tampered.clone());
    let mut rules = Vec::new();
    let mut places: BTreeMap<String, &str> = BTreeMap::new();
    for (name, slice) in &objects.slices {
        let metadata = &slice["metadata"];
        let label = |key: &str| metadata["labels"].get(key).and_then(Value::as_str);
        let Some(controller) = label(MANAGED_BY).filter(|name| CONTROLLERS.contains(name)) else { continue };
        let service = label(SERVICE_NAME).unwrap_or_default();
        let endpoints = slice["endpoints"].as_array().cloned().unwrap_or_default();
        if controller == CONTROLLERS[0] && endpoints.len() > world.plan.setup.max {
            rules.push(format!("slice {name} has {} endpoints", endpoints.len()));
        }
        // The last plan for a Service that has become another controller's, or none's, may be unfinished for ever.
        let kept = controller == CONTROLLERS[1] || objects.is_kept(service);
        for endpoint in endpoints.iter().filter(|_| kept) {
            let key = format!(
                "{controller} {service} {} {} {} {}",
                slice["addressType"], slice["ports"], endpoint["addresses"], endpoint["targetRef"]["uid"]
            );
            if let Some(other) = places.insert(key.clone(), name) {
                rules.push(format!("an endpoint is twice in {other} and {name}: {key}"));
            }
        }
        let uid = match controller {
            // Owner references are not compared, except those to older owners, which only other clients leave.
            controller if controller != CONTROLLERS[0] && tampered.contains(name) => continue,
            // A lone slice without endpoints is kept whoever owns it, and so is all of a Service that is not looked at.
            _ if tampered.contains(name) && (endpoints.is_empty() || !kept) => continue,
            name if name == CONTROLLERS[0] => objects.service_uid(service),
            _ => objects.endpoints.get(service).and_then(|it| it["metadata"]["uid"].as_str()),
        };
        let owner = metadata["ownerReferences"][0]["uid"].as_str();
        if owner != uid || owner.is_none() {
            rules.push(format!("slice {name} of {service} has the owner {owner:?} instead of {uid:?}"));
        }
    }
    for name in ["foreign-slice"] {
        if !objects.slices.contains_key(name) {
            rules.push(format!("{name} is gone"));
        }
    }
    if !objects.endpoints.contains_key("foreign-endpoints") {
        rules.push("foreign-endpoints are gone".to_owned());
    }
    rules
}
