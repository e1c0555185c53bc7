//! The endpoints that should exist, before anyone asks which slices carry them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::discovery::v1::Endpoint;

use super::conditions::{Conditions, ready_only};
use super::endpoint_set::EndpointSet;
use super::port_set::PortSet;
use super::tolerated::Tolerated;
use crate::model::AddressType;

/// Desired endpoints, grouped as slices are: by address type and port set.
///
/// This is the seam for other controllers: whoever can fill it gets packing, labels, ownership and tracking from
/// [`plan`](crate::plan()).
///
/// An address type that is absent is not supported by the owner: its slices are deleted. A type that is present
/// without endpoints gets a placeholder, if the [`PlanOptions`](crate::PlanOptions) ask for one.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    pub(crate) types: BTreeMap<AddressType, BTreeMap<PortSet, EndpointSet>>,
    pub(crate) tolerated: BTreeMap<AddressType, Vec<Tolerated>>,
    skipped: Vec<Skipped>,
    pub(crate) conditions: Conditions,
}

/// Something wanted that could not become an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The name of the object that was left out, usually a Pod.
    pub name: String,
    /// Why.
    pub reason: SkippedReason,
}

/// Why something could not become an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedReason {
    /// The pod's Node is not known (yet), so its zone isn't either.
    NodeNotFound(String),
    /// The API server refuses this address in a slice that is written. One that has it already may
    /// [keep](crate::SlicePlan::keeps) it.
    AddressNotAllowed(IpAddr),
}

impl Desired {
    /// No endpoints yet, for an owner that supports `types`.
    pub fn new(types: impl IntoIterator<Item = AddressType>) -> Self {
        Self {
            types: types.into_iter().map(|address_type| (address_type, BTreeMap::new())).collect(),
            ..Self::default()
        }
    }

    /// The endpoints of one group, which exists from now on. Adds the address type if it isn't there.
    pub fn group(&mut self, address_type: AddressType, ports: PortSet) -> &mut EndpointSet {
        self.types.entry(address_type).or_default().entry(ports).or_default()
    }

    /// Adds an endpoint to a group; one with the same identity is replaced.
    pub fn insert(&mut self, address_type: AddressType, ports: PortSet, endpoint: Endpoint) {
        self.group(address_type, ports).insert(endpoint);
    }

    /// Adds an endpoint that the API server refuses, for an address of it, but leaves in a slice that carries it already.
    ///
    /// It stays there until the endpoints of that slice change for another reason. Everywhere else `allowed`, the endpoint
    /// without the addresses that are refused, takes its place.
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

    /// Notes that something could not become an endpoint. Whoever applies the plan reports it and tries again later.
    pub fn skip(&mut self, skipped: Skipped) {
        self.skipped.push(skipped);
    }

    /// The same as it was before the conditions `serving` and `terminating` existed ([`Conditions::ReadyOnly`]).
    ///
    /// Terminating endpoints are left out, unless they are ready: then their Service publishes addresses whatever their
    /// state. What the others say beside `ready` is dropped, and does not count when they are compared with slices.
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

    /// What could not become an endpoint.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Every group with its endpoints, in the order of address types and ports.
    pub fn groups(&self) -> impl Iterator<Item = (AddressType, &PortSet, &EndpointSet)> {
        let types = self.types.iter();
        types.flat_map(|(address_type, groups)| groups.iter().map(|(ports, set)| (*address_type, ports, set)))
    }
}
