//! Endpoints, their slices, and the state after the writes of a reconcile.

use endpoint_controllers_common::OwnerTotals;
use endpointslice::plan::AddressTypePlan;
use endpointslice_mirroring_controller::{Mirror, mirror};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

/// The ports of the first subset, as in upstream's cases.
pub(crate) fn ports(http: i32, https: i32) -> Value {
    json!([{"name": "http", "port": http, "protocol": "TCP"}, {"name": "https", "port": https, "protocol": "UDP"}])
}

/// `pod-N` on `node-N`.
pub(crate) fn address(ip: &str, number: usize) -> Value {
    json!({"ip": ip, "hostname": format!("pod-{number}"), "nodeName": format!("node-{number}")})
}

pub(crate) struct Cluster {
    pub(crate) endpoints: Value,
    pub(crate) slices: Vec<EndpointSlice>,
    pub(crate) max: usize,
}

/// The result of a reconcile.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) created: usize,
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
    /// Endpoints added, updated and removed, and addresses skipped.
    pub(crate) figures: [usize; 4],
    /// Endpoints desired, slices, and slices desired.
    pub(crate) gauges: [i64; 3],
}

impl Cluster {
    pub(crate) fn new(subsets: Value) -> Self {
        let metadata = json!({"name": "test-ep", "namespace": "test", "uid": "endpoints-uid"});
        let endpoints = json!({"metadata": metadata, "subsets": subsets});
        Self { endpoints, slices: vec![], max: 1000 }
    }

    pub(crate) fn mirror(&self) -> Mirror {
        let endpoints = serde_json::from_value(self.endpoints.clone()).unwrap();
        mirror(&endpoints, &self.slices, self.max)
    }

    /// Reconciles, applies the writes, and asserts that a second reconcile writes nothing.
    pub(crate) fn sync(&mut self) -> Outcome {
        let Mirror { plan, skipped, .. } = self.mirror();
        let OwnerTotals { endpoints, slices, desired_slices } = OwnerTotals::of(&plan, self.max);
        let mut outcome = Outcome { gauges: [endpoints, slices, desired_slices], ..Outcome::default() };
        outcome.figures[3] = skipped;
        outcome.deleted += plan.delete_if_unchanged.len();
        self.slices.retain(|slice| !plan.delete_if_unchanged.contains(slice));
        for AddressTypePlan { create, update, delete, statistics, creates_suppressed, .. } in plan.types {
            let create = if creates_suppressed { vec![] } else { create };
            for (sum, count) in outcome.figures.iter_mut().zip([
                statistics.endpoints_added,
                statistics.endpoints_updated,
                statistics.endpoints_removed,
            ]) {
                *sum += count;
            }
            outcome.created += create.len();
            outcome.updated += update.len();
            outcome.deleted += delete.len();
            for updated in update {
                let present =
                    self.slices.iter_mut().find(|slice| slice.metadata.name == updated.metadata.name);
                *present.unwrap() = updated;
            }
            self.slices.retain(|slice| !delete.contains(slice));
            for mut created in create {
                created.metadata.name = Some(format!("test-ep-{}", self.slices.len() + 100));
                self.slices.push(created);
            }
        }
        let again = self.mirror().plan;
        let held_back = again.types.iter().all(|plan| plan.creates_suppressed);
        assert!(again.is_empty() || held_back, "a second reconcile writes: {again:#?}");
        outcome
    }

    /// The addresses of each slice with their readiness, sorted.
    pub(crate) fn addresses(&self) -> Vec<Vec<(String, bool)>> {
        let mut all: Vec<Vec<(String, bool)>> = self.slices.iter().map(addresses).collect();
        all.sort();
        all
    }
}

fn addresses(slice: &EndpointSlice) -> Vec<(String, bool)> {
    let endpoints = slice.endpoints.iter().flatten();
    let mut addresses: Vec<(String, bool)> = endpoints
        .map(|endpoint| {
            let [address] = &endpoint.addresses[..] else { panic!("one address each: {endpoint:?}") };
            (address.clone(), endpoint.conditions.as_ref().unwrap().ready.unwrap())
        })
        .collect();
    addresses.sort();
    let count = addresses.len();
    addresses.dedup();
    assert_eq!(addresses.len(), count, "no address twice in a slice");
    addresses
}
