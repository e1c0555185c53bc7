//! Services with pods that are ready all the time, and a watcher that must never miss one of them.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::canonical::SERVICE_NAME;
use crate::observe::{Observer, View};
use crate::scenario::{NAMESPACE, Pod, World};

/// The Services.
const SERVICES: u16 = 4;
/// The pods of each that never change.
const STEADY: u16 = 3;
/// The pods of each whose readiness changes.
const CHANGING: u16 = 3;
/// The node of all, which no operation names.
const NODE: &str = "steady";

fn service(number: u16) -> String {
    format!("steady-{number}")
}

fn address(service: u16, pod: u16) -> String {
    format!("10.9.{service}.{pod}")
}

fn pod(service_number: u16, number: u16) -> Pod {
    let service = service(service_number);
    let pod = Pod::new(&format!("{service}-{number}"), &service, 0).node(NODE);
    pod.ips(&[&address(service_number, number)])
}

/// Creates the Services and their pods.
pub(super) async fn prepare(world: &World) {
    world.node(NODE, None).await;
    for number in 0..SERVICES {
        let name = service(number);
        let spec = json!({"selector": {"app": name}, "ports": [{"name": "http", "port": 80}], "ipFamilies": ["IPv4"]});
        world.service(&name, json!({}), spec).await;
        world.pods((0..STEADY + CHANGING).map(|pod_number| pod(number, pod_number))).await;
    }
}

/// Changes one of the Services, or a pod that is not steady.
pub(super) async fn change(world: &World, rng: &mut Rng) {
    let name = service(rng.u16(..SERVICES));
    if rng.u8(..4) == 0 {
        world.change_service(&name, json!({"metadata": {"labels": {"turn": rng.u8(..).to_string()}}})).await;
    } else {
        let number = STEADY + rng.u16(..CHANGING);
        world.ready(&format!("{name}-{number}"), rng.bool()).await;
    }
}

/// The ready addresses of each Service, as a component sees them that watches slices.
#[derive(Debug, Default)]
pub(super) struct Published {
    slices: BTreeMap<String, (String, BTreeSet<String>)>,
    /// The steady addresses that were published.
    known: BTreeMap<String, BTreeSet<String>>,
    missing: Vec<String>,
    events: usize,
}

impl Published {
    /// Follows the Services from now on.
    pub(super) fn follow(world: &World) -> Observer<Self> {
        Observer::start(Api::namespaced(world.client().clone(), NAMESPACE), Self::default())
    }

    /// True if all steady pods were published.
    pub(super) fn is_complete(&self) -> bool {
        self.known.values().map(BTreeSet::len).sum::<usize>() == usize::from(SERVICES * STEADY)
    }

    /// The moments at which an address was missing.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The number of events.
    pub(super) fn events(&self) -> usize {
        self.events
    }

    fn check(&mut self, service: &str) {
        self.events += 1;
        let slices = self.slices.values().filter(|(of, _)| of == service);
        let union: BTreeSet<&String> = slices.flat_map(|(_, addresses)| addresses).collect();
        let Some(number) = service.strip_prefix("steady-").and_then(|number| number.parse().ok()) else {
            return;
        };
        let known = self.known.entry(service.to_owned()).or_default();
        for address in (0..STEADY).map(|pod| address(number, pod)) {
            if union.contains(&address) {
                known.insert(address);
            } else if known.contains(&address) {
                self.missing.push(format!("{address} of {service}"));
            }
        }
    }
}

impl View for Published {
    fn present(&mut self, slice: EndpointSlice) {
        let Some(service) = slice.labels().get(SERVICE_NAME).cloned() else { return };
        let is_ready = |endpoint: &&k8s_openapi::api::discovery::v1::Endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        };
        let ready = slice.endpoints.iter().flatten().filter(is_ready);
        let addresses = ready.flat_map(|endpoint| endpoint.addresses.iter().cloned()).collect();
        self.slices.insert(slice.name_any(), (service.clone(), addresses));
        self.check(&service);
    }

    fn absent(&mut self, slice: &EndpointSlice) {
        if let Some((service, _)) = self.slices.remove(&slice.name_any()) {
            self.check(&service);
        }
    }
}
