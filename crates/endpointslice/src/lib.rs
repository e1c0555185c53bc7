//! What EndpointSlices *should* be, and the writes that get there.
//!
//! ```text
//! Service + Pods + Nodes ─> desired ─┐
//! existing slices ───────────────────┼─> plan ─> SlicePlan { create, update, delete }
//! template, rules ───────────────────┘
//! ```
//!
//! A controller that manages slices keeps asking one question: given what is wanted and what is there, which few
//! writes make them agree? This crate answers it as a value. It knows no client, no clock, no lock, no logger and no
//! randomness: time is an argument, reasons are return values, and the same input gives the same plan, byte for byte.
//!
//! * [`Service`], [`Pod`] and [`Node`] hold the few fields that endpoints depend on, with shared strings.
//! * [`desired_from_service`] turns them into [`Desired`] endpoints, grouped by address type and port set.
//! * [`SliceTemplate`] says what a slice of this owner looks like, [`Rules`] how slices may be filled.
//! * [`plan`] compares and packs; the result is a [`SlicePlan`] that leaves its executor no decision.
//! * [`SliceTracker`], [`TriggerTimes`] and [`TopologyCache`] are the memory a controller needs between syncs.
//!
//! # The whole path
//!
//! Two pods back a Service, one of them not ready yet. There are no slices so far, so the plan is one new slice; once
//! that is written, there is nothing left to do:
//!
//! ```
//! use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
//! use endpointslice::*;
//!
//! let mut interner = Interner::default();
//! let http = PortFields { name: "http", protocol: "TCP", port: 80, target: Ok(8080), app_protocol: None };
//! let service = ServiceFields {
//!     namespace: "shop",
//!     name: "web",
//!     uid: "6a1f2b34-0000-4000-8000-00000000c0de",
//!     cluster_ip: "10.96.0.10",
//!     ports: vec![http],
//!     ..ServiceFields::default()
//! };
//! let service = Service::new(service, &mut interner);
//! let node = NodeFields { name: "n1", labels: vec![(TOPOLOGY_ZONE, "zone-a")], ..NodeFields::default() };
//! let node = Node::new(&node, &mut interner);
//! let pods = [("web-1", "10.1.0.1", true), ("web-2", "10.1.0.2", false)].map(|(name, address, ready)| {
//!     let ready = ReadyCondition { status: ready, last_transition: None };
//!     let (node_name, addresses) = ("n1", vec![address]);
//!     let pod = PodFields { namespace: "shop", name, node_name, addresses, ready, ..PodFields::default() };
//!     Pod::new(pod, &mut interner)
//! });
//!
//! let desired = desired_from_service(&service, &pods, |name| (name == "n1").then_some(&node));
//! let template = SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER, None);
//! let hints = Hints::for_service(&service, &TopologyCache::default());
//! let rules = Rules { packing: Packing::Pack { max: 100 }, placeholder: true, hints };
//!
//! let existing: [k8s_openapi::api::discovery::v1::EndpointSlice; 0] = [];
//! let first = plan(&existing, desired.clone(), &template, &rules);
//! let [ipv4] = first.types.as_slice() else { panic!("the cluster IP is an IPv4 address") };
//! assert_eq!((ipv4.create.len(), ipv4.changes()), (1, 1));
//!
//! let mut written = ipv4.create[0].clone();
//! let endpoints = written.endpoints.as_ref().unwrap();
//! assert_eq!(endpoints[0].addresses, ["10.1.0.1"]);
//! assert_eq!(endpoints[0].zone.as_deref(), Some("zone-a"));
//! assert_eq!(endpoints[1].conditions.as_ref().unwrap().ready, Some(false));
//!
//! written.metadata.name = Some("web-x7k2p".into()); // the API server's part
//! assert!(plan(&[written], desired, &template, &rules).is_empty());
//! ```
//!
//! The rules come from Kubernetes' own controllers (release 1.36, `k8s.io/endpointslice` and
//! `pkg/controller/endpointslice`); each item names its source. Where this crate differs on purpose, its
//! documentation says so.

mod address;
mod conditions;
mod desired;
mod endpoint_set;
mod fnv;
mod from_endpoints;
mod from_service;
mod hints;
mod interner;
mod labels;
mod node;
mod pack;
mod plan;
mod pod;
mod port_set;
mod service;
mod subset_order;
mod subsets;
mod template;
mod tolerated;
mod topology;
mod tracker;
mod trigger_time;
mod uid;

pub mod well_known;

pub use address::{AddressType, is_allowed_in_slices, parse_ip};
pub use conditions::Conditions;
pub use desired::{Desired, Skipped, SkippedReason};
pub use endpoint_set::EndpointSet;
pub use from_endpoints::{Mirrored, desired_from_endpoints};
pub use from_service::{
    desired_from_service, desired_from_service_with, endpoint_ports, pod_endpoint, published_hostname,
    target_number, target_ref,
};
pub use hints::{Hints, TrafficDistribution};
pub use interner::Interner;
pub use labels::LabelSet;
pub use node::{Node, NodeFields};
pub use plan::{AddressTypePlan, Packing, PlanStatistics, PortGroupStatistics, Rules, SlicePlan, plan};
pub use pod::{NamedPort, Pod, PodFields, ReadyCondition};
pub use port_set::PortSet;
pub use service::{
    Families, PortFields, Service, ServiceFields, ServicePort, ServiceType, TargetPort, parse_bool,
};
pub use subsets::{SubsetBuilder, SubsetPort, repack_subsets};
pub use template::{Annotations, Owner, Ownership, SliceTemplate, UpdateBody};
pub use topology::{
    Allocation, Allocations, EventType, NoHints, NoHintsReason, Recorded, ServiceKey, TopologyCache,
    TopologyEvent, TopologyOutcome, ZoneCounts, ZoneShares,
};
pub use tracker::{SliceState, SliceTracker};
pub use trigger_time::TriggerTimes;
pub use uid::{Uid, Version};

/// The example in the README is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
