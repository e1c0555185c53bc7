//! Endpoints, their slices, and the state after the writes of a reconcile.

use endpointslice::plan::AddressTypePlan;
use endpointslice_mirroring_controller::{Mirror, mirror};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

pub(crate) struct Cluster {
    pub(crate) endpoints: Value,
    pub(crate) slices: Vec<EndpointSlice>,
    pub(crate) max: usize,
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

    /// Reconciles, applies the writes, and asserts that a second reconcile writes nothing. Returns the numbers of creates, updates
    /// and deletes.
    pub(crate) fn sync(&mut self) -> [usize; 3] {
        let Mirror { plan, .. } = self.mirror();
        let mut writes = [0, 0, plan.delete_if_unchanged.len()];
        self.slices.retain(|slice| !plan.delete_if_unchanged.contains(slice));
        for AddressTypePlan { create, update, delete, creates_suppressed, .. } in plan.types {
            let create = if creates_suppressed { vec![] } else { create };
            for (sum, count) in writes.iter_mut().zip([create.len(), update.len(), delete.len()]) {
                *sum += count;
            }
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
        writes
    }
}
