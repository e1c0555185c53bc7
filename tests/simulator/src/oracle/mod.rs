//! What must hold at each write ([`Watcher`]), and in the end ([`model`], [`end`]).

pub mod end;
pub mod model;
pub mod ports;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::apply::{BEDROCK, BEDROCK_PODS};
use crate::decode::decode;
use crate::plan::Plan;
use crate::replica::renew_deadline;
use crate::world::World;

/// The controllers of slices of this program, by the label on their slices.
pub const CONTROLLERS: [&str; 2] =
    ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// The time for which requests of a leader whose leadership has ended may still be on their way.
const ON_THE_WAY: u64 = 10;

/// A write under way.
#[derive(Debug, Clone)]
pub struct Write {
    pub replica: usize,
    method: Method,
    path: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Slice,
    Endpoints,
    Lease,
}

impl Write {
    /// The write that a request is, if it is one of objects that controllers keep.
    pub fn of(_: &World, replica: usize, head: &Parts) -> Option<Self> {
        let path = head.uri.path();
        let kind = if path.contains("/endpointslices") {
            Kind::Slice
        } else if path.contains("/leases") {
            Kind::Lease
        } else if path.contains("/endpoints") {
            Kind::Endpoints
        } else {
            return None;
        };
        let write = head.method != Method::GET;
        write.then(|| Self { replica, method: head.method.clone(), path: path.to_owned(), kind })
    }
}

/// Looks at each write when it is committed.
#[derive(Debug)]
pub struct Watcher {
    /// Rules that were broken.
    pub violations: Vec<String>,
    /// Writes of slices and Endpoints.
    pub writes: u64,
    /// Those of the fresh process that ends a history.
    pub last_replica_writes: u64,
    /// Deletions of Endpoints without a Service.
    pub leftovers: u64,
    pub last_write: Instant,
    /// Names of objects that other clients have changed.
    pub tampered: BTreeSet<String>,
    max: usize,
    /// The replica that holds the Lease, by the last write of it.
    holder: Option<usize>,
    released_by: Option<usize>,
    /// Until when the Lease says nothing about who may write.
    disturbed: Instant,
    /// The time for which a leader whose Lease another client changed may go on writing: until its renewals have failed.
    disturbance: Duration,
    /// Ready addresses of the Service that must stay reachable, by slice.
    bedrock: BTreeMap<String, BTreeSet<String>>,
    bedrock_slices: BTreeSet<String>,
    bedrock_endpoints: BTreeSet<String>,
}

impl Watcher {
    /// Before anything was written.
    pub fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        Self {
            violations: Vec::new(),
            writes: 0,
            last_replica_writes: 0,
            leftovers: 0,
            last_write: now,
            tampered: BTreeSet::new(),
            max: plan.setup.max,
            holder: None,
            released_by: None,
            disturbed: now,
            // The slowest clock shows four seconds of five.
            disturbance: Duration::from_secs(renew_deadline(&plan.setup) * 5 / 4 + ON_THE_WAY),
            bedrock: BTreeMap::new(),
            bedrock_slices: BTreeSet::new(),
            bedrock_endpoints: BTreeSet::new(),
        }
    }

    /// Another client has changed the holder of the Lease.
    pub fn lease_disturbed(&mut self) {
        self.holder = None;
        self.released_by = None;
        self.disturbed = Instant::now() + self.disturbance;
    }

    /// All objects are those of a backup.
    pub fn restored(&mut self) {
        self.lease_disturbed();
        self.bedrock.clear();
        self.bedrock_slices.clear();
        self.bedrock_endpoints.clear();
    }

    /// Checks that a replica may write.
    fn check_writer(&mut self, replica: usize) {
        if Instant::now() < self.disturbed {
            return;
        }
        if let Some(holder) = self.holder.filter(|holder| *holder != replica) {
            self.violations.push(format!("r{replica} writes while r{holder} holds the Lease"));
        }
        if self.holder.is_none() && self.released_by == Some(replica) {
            self.violations.push(format!("r{replica} writes after it released the Lease"));
        }
    }

    fn slice(&mut self, slice: &EndpointSlice) {
        let labels = slice.metadata.labels.clone().unwrap_or_default();
        let name = slice.metadata.name.clone().unwrap_or_default();
        let endpoints = slice.endpoints.as_deref().unwrap_or_default();
        let managed_by = labels.get(MANAGED_BY).map(String::as_str);
        if managed_by == Some(CONTROLLERS[0]) && endpoints.len() > self.max {
            self.violations.push(format!("slice {name} has {} endpoints", endpoints.len()));
        }
        if labels.get(SERVICE_NAME).map(String::as_str) != Some(BEDROCK) {
            return;
        }
        let ready = endpoints.iter().filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        });
        let addresses = ready.flat_map(|endpoint| endpoint.addresses.iter().cloned()).collect();
        self.bedrock.insert(name, addresses);
        self.check_reachable();
    }

    fn slice_deleted(&mut self, name: &str) {
        if self.bedrock.remove(name).is_some() {
            self.check_reachable();
        }
    }

    fn check_reachable(&mut self) {
        let now: BTreeSet<String> = self.bedrock.values().flatten().cloned().collect();
        reachable(&mut self.violations, &mut self.bedrock_slices, now, "its slices");
    }

    fn endpoints(&mut self, endpoints: &Endpoints) {
        if endpoints.metadata.name.as_deref() != Some(BEDROCK) {
            return;
        }
        let subsets = endpoints.subsets.iter().flatten();
        let addresses = subsets.flat_map(|subset| subset.addresses.iter().flatten());
        let now = addresses.map(|address| address.ip.clone()).collect();
        reachable(&mut self.violations, &mut self.bedrock_endpoints, now, "its Endpoints");
    }
}

