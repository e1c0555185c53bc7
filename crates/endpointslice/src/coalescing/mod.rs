//! Writes that may wait for others, because no consumer sends traffic elsewhere for them.
//!
//! Each write of a slice goes to every node. Of the changes of a pod that is replaced, two decide where traffic goes: the new
//! pod becomes ready, the old one stops being ready. The others are *soft*: the new pod appears before it is ready, the old
//! one stops serving, and is removed. A write with soft changes alone may wait until the same slice is written for another
//! reason.
//!
//! ```text
//! plan ─> planned_writes: urgent or soft, by comparison with the stored slices
//!           └─> Waiting::hold_back: takes the soft ones out of the plan, until one of their changes has waited too long
//! ```
//!
//! [`plan()`](crate::plan()) stays the specification: all writes that are left are its writes, with every change of their
//! slices, and once nothing may wait any longer they are its plan. Only the trigger time differs, which dates a write by the
//! earliest change in it, also if that has waited.
//!
//! # Rules
//!
//! Upstream has no such delay. The rules follow from how consumers choose endpoints; a case that is not clear is urgent.
//!
//! * kube-proxy sends traffic to ready endpoints, and only if a port has none, to those that serve while they terminate
//!   (KEP-1669; `pkg/proxy/topology.go` `CategorizeEndpoints`). So a change between two states that are not ready is soft while
//!   its group, the endpoints of one address type and port set, has a ready endpoint. Without one, all is urgent.
//! * With the traffic policy `Local`, kube-proxy decides for each node, where all endpoints may be terminating; hints divide
//!   endpoints in a similar way. With a port of another protocol than TCP, kube-proxy drops conntrack entries of endpoints that
//!   do not serve (`pkg/proxy/conntrack/cleanup.go`). For such Services, an endpoint that stops serving is urgent as well.
//! * Of endpoints with the same address and port, kube-proxy keeps one, whichever it reads first
//!   (`pkg/proxy/endpointslicecache.go` `addEndpoints`), so that one that is not ready may hide one that is. A change is soft
//!   only if its address is unique.
//! * A load balancer's controller registers pods that have readiness gates before they are ready, by their endpoints (KEP-580;
//!   `aws-load-balancer-controller` `pkg/backend/endpoint_resolver.go`). A Service with such pods has only urgent changes.
//! * Endpoints of headless Services and of those that publish not-ready addresses are used whether they are ready or not.
//! * Labels, ports and all other properties are urgent, as is a Service from which an endpoint is left out for now.

mod diff;
mod rules;
mod waiting;
mod writes;

pub use rules::Rules;
pub use waiting::{HeldBack, Waiting};
pub use writes::{EndpointKey, Operation, PlannedWrite, planned_writes};
