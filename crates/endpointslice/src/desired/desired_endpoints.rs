//! The endpoints that should exist, in the groups that slices are planned for.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::Endpoint;

use super::conditions::{Conditions, ready_only};
use super::endpoint_set::EndpointSet;
use super::port_set::PortSet;
use super::skipped::Skipped;
use super::tolerated::Tolerated;
use crate::model::AddressType;

/// Desired endpoints, grouped as slices are: by address type and port set.
///
/// This is the extension point for other controllers: a controller that fills it gets packing, labels and ownership from
/// [`plan`](crate::plan()).
///
/// An address type that is absent is not supported by the owner: its slices are deleted. A type that is present
/// without endpoints gets a placeholder, if the [`PlanOptions`](crate::PlanOptions) request one.
#[derive(Clone, Debug, Default)]
pub struct DesiredEndpoints {
    pub(crate) types: BTreeMap<AddressType, BTreeMap<PortSet, EndpointSet>>,
    pub(crate) tolerated: BTreeMap<AddressType, Vec<Tolerated>>,
    skipped: Vec<Skipped>,
    pub(crate) conditions: Conditions,
}

impl DesiredEndpoints {
    /// Creates groups without endpoints for an owner that supports `types`.
    pub fn new(types: impl IntoIterator<Item = AddressType>) -> Self {
        Self {
            types: types.into_iter().map(|address_type| (address_type, BTreeMap::new())).collect(),
            ..Self::default()
        }
    }

    /// The endpoints of one group. Adds the group and its address type if they are missing.
    pub fn group(&mut self, address_type: AddressType, ports: PortSet) -> &mut EndpointSet {
        self.types.entry(address_type).or_default().entry(ports).or_default()
    }

    /// Adds an endpoint to a group; one with the same identity is replaced.
    ///
    /// It is not validated: the API server refuses each slice with an endpoint that it does not accept, such as one with an address
    /// that is [not allowed](crate::model::is_allowed_in_slices), and so the other endpoints of the slice.
    pub fn insert(&mut self, address_type: AddressType, ports: PortSet, endpoint: Endpoint) {
        self.group(address_type, ports).insert(endpoint);
    }

    /// Adds an endpoint with an address that the API server refuses in a write, but accepts in a slice that carries it
    /// already.
    ///
    /// It stays there until the endpoints of that slice change for another reason. Everywhere else `allowed`, the endpoint
    /// without the refused addresses, takes its place.
    pub fn tolerate(
        &mut self,
        address_type: AddressType,
        ports: PortSet,
        endpoint: Endpoint,
        allowed: Option<Endpoint>,
    ) {
        let group = self.group(address_type, ports.clone());
        if let Some(allowed) = allowed.clone() {
            group.insert(allowed);
        }
        self.tolerated.entry(address_type).or_default().push(Tolerated { ports, endpoint, allowed });
    }

    /// Notes that an endpoint was left out, so that the caller can report it and retry.
    pub fn skip(&mut self, skipped: Skipped) {
        self.skipped.push(skipped);
    }

    /// Publishes endpoints as before the conditions `serving` and `terminating` existed ([`Conditions::ReadyOnly`]).
    ///
    /// Terminating endpoints are left out, unless they are ready because their Service publishes not-ready addresses.
    /// Conditions other than `ready` are dropped, and ignored in the comparison with slices.
    #[must_use]
    pub fn ready_only(mut self) -> Self {
        self.conditions = Conditions::ReadyOnly;
        for groups in self.types.values_mut() {
            groups.retain(|_, endpoints| {
                let all = std::mem::take(endpoints);
                let was_empty = all.is_empty();
                *endpoints = all.into_sorted().into_iter().filter_map(ready_only).collect();
                was_empty || !endpoints.is_empty()
            });
        }
        for tolerated in self.tolerated.values_mut() {
            let all = std::mem::take(tolerated).into_iter();
            *tolerated = all.filter_map(Tolerated::ready_only).collect();
        }
        self
    }

    /// The endpoints that were left out.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Every group with its endpoints, in the order of address types and ports.
    pub fn groups(&self) -> impl Iterator<Item = (AddressType, &PortSet, &EndpointSet)> {
        let types = self.types.iter();
        types.flat_map(|(address_type, groups)| groups.iter().map(|(ports, set)| (*address_type, ports, set)))
    }
}
