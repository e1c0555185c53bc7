//! The endpoints that EndpointSlices should carry, and the few writes that get there.
//!
//! ```text
//! Service + Pods + Nodes ─> DesiredEndpoints ─┐
//! existing slices ────────────────────────────┼─> plan ─> SlicePlan { create, update, delete }
//! SliceTemplate, PlanOptions ─────────────────┘
//! ```
//!
//! A controller that manages slices compares desired endpoints with existing slices, and makes the few writes by which
//! they agree. This crate computes these writes as a value. It has no client, clock, lock, logger or randomness: time is
//! an argument, reasons are return values, and the same input gives the same plan, byte for byte.
//!
//! * [`Service`], [`Pod`] and [`Node`] hold the few fields that endpoints depend on, with shared strings ([`model`]).
//! * [`desired_from_service`] turns them into [`DesiredEndpoints`], grouped by address type and port set ([`desired`]).
//! * [`SliceTemplate`] has the metadata of an owner's slices, [`PlanOptions`] the rules by which they are filled.
//! * [`plan()`] compares and packs. The result is a [`SlicePlan`], which leaves no decision to its executor
//!   ([`mod@plan`]). [`coalescing`] finds the writes of a plan that may wait for others.
//! * [`Expectations`], [`TriggerTimes`](trigger_times::TriggerTimes) and [`TopologyCache`](topology::TopologyCache) are the
//!   state that a controller keeps between syncs ([`expectations`], [`trigger_times`], [`topology`]).
//! * [`disruption`] tells a cluster that has lost its kubelets from one that has lost its nodes.
//! * [`endpoints`] has the canonical form of Endpoints subsets, [`well_known`] the keys of labels and annotations.
//!
//! # The whole path
//!
//! Two pods back a Service, one of them not ready yet. There are no slices so far, so the plan is one new slice; once
//! that is written, there is nothing left to do:
//!
//! ```
//! use endpointslice::model::{NodeFields, PodFields, PortFields, ReadyCondition, ServiceFields, TargetPort};
//! use endpointslice::topology::TopologyCache;
//! use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, TOPOLOGY_ZONE};
//! use endpointslice::{
//!     Hints, Interner, Node, PlanOptions, Pod, Service, SliceTemplate, desired_from_service, plan,
//! };
//! use k8s_openapi::api::discovery::v1::EndpointSlice;
//!
//! let mut interner = Interner::default();
//! let http = PortFields { name: "http", port: 80, target: TargetPort::Number(8080), ..PortFields::default() };
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
//! let template = SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER);
//! let hints = Hints::for_service(&service, &TopologyCache::default());
//! let options = PlanOptions { hints, ..PlanOptions::default() };
//!
//! let existing: [EndpointSlice; 0] = [];
//! let first = plan(&existing, desired.clone(), &template, &options);
//! let [ipv4] = first.types.as_slice() else { panic!("the cluster IP is an IPv4 address") };
//! assert_eq!((ipv4.create.len(), ipv4.changes()), (1, 1));
//!
//! let mut written = ipv4.create[0].clone();
//! let endpoints = written.endpoints.as_ref().unwrap();
//! assert_eq!(endpoints[0].addresses, ["10.1.0.1"]);
//! assert_eq!(endpoints[0].zone.as_deref(), Some("zone-a"));
//! assert_eq!(endpoints[1].conditions.as_ref().unwrap().ready, Some(false));
//!
//! written.metadata.name = Some("web-x7k2p".into()); // the API server completes the name
//! assert!(plan(&[written], desired, &template, &options).is_empty());
//! ```
//!
//! The rules come from Kubernetes' own controllers (release 1.37, `k8s.io/endpointslice` and
//! `pkg/controller/endpointslice`); each item names its source. Where this crate differs on purpose, its
//! documentation says so.
//!
//! # Modules
//!
//! Each depends only on those to its left: `model` ← `endpoints` ← `desired` ← `topology` ← `plan` ← `coalescing`, `urgency`;
//! `disruption`, `expectations` and `trigger_times` depend on `model` alone.

pub mod coalescing;
pub mod desired;
pub mod disruption;
pub mod endpoints;
pub mod expectations;
pub mod model;
pub mod plan;
pub mod topology;
pub mod trigger_times;
pub mod urgency;
pub mod well_known;

pub use desired::{DesiredEndpoints, PortSet, desired_from_service};
pub use expectations::Expectations;
pub use model::{AddressType, Interner, Node, Pod, Service};
pub use plan::{Hints, Owner, Packing, PlanOptions, SlicePlan, SliceTemplate, plan, plan_incremental};
pub use urgency::Urgency;

/// The examples in the README are compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
