//! Hints: the zones and nodes whose consumers an endpoint is meant for.

use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone};

use crate::desired::is_ready;
use crate::model::{Service, endpoints_of, endpoints_of_mut};
use crate::topology::{TopologyCache, ZoneShares, same_hints};

/// The rule by which the endpoints of an owner get hints.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Hints {
    /// No hints; present hints are removed.
    #[default]
    None,
    /// Hints by `trafficDistribution`.
    Traffic(TrafficDistribution),
    /// Hints for zones in proportion to their CPU, if the endpoints suffice for that, and none otherwise.
    Topology(Arc<ZoneShares>),
    /// Hints are not managed: they never cause a write. An endpoint that is written has the hints it has in
    /// [`DesiredEndpoints`](crate::DesiredEndpoints), and none of those that its slice had before
    /// (`endpointslicemirroring/reconciler.go` `reconcileByPortMapping`).
    Keep,
}

/// `spec.trafficDistribution` of a Service (KEP-4444, KEP-3015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficDistribution {
    /// `PreferClose` and `PreferSameZone`: a hint for the endpoint's zone.
    PreferSameZone,
    /// `PreferSameNode`: hints for the endpoint's zone and its node.
    PreferSameNode,
}

impl Hints {
    /// The hints that a Service requests, by its topology annotation or by `trafficDistribution`. `topology` has the
    /// shares of the zones.
    pub fn for_service(service: &Service, topology: &TopologyCache) -> Self {
        if service.wants_topology_hints() {
            return Self::Topology(Arc::clone(topology.shares()));
        }
        TrafficDistribution::of(service).map_or(Self::None, Self::Traffic)
    }

    /// The shares of the zones that topology hints are computed for.
    pub fn zone_shares(&self) -> Option<&ZoneShares> {
        match self {
            Self::Topology(shares) => Some(shares),
            Self::None | Self::Traffic(_) | Self::Keep => None,
        }
    }

    /// True if `slice`, otherwise unchanged, must be written for its hints.
    ///
    /// Only ready endpoints count for traffic distribution (`trafficdist/trafficdist.go`). Topology hints depend on all
    /// slices: `add_hints` compares them.
    pub(super) fn differ(&self, slice: &EndpointSlice) -> bool {
        let mut endpoints = endpoints_of(slice).iter();
        match self {
            Self::Keep | Self::Topology(_) => false,
            Self::None => endpoints.any(|endpoint| endpoint.hints.is_some()),
            Self::Traffic(distribution) => endpoints
                .filter(|endpoint| is_ready(endpoint))
                .any(|endpoint| !same_hints(endpoint.hints.as_ref(), distribution.hints(endpoint).as_ref())),
        }
    }

    /// Sets the hints of a slice that is about to be written.
    pub(super) fn set(&self, slice: &mut EndpointSlice) {
        for endpoint in endpoints_of_mut(slice) {
            match self {
                Self::None => endpoint.hints = None,
                Self::Traffic(distribution) if is_ready(endpoint) => {
                    endpoint.hints = distribution.hints(endpoint)
                }
                Self::Traffic(_) | Self::Topology(_) | Self::Keep => {}
            }
        }
    }
}

impl TrafficDistribution {
    /// The distribution that a Service requests, if it has an effect: the topology annotation hides it, and unknown
    /// values are ignored (`reconciler.go` `reconcileByAddressType`).
    pub fn of(service: &Service) -> Option<Self> {
        match service.traffic_distribution.as_deref()? {
            _ if service.wants_topology_hints() => None,
            "PreferClose" | "PreferSameZone" => Some(Self::PreferSameZone),
            "PreferSameNode" => Some(Self::PreferSameNode),
            _ => None,
        }
    }

    /// True if endpoints get a hint for their node as well.
    pub fn prefers_node(self) -> bool {
        self == Self::PreferSameNode
    }

    fn hints(self, endpoint: &Endpoint) -> Option<EndpointHints> {
        let zones = endpoint.zone.as_ref().map(|zone| vec![ForZone { name: zone.clone() }]);
        let node = endpoint.node_name.as_ref().filter(|_| self.prefers_node());
        let nodes = node.map(|node| vec![ForNode { name: node.clone() }]);
        (zones.is_some() || nodes.is_some()).then_some(EndpointHints { for_nodes: nodes, for_zones: zones })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::discovery::v1::EndpointConditions;

    use super::*;

    fn slice(ready: bool, zone: Option<&str>, hints: Option<EndpointHints>) -> EndpointSlice {
        let endpoint = Endpoint {
            conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
            zone: zone.map(Into::into),
            node_name: Some("node-1".into()),
            hints,
            ..Endpoint::default()
        };
        EndpointSlice { endpoints: Some(vec![endpoint]), ..EndpointSlice::default() }
    }

    #[allow(clippy::unnecessary_wraps, reason = "compared with optional hints throughout")]
    fn hints(zone: Option<&str>, node: Option<&str>) -> Option<EndpointHints> {
        Some(EndpointHints {
            for_zones: zone.map(|name| vec![ForZone { name: name.into() }]),
            for_nodes: node.map(|name| vec![ForNode { name: name.into() }]),
        })
    }

    const ZONE: Hints = Hints::Traffic(TrafficDistribution::PreferSameZone);
    const NODE: Hints = Hints::Traffic(TrafficDistribution::PreferSameNode);

    /// Counterpart of the cases of upstream's `trafficdist` `TestReconcileHints`: mode, ready, zone, hints found and
    /// hints expected; a write is needed exactly if the two differ.
    #[test]
    fn traffic_distribution_decides_about_hints_of_ready_endpoints() {
        let a = Some("a");
        for (mode, ready, zone, found, expected) in [
            (ZONE, true, a, None, hints(a, None)),
            (ZONE, true, a, hints(a, None), hints(a, None)),
            (ZONE, true, a, hints(Some("b"), None), hints(a, None)),
            (ZONE, true, a, hints(a, Some("node-1")), hints(a, None)),
            (ZONE, true, None, hints(a, None), None),
            (ZONE, true, None, None, None),
            (ZONE, false, a, hints(Some("b"), None), hints(Some("b"), None)),
            (NODE, true, a, hints(a, None), hints(a, Some("node-1"))),
            (NODE, true, None, None, hints(None, Some("node-1"))),
            (Hints::None, false, a, hints(a, None), None),
            (Hints::None, true, a, None, None),
            (Hints::Keep, true, a, hints(Some("b"), None), hints(Some("b"), None)),
        ] {
            let mut slice = slice(ready, zone, found.clone());
            assert_eq!(mode.differ(&slice), found != expected, "{mode:?} {ready} {zone:?} {found:?}");
            mode.set(&mut slice);
            assert_eq!(slice.endpoints.unwrap()[0].hints, expected, "{mode:?} {ready} {zone:?} {found:?}");
        }
    }
}
