//! Looks at each write when it is committed.

use std::time::Duration;

use bytes::Bytes;
use expected_objects::DELEGATED;
use http::{HeaderMap, Method};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use random_operations::{NAMESPACE, SERVICE_NAME};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::end::expected;
use super::lasting::{is_ready_since, version};
use super::published::{Effect, Lost, has_place};
use super::{Kind, Write, Written};
use crate::decode::decode;
use crate::world::World;

/// The time after which every process knows that nearly all kubelets are lost.
const KEPT: Duration = Duration::from_secs(5);

impl World {
    /// Looks at a write that was committed. Returns the name of the slice that it wrote.
    pub fn committed(&self, write: &Write, headers: &HeaderMap, body: &Bytes) -> Option<Written> {
        self.digest(&[body]);
        if write.kind == Kind::Lease {
            self.lease_written(write);
            return None;
        }
        let name = write.path.rsplit('/').next().unwrap_or_default();
        // At a start, Endpoints without a Service, or with our label and a delegated one, are deleted, whoever made them.
        let leftover = write.kind == Kind::Endpoints
            && write.method == Method::DELETE
            && self.objects("v1", "Service").get(name).is_none_or(|service| {
                write.started.gate && !service["metadata"]["labels"][DELEGATED].is_null()
            });
        let is_of = |kind| write.kind == kind && write.method != Method::DELETE;
        let slice: Option<EndpointSlice> = is_of(Kind::Slice).then(|| decode(headers, body)).flatten();
        let endpoints: Option<Endpoints> = is_of(Kind::Endpoints).then(|| decode(headers, body)).flatten();
        let service =
            slice.as_ref().and_then(|slice| slice.metadata.labels.as_ref()?.get(SERVICE_NAME).cloned());
        let service = service.or_else(|| endpoints.as_ref()?.metadata.name.clone());
        self.log(|| {
            let metadata =
                slice.as_ref().map(|it| &it.metadata).or(endpoints.as_ref().map(|it| &it.metadata));
            let (name, version) = metadata.map_or((name, ""), |metadata| {
                (
                    metadata.name.as_deref().unwrap_or_default(),
                    metadata.resource_version.as_deref().unwrap_or_default(),
                )
            });
            let content = slice.as_ref().map(content).unwrap_or_default();
            format!("r{} stored {} {name} {version}{content}", write.replica, write.method)
        });
        if write.method == Method::POST {
            slice.iter().for_each(|slice| self.note_create(write, slice));
        }
        let written = slice.as_ref().and_then(|slice| slice.metadata.name.clone()).map(Written);
        let effect = self.with(|state| {
            let watcher = &mut state.watcher;
            watcher.last_write = Instant::now();
            watcher.changed.notify_one();
            if leftover {
                watcher.leftovers += 1;
            } else {
                watcher.writes += 1;
                let is_fresh = write.replica == self.plan.setup.replicas;
                // What a policy adds, a sync removes, as one of upstream does.
                watcher.last_replica_writes += u64::from(is_fresh && !write.is_admitted);
            }
            if self.plan.setup.election {
                watcher.check_writer(write);
            }
            if name.starts_with("foreign-") {
                watcher.violations.push(format!("{} {} is not ours", write.method, write.path));
            }
            watcher.written(write, name, slice, endpoints)
        });
        self.check_later(write, name);
        self.check_kept(write, service.as_deref().unwrap_or(name));
        let Effect { violations, doubled, lost } = effect;
        violations.into_iter().for_each(|rule| self.violation(rule));
        for (name, endpoint) in doubled.into_iter().filter(|_| !write.is_admitted) {
            let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{name}");
            if self.send(&Method::GET, &path, &Value::Null).0.is_success() {
                self.violation(format!("a new slice has an endpoint that {name} has: {endpoint}"));
            }
        }
        self.check_lost(write, &lost);
        service.iter().for_each(|service| self.check_delegated(write, service));
        written
    }

    fn lease_written(&self, write: &Write) {
        let lease = self.server.objects("coordination.k8s.io/v1", "Lease").pop();
        let holder =
            lease.map(|lease| lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned());
        let held = holder.is_some_and(|holder| !holder.is_empty());
        self.with(|state| {
            let holder = held.then_some(write.replica);
            if held {
                state.watcher.led.insert(write.started.number);
            }
            let last = std::mem::replace(&mut state.watcher.holder, holder);
            if last != holder {
                state.watcher.taken_from = last.filter(|_| held);
            }
            state.watcher.released_by = (!held).then_some(write.replica);
        });
    }

    /// True if versions still mean what they did when the process of this write started.
    fn is_comparable(&self, write: &Write) -> bool {
        self.with(|state| state.watcher.restores) == write.started.restores
    }

    /// Checks that no ready address went whose Service, pod and node have been as they are since before the process
    /// started: its cache has shown them from the beginning.
    fn check_lost(&self, write: &Write, lost: &[Lost]) {
        if lost.is_empty() || !self.is_comparable(write) {
            return;
        }
        let objects = expected(self, KEPT);
        // Another client may have created the slice that has it again, with the same endpoints.
        let slices: Vec<EndpointSlice> = self.typed("discovery.k8s.io/v1", "EndpointSlice");
        for lost in lost {
            let Lost { service, place, in_slices } = lost;
            let is_lost = !in_slices || !has_place(&slices, lost);
            if is_lost && is_ready_since(write.started.version, &objects, service, place, *in_slices) {
                let of = if *in_slices { "slices" } else { "Endpoints" };
                self.violation(format!(
                    "{} went from the {of} of {service} though it is ready all along",
                    place.address
                ));
            }
        }
    }

    /// Checks that nothing but a deletion is written for a Service that was delegated before the process started.
    fn check_delegated(&self, write: &Write, service: &str) {
        if !write.started.gate || !self.is_comparable(write) {
            return;
        }
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{service}");
        let (_, object) = self.send(&Method::GET, &path, &Value::Null);
        let is_delegated = !object["metadata"]["labels"][DELEGATED].is_null();
        if is_delegated && version(&object).is_some_and(|version| version <= write.started.version) {
            self.violation(format!("{} {} for {service}, which is delegated", write.method, write.path));
        }
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

/// The Service and the endpoints of a slice, for the log.
fn content(slice: &EndpointSlice) -> String {
    let service = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    let ports =
        slice.ports.iter().flatten().map(|port| port.port.map_or("any".to_owned(), |port| port.to_string()));
    let endpoints = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
    format!(
        " of {} with ports {} and endpoints {}",
        service.map_or("nothing", String::as_str),
        ports.collect::<Vec<_>>().join(","),
        endpoints.map(String::as_str).collect::<Vec<_>>().join(",")
    )
}
