//! The objects at the end of a history: read, and rid of those that collectors delete.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use expected_objects::Objects;
use http::Method;
use random_operations::NAMESPACE;
use serde_json::{Value, json};

use crate::kubelets::keep_ready;
use crate::policy::MARK;
use crate::world::World;

/// Reads the objects of the workload's namespace, without the marks of policies.
pub fn read(world: &World) -> Objects {
    let mut objects = Objects {
        services: world.objects("v1", "Service"),
        pods: world.objects("v1", "Pod"),
        nodes: world.objects("v1", "Node"),
        endpoints: world.objects("v1", "Endpoints"),
        slices: world.objects("discovery.k8s.io/v1", "EndpointSlice"),
        gate: world.with(|state| state.gate),
    };
    if world.has_policies {
        for object in objects.slices.values_mut().chain(objects.endpoints.values_mut()) {
            if !object["metadata"]["labels"][MARK].is_null() {
                Arc::make_mut(object)["metadata"]["labels"].as_object_mut().map(|labels| labels.remove(MARK));
            }
        }
    }
    objects
}

/// The same objects with the pods ready that keep their readiness while kubelets are lost, and have for this long.
pub fn expected(world: &World, age: Duration) -> Objects {
    let mut objects = read(world);
    keep_ready(world, &mut objects.pods, age);
    objects
}

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
        if collected { read(self) } else { objects }
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

/// Lines that differ. Not those of Endpoints without a Service that a replica and another client wrote in one second, if answers to
/// writes get lost: a replica that does not know that its write was stored cannot tell that it was the last.
pub fn differences(world: &World, objects: &Objects) -> Vec<String> {
    let mut wrong = objects.wrong_objects();
    if world.with(|state| state.watcher.loses_answers()) {
        wrong.retain(|key, _| {
            let name = key.strip_prefix("Endpoints ").and_then(|key| key.strip_suffix(" without a Service"));
            !name
                .and_then(|name| objects.endpoints.get(name))
                .is_some_and(|object| has_two_last_managers(object))
        });
    }
    wrong.into_values().flatten().collect()
}

/// True if field managers tell no order of the last two writes of an object: their times are seconds.
fn has_two_last_managers(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = entries.iter().filter_map(|entry| entry["time"].as_str()).max();
    let managers: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry["time"].as_str() == last)
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    managers.len() > 1
}

/// Rules that the slices break, and objects of others that are gone.
pub fn broken_rules(world: &World, objects: &Objects) -> Vec<String> {
    let tampered = world.with(|state| state.watcher.tampered.clone());
    let mut rules = objects.broken_rules(world.plan.setup.max, &tampered);
    rules.extend(objects.evicted());
    rules.extend(world.left_endpoints(objects));
    rules
}
