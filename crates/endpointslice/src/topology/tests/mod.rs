//! Tests of topology-aware hints.
//!
//! Every case of upstream's tests has a counterpart, with its own data:
//!
//! | upstream | here |
//! |---|---|
//! | `topologycache` `TestAddHints` (6) | `golden`, [`properties`] `hints_are_complete_and_converge` |
//! | `topologycache` `TestSetNodes` (9) | `golden`, [`properties`] `changing_nodes_one_by_one_equals_replacing_all` |
//! | `topologycache` `TestTopologyCacheRace` | none: [`TopologyCache`] is a value, and the compiler rules the race out |
//! | `topologycache` `Test_redistributeHints` (3) | [`transferring`] `endpoints_are_lent_in_order` |
//! | `topologycache` `Test_getGivingAndReceivingZones` (9) | [`transferring`] `zones_with_most_to_spare_give_to_those_that_lack_most`; the two cases with negative counts can't be written down |
//! | `topologycache` `Test_getHintsByZone` (8) | [`assigning`] `hints_are_valid_for_zones_with_capacity_up_to_the_maximum` |
//! | `topologycache` `Test_getTotalReadyEndpoints` (5) | `golden` (the number in messages) |
//! | `endpointslice` `TestReconcileTopology` (5) | `golden`, [`properties`] `hints_are_complete_and_converge` |
//! | controller `Test_checkNodeTopologyDistribution` (9) | [`remembering`] `services_are_due_when_a_zone_is_overloaded` |
//! | controller `TestUpdateNode` | [`remembering`] `nodes_that_get_a_zone_make_hints_possible` |
//!
//! Deliberate differences from upstream are in [`planning`], [`remembering`] and [`properties`].

use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointSlice, ForNode, ForZone,
};

use super::shares::NodeTotals;
use super::*;
use crate::model::{Kubelet, Node};

mod allocating;
mod assigning;
mod planning;
mod properties;
mod remembering;
mod transferring;

/// A node that counts, unless changed.
fn node(zone: &str, milli_cpu: u64) -> Node {
    Node {
        name: "node".into(),
        zone: Some(zone.into()).filter(|zone: &Arc<str>| !zone.is_empty()),
        ready: true,
        kubelet: Kubelet::Unread,
        control_plane: false,
        excluded_from_disruption: false,
        allocatable_milli_cpu: milli_cpu,
    }
}

/// The shares of zones with this CPU each.
fn shares(cpu: &[(&str, u64)]) -> ZoneShares {
    let nodes: Vec<Node> = cpu.iter().map(|(zone, cpu)| node(zone, *cpu)).collect();
    NodeTotals::of(&nodes).shares()
}

fn counts(counts: &[(&str, usize)]) -> ZoneCounts {
    counts.iter().map(|(zone, count)| ((*zone).into(), *count)).collect()
}

/// A ready endpoint in a zone.
fn ready(zone: &str) -> Endpoint {
    Endpoint {
        zone: Some(zone.to_owned()),
        conditions: Some(EndpointConditions { ready: Some(true), ..EndpointConditions::default() }),
        ..Endpoint::default()
    }
}

fn not_ready(zone: &str) -> Endpoint {
    let conditions = EndpointConditions { ready: Some(false), ..EndpointConditions::default() };
    Endpoint { conditions: Some(conditions), ..ready(zone) }
}

/// An endpoint without the condition `ready`.
fn unknown(zone: &str) -> Endpoint {
    Endpoint { conditions: None, ..ready(zone) }
}

fn hinted(endpoint: Endpoint, zones: &[&str]) -> Endpoint {
    let zones = zones.iter().map(|zone| ForZone { name: (*zone).to_owned() }).collect();
    Endpoint { hints: Some(EndpointHints { for_zones: Some(zones), for_nodes: None }), ..endpoint }
}

fn slice(endpoints: Vec<Endpoint>) -> EndpointSlice {
    EndpointSlice { endpoints: Some(endpoints), ..EndpointSlice::default() }
}

/// The zones that each endpoint is hinted for, joined; `-` for none.
fn zones(slice: &EndpointSlice) -> Vec<String> {
    let names = |endpoint: &Endpoint| {
        let hints = endpoint.hints.as_ref()?.for_zones.as_ref()?;
        Some(hints.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>().join("+"))
    };
    let endpoints = slice.endpoints.iter().flatten();
    endpoints.map(|endpoint| names(endpoint).unwrap_or_else(|| "-".to_owned())).collect()
}
