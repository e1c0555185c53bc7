//! Publishes virtual machines that are outside the cluster, with their health and zone.
//!
//! The machines behind a Service come from an inventory, here a file that is read every two seconds, in practice the API of a
//! cloud. The Service has no selector, so that no other controller writes slices of it.
//!
//! ```sh
//! echo '{"default/db": [{"name": "vm-1", "address": "192.168.7.1", "zone": "a", "healthy": true}]}' > machines.json
//! cargo run --example virtual_machines -- machines.json
//! kubectl create service clusterip db --tcp=5432
//! kubectl patch service db --type=merge --patch='{"spec":{"selector":null}}'
//! ```

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

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::worker::SyncContext;
use endpoint_informers::cache::{Cache, Change, Handler, ListPhase, State};
use endpoint_informers::controller::Controller;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, Snapshot, SyncError};
use endpointslice::desired::endpoint_ports;
use endpointslice::{AddressType, Desired, PlanOptions, Service, SliceTemplate};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};
use serde::Deserialize;
use tokio::sync::watch;

/// The controller's name, and the value of the label `managed-by` of its slices.
const NAME: &str = "virtual-machines.example.com";

/// The machines behind each Service, by namespace and name.
type Inventory = BTreeMap<String, Vec<Machine>>;

#[derive(Clone, Deserialize)]
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
    let controller = |slices| VirtualMachines { slices, inventory };
    tokio::select! {
        ended = shared::run_until_interrupted(&[], controller) => ended,
        failed = follow(&file, sender) => failed,
    }
}

fn read(file: &str) -> Result<Inventory, Box<dyn Error>> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

async fn follow(file: &str, inventory: watch::Sender<Inventory>) -> Result<(), Box<dyn Error>> {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        inventory.send_replace(read(file)?);
    }
}

struct VirtualMachines {
    slices: SliceController,
    inventory: watch::Receiver<Inventory>,
}

/// The endpoints of a Service: its machines, each with the ports of the Service.
fn desired(service: &Service, machines: &[Machine]) -> Desired {
    let types = service.address_types();
    let mut desired = Desired::new(types.clone());
    for machine in machines.iter().filter(|machine| types.contains(&AddressType::of(machine.address))) {
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

impl Controller for VirtualMachines {
    const NAME: &'static str = NAME;
    type Error = SyncError;

    fn cache(&self) -> &Cache {
        &self.slices.cache
    }

    fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.slices.queue
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let machines = self.inventory.borrow().get(&key.to_string()).cloned();
        let wanted = |snapshot: &Snapshot| {
            let service = &snapshot.service;
            let desired = desired(service, &machines.filter(|_| service.selector.is_none())?);
            Some((desired, SliceTemplate::for_service(service, NAME), PlanOptions::default()))
        };
        self.slices.sync(sync, key, wanted).await
    }

    /// Queues every Service when the inventory changes. The sync of one whose machines did not change writes nothing.
    async fn background(&self) -> Infallible {
        let mut inventory = self.inventory.clone();
        while inventory.changed().await.is_ok() {
            for key in self.slices.cache.read(|state| self.initial_keys(state)) {
                self.slices.queue.add(key);
            }
        }
        pending().await
    }
}

/// Handlers only queue keys; a sync reads the cache again.
impl Handler for VirtualMachines {
    fn service(&self, change: &Change<Service>, _state: &State, _is_initial_list: bool) {
        self.slices.queue.add(change.latest().key());
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.expectations.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.expectations.observe_list(phase, state);
    }
}
