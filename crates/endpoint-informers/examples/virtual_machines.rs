//! Publishes virtual machines that are outside the cluster, with their health and zone.
//!
//! The machines behind a Service come from an inventory, here a file that is read every two seconds, in practice the API of a
//! cloud. The Service has no selector, so that no other controller writes slices of it.
//!
//! ```sh
//! echo '{"default/db": [{"name": "vm-1", "address": "192.168.7.1", "zone": "a", "healthy": true}]}' > machines.json
//! cargo run -p endpoint-informers --example virtual_machines -- machines.json   # then, in another terminal:
//! echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"db"},"spec":{"ports":[{"port":5432}]}}' |
//!   kubectl create --filename=-
//! ```
//!
//! A Service that loses its selector keeps the slices that Kubernetes' controllers have made, as they are: create it without one.

mod shared;
#[cfg(test)]
#[path = "tests/virtual_machines.rs"]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::recorder::EventType;
use endpoint_informers::reconciler::{Context, ServiceQueue, SliceReconciler};
use endpoint_informers::resource::Resource as _;
use endpointslice::desired::{Skipped, SkippedReason, endpoint_ports};
use endpointslice::model::is_allowed_in_slices;
use endpointslice::{AddressType, DesiredEndpoints, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};
use serde::Deserialize;
use tokio::sync::watch;

/// The machines behind each Service, by namespace and name.
type Inventory = BTreeMap<String, Vec<Machine>>;

#[derive(Clone, PartialEq, Deserialize)]
struct Machine {
    name: String,
    address: IpAddr,
    zone: String,
    healthy: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: virtual_machines FILE")?;
    let (sender, inventory) = watch::channel(read(&file)?);
    tokio::select! {
        ended = shared::run_until_interrupted(VirtualMachines { inventory }) => ended,
        failed = follow(&file, sender) => failed,
    }
}

fn read(file: &str) -> Result<Inventory, Box<dyn Error>> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

async fn follow(file: &str, inventory: watch::Sender<Inventory>) -> Result<(), Box<dyn Error>> {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let new = read(file)?;
        inventory.send_if_modified(|old| {
            let is_changed = *old != new;
            *old = new;
            is_changed
        });
    }
}

struct VirtualMachines {
    inventory: watch::Receiver<Inventory>,
}

/// The endpoints of a Service: its machines, each with the ports of the Service.
fn desired(service: &Service, machines: &[Machine]) -> DesiredEndpoints {
    let types = service.address_types();
    let mut desired = DesiredEndpoints::new(types.clone());
    for machine in machines.iter().filter(|machine| types.contains(&AddressType::of(machine.address))) {
        // The API server would refuse the whole slice.
        if !is_allowed_in_slices(machine.address) {
            let reason = SkippedReason::AddressNotAllowed(machine.address);
            desired.skip(Skipped { name: machine.name.clone(), reason });
            continue;
        }
        let ready = Some(machine.healthy);
        let endpoint = Endpoint {
            addresses: vec![machine.address.to_string()],
            conditions: Some(EndpointConditions { ready, serving: ready, terminating: Some(false) }),
            hostname: Some(machine.name.clone()),
            zone: Some(machine.zone.clone()),
            ..Endpoint::default()
        };
        desired.insert(AddressType::of(machine.address), endpoint_ports(service, &[]), endpoint);
    }
    desired
}

impl SliceReconciler for VirtualMachines {
    const NAME: &'static str = "virtual-machines.example.com";

    fn publishes(&self, service: &Service) -> bool {
        service.selector.is_none() && self.inventory.borrow().contains_key(&service.key().to_string())
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        let service = context.service();
        let inventory = self.inventory.borrow();
        let machines = inventory.get(&service.key().to_string()).map_or(&[][..], Vec::as_slice);
        let desired = desired(service, machines);
        for Skipped { name, reason } in desired.skipped() {
            let message = format!("Machine {name} is not published: {reason:?}");
            context.event(EventType::Warning, "InvalidAddress", message);
        }
        desired
    }

    /// Queues every Service when the inventory changes. The sync of one whose machines did not change writes nothing.
    async fn follow(&self, services: &ServiceQueue) -> Infallible {
        let mut inventory = self.inventory.clone();
        while inventory.changed().await.is_ok() {
            services.add_where(|_| true);
        }
        pending().await
    }
}