/// Checks that no address of a pod that is always there goes.
fn reachable(violations: &mut Vec<String>, known: &mut BTreeSet<String>, now: BTreeSet<String>, of: &str) {
    for number in 0..BEDROCK_PODS {
        let address = format!("10.2.0.{}", number + 1);
        if known.contains(&address) && !now.contains(&address) {
            violations
                .push(format!("{address} of {BEDROCK} went from {of} though its pod is ready all along"));
        }
    }
    *known = now;
}

impl World {
    /// Looks at a write that was committed.
    pub fn committed(&self, write: &Write, headers: &HeaderMap, body: &Bytes) {
        self.digest(&[body]);
        if write.kind == Kind::Lease {
            let lease = self.server.objects("coordination.k8s.io/v1", "Lease").pop();
            let holder =
                lease.map(|lease| lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned());
            let held = holder.is_some_and(|holder| !holder.is_empty());
            self.with(|state| {
                state.watcher.holder = held.then_some(write.replica);
                state.watcher.released_by = (!held).then_some(write.replica);
            });
            return;
        }
        let name = write.path.rsplit('/').next().unwrap_or_default();
        // At a start, Endpoints without a Service are deleted, whoever made them.
        let leftover = write.kind == Kind::Endpoints
            && write.method == Method::DELETE
            && !self.objects("v1", "Service").contains_key(name);
        self.with(|state| {
            let watcher = &mut state.watcher;
            watcher.last_write = Instant::now();
            if leftover {
                watcher.leftovers += 1;
            } else {
                watcher.writes += 1;
                watcher.last_replica_writes += u64::from(write.replica == self.plan.setup.replicas);
            }
            if self.plan.setup.election {
                watcher.check_writer(write.replica);
            }
            if name.starts_with("foreign-") {
                watcher.violations.push(format!("{} {} is not ours", write.method, write.path));
            }
            match (write.kind, &write.method) {
                (Kind::Slice, &Method::DELETE) => watcher.slice_deleted(name),
                (Kind::Slice, _) => decode(headers, body).iter().for_each(|slice| watcher.slice(slice)),
                (Kind::Endpoints, &Method::DELETE) if name == BEDROCK => {
                    reachable(
                        &mut watcher.violations,
                        &mut watcher.bedrock_endpoints,
                        BTreeSet::new(),
                        "its Endpoints",
                    );
                }
                (Kind::Endpoints, &Method::DELETE) => {}
                (Kind::Endpoints, _) => {
                    decode(headers, body).iter().for_each(|endpoints| watcher.endpoints(endpoints));
                }
                (Kind::Lease, _) => {}
            }
        });
    }

    /// Reads what is reachable from the objects, after a restore.
    pub fn look_again(&self) {
        let slices: Vec<EndpointSlice> = self.typed("discovery.k8s.io/v1", "EndpointSlice");
        let endpoints: Vec<Endpoints> = self.typed("v1", "Endpoints");
        self.with(|state| {
            slices.iter().for_each(|slice| state.watcher.slice(slice));
            endpoints.iter().for_each(|endpoints| state.watcher.endpoints(endpoints));
        });
    }

    fn typed<T: DeserializeOwned>(&self, api_version: &str, kind: &str) -> Vec<T> {
        let objects = self.server.objects(api_version, kind).into_iter();
        objects.filter_map(|object| serde_json::from_value(object).ok()).collect()
    }
}
