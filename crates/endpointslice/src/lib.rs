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
//! * [`SliceTracker`] and [`TriggerTimes`] are the two pieces of memory a controller needs between syncs.
//!
//! The rules come from Kubernetes' own controllers (release 1.36, `k8s.io/endpointslice` and
//! `pkg/controller/endpointslice`); each item names its source. Where this crate differs on purpose, its
//! documentation says so.

mod address;
mod desired;
mod endpoint_set;
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
mod template;
mod tracker;
mod trigger_time;
mod uid;

pub mod well_known;

pub use address::{AddressType, parse_ip};
pub use desired::{Desired, Skipped, SkippedReason};
pub use endpoint_set::EndpointSet;
pub use from_service::{desired_from_service, endpoint_ports, is_in_endpoints, pod_endpoint};
pub use hints::{Hints, TrafficDistribution};
pub use interner::Interner;
pub use labels::LabelSet;
pub use node::{Node, NodeFields, milli_cpu};
pub use plan::{AddressTypePlan, Packing, PlanStatistics, PortGroupStatistics, Rules, SlicePlan, plan};
pub use pod::{NamedPort, Pod, PodFields, ReadyCondition};
pub use port_set::PortSet;
pub use service::{Families, PortFields, Service, ServiceFields, ServicePort, ServiceType, TargetPort};
pub use template::{Owner, SliceTemplate};
pub use tracker::SliceTracker;
pub use trigger_time::TriggerTimes;
pub use uid::{Uid, Version};
