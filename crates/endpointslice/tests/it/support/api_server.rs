//! The effects of the API server that a plan can observe.

use endpointslice::SlicePlan;
use endpointslice::model::{is_allowed_in_slices, parse_ip};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::{Cluster, Writes, name_of};

impl Cluster {
    /// Makes the writes of a plan, in its order, and counts them. Panics where the API server would refuse a write.
    pub(crate) fn apply(&mut self, plan: &SlicePlan) -> Writes {
        let mut writes = Writes::default();
        for plan in &plan.types {
            for slice in plan.create.iter().filter(|_| !plan.creates_suppressed) {
                self.create(slice.clone());
                writes.create += 1;
            }
            for slice in &plan.update {
                self.update(slice.clone());
                writes.update += 1;
            }
            for slice in &plan.delete {
                self.delete(slice);
                writes.delete += 1;
            }
        }
        for slice in &plan.delete_if_unchanged {
            self.delete(slice);
            writes.delete += 1;
        }
        writes
    }

    fn create(&mut self, mut slice: EndpointSlice) {
        let metadata = &mut slice.metadata;
        assert!(metadata.resource_version.is_none() && metadata.uid.is_none() && metadata.name.is_none());
        let version = self.next_version();
        let prefix = metadata.generate_name.as_deref().expect("a new slice has a name or a prefix");
        // Scattered, because random names don't sort by age either.
        metadata.name = Some(format!("{prefix}{:05}", version * 7919 % 99_991));
        metadata.uid = Some(format!("slice-uid-{version}"));
        metadata.resource_version = Some(version.to_string());
        metadata.generation = Some(1);
        check_addresses(&slice);
        self.store(slice);
    }

    fn update(&mut self, mut slice: EndpointSlice) {
        let position = self.position(&slice);
        let old = self.slices.remove(position);
        assert_eq!(slice.address_type, old.address_type, "the address type is immutable");
        if slice.endpoints.as_deref().unwrap_or_default() != old.endpoints.as_deref().unwrap_or_default() {
            check_addresses(&slice);
        }
        let (new_metadata, old_metadata) = (&mut slice.metadata, &old.metadata);
        if new_metadata.resource_version.is_some() {
            assert_eq!(new_metadata.resource_version, old_metadata.resource_version, "409 Conflict");
        }
        if new_metadata.uid.is_some() {
            assert_eq!(new_metadata.uid, old_metadata.uid, "409 Conflict");
        }
        let same_spec = slice.endpoints == old.endpoints && slice.ports == old.ports;
        let same = same_spec && new_metadata.labels == old_metadata.labels;
        new_metadata.uid.clone_from(&old_metadata.uid);
        new_metadata.generation = old_metadata.generation.map(|generation| generation + i64::from(!same));
        new_metadata.resource_version = Some(self.next_version().to_string());
        self.store(slice);
    }

    fn delete(&mut self, slice: &EndpointSlice) {
        let position = self.position(slice);
        self.slices.remove(position);
    }

    fn position(&self, slice: &EndpointSlice) -> usize {
        let position = self.slices.iter().position(|candidate| name_of(candidate) == name_of(slice));
        position.expect("404 Not Found")
    }

    pub(crate) fn next_version(&mut self) -> usize {
        self.written += 1;
        self.written
    }

    /// Stores a slice as it is decoded from the wire.
    pub(crate) fn store(&mut self, mut slice: EndpointSlice) {
        if self.absent_if_empty {
            slice.ports = slice.ports.filter(|ports| !ports.is_empty());
            slice.endpoints = slice.endpoints.filter(|endpoints| !endpoints.is_empty());
            slice.metadata.labels = slice.metadata.labels.filter(|labels| !labels.is_empty());
        }
        for endpoint in slice.endpoints.iter_mut().flatten() {
            endpoint.deprecated_topology = None;
        }
        self.slices.push(slice);
    }
}

/// The API server validates addresses only where endpoints are new or change.
fn check_addresses(slice: &EndpointSlice) {
    for address in slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses) {
        let allowed = parse_ip(address).is_some_and(is_allowed_in_slices);
        assert!(allowed, "422 Unprocessable Entity: {address} in {}", name_of(slice));
    }
}
