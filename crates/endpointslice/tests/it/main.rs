//! Integration tests of the public API, a module for each rule.
//!
//! | rule | module |
//! |---|---|
//! | a plan, applied, gives what is desired, and converges | [`plan_properties`] |
//! | upstream's unit tests have counterparts | [`upstream_cases`] |
//! | the same writes as upstream on thousands of recorded inputs | [`golden`] |
//! | addresses are read as Kubernetes reads them | [`addresses`] |
//! | a write that decides about no traffic may wait for others | [`coalescing`] |
//! | the tutorial in the README is compiled | [`readme`] |
//! | addresses that the API server refuses keep no slice from being written | [`refused_addresses`] |
//! | a complete list ends the wait for earlier writes | [`relist`] |
//! | the feature gate `EndpointSliceTerminatingCondition` | [`terminating_condition`] |
//! | one slice for each group of mirrored Endpoints | [`mirroring`] |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod addresses;
mod coalescing;
mod golden;
mod mirroring;
mod plan_properties;
mod readme;
mod refused_addresses;
mod relist;
mod support;
mod terminating_condition;
mod upstream_cases;
