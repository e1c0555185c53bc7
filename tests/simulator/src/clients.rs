//! Other clients that change our objects.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use random_operations::neighbour::{self, Interference};
use random_operations::requests::path;
use random_operations::{CONTROLLERS, MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::replica::Replica;
use crate::world::World;

/// Another client changes one of our objects, of this Service if one is named.
pub fn interfere(world: &World, what: Interference, pick: usize, of: Option<&str>) {
    let slices = world.objects("discovery.k8s.io/v1", "EndpointSlice").into_values();
    let endpoints = world.objects("v1", "Endpoints").into_values();
    let mut victims = neighbour::victims(what, slices, endpoints);
    victims.retain(|(_, object)| of.is_none_or(|service| neighbour::service(object) == service));
    if victims.is_empty() {
        return;
    }
    let index = pick % victims.len();
    let (resource, object) = victims.swap_remove(index);
    let name = neighbour::name(&object);
    world.log(|| format!("  {resource}/{name}"));
    world.with(|state| state.watcher.tampered.insert(name));
    neighbour::interfere(what, pick, resource, &object).iter().for_each(|request| world.apply(request));
}

/// Another client deletes all slices of a Service that are ours now, with a pause after each.
pub fn delete_slices(world: &Arc<World>, service: &'static str, pause: u64) {
    let mut slices = world.objects("discovery.k8s.io/v1", "EndpointSlice");
    slices.retain(|_, slice| {
        let labels = &slice["metadata"]["labels"];
        labels[SERVICE_NAME] == service && CONTROLLERS.iter().any(|name| labels[MANAGED_BY] == *name)
    });
    let pause = Duration::from_millis(pause);
    last(world, pause * u32::try_from(slices.len()).unwrap_or_default());
    let world = Arc::clone(world);
    tokio::spawn(async move {
        for name in slices.into_keys() {
            world.send(&Method::DELETE, &format!("{}/{name}", path("endpointslices")), &Value::Null);
            world.log(|| format!("  {name} is deleted"));
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    });
}

/// The time after which a new slice is taken.
const TAKEN_AFTER: Duration = Duration::from_millis(100);

/// Another client gives a slice that we created to itself, if it does so at present.
pub fn take(world: &Arc<World>, name: &str) {
    if world.with(|state| state.takes_slices <= Instant::now()) {
        return;
    }
    last(world, TAKEN_AFTER);
    let (world, name) = (Arc::clone(world), name.to_owned());
    tokio::spawn(async move {
        sleep(TAKEN_AFTER).await;
        let taken = json!({"metadata": {"labels": {MANAGED_BY: "someone"}}});
        world.merge(&format!("{}/{name}", path("endpointslices")), &taken);
        world.log(|| format!("  {name} is taken"));
        world.with(|state| state.watcher.tampered.insert(name));
    });
}

/// Another program mirrors Endpoints until the time has passed or faults end.
pub fn second_writer(world: &Arc<World>, milliseconds: u64) {
    let world = Arc::clone(world);
    let writer = Replica::start(&world, world.second_writer());
    tokio::spawn(async move {
        world.with(|state| state.on_their_way += 1);
        let mut healed = world.healed.subscribe();
        let _ = timeout(Duration::from_millis(milliseconds), healed.wait_for(|healed| *healed)).await;
        writer.stop().await;
        world.log(|| "the second writer has ended".to_owned());
        last(&world, Duration::ZERO);
        world.with(|state| state.on_their_way -= 1);
    });
}

/// Notes that another client goes on for this time, and that faults end no sooner.
fn last(world: &World, time: Duration) {
    world.with(|state| state.late_until = state.late_until.max(Instant::now() + time));
}
