//! The controller and its pure part, a module for each rule.
//!
//! | rule | module |
//! |---|---|
//! | which Endpoints are mirrored | [`selection`] |
//! | which writes a change costs | [`writes`], [`differences`], [`golden`], [`properties`] |
//! | changes by other clients are repaired; their slices are left alone | [`foreign_changes`] |
//! | events and metrics of addresses that are not mirrored | [`events`] |
//! | objects that can't be decoded cause no deletion | [`unreadable`] |
//!
//! [`golden`] is what upstream's code writes for 3,000 random inputs: more than its unit tests of the reconciler
//! (`TestReconcile`, `TestRecycleSlices`, `TestNewEndpointSlice`, `TestAddressToEndpoint`) ask for. Those of `metrics/cache_test.go` are
//! in crate `endpoint-informers`, `slices::metrics`. Counterparts of its tests of the controller:
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpoints`: no addresses; 1000 addresses; 1001 addresses | `events::addresses_that_are_not_mirrored_emit_an_event` |
//! | …: skip label true or false; missing Service; Service with selector | `selection::which_endpoints_are_mirrored` |
//! | …: existing slices that need to be cleaned up | `selection::orphaned_slices_are_deleted_at_start_up` |
//! | …: existing slices managed by a different controller | `foreign_changes::slices_of_others_are_left_alone` |
//! | `TestShouldMirror` | `selection::which_endpoints_are_mirrored`, `selection::slices_follow_the_opt_out_of_their_endpoints` |
//! | `TestEndpointSlicesMirroredForService` | `foreign_changes::slices_of_others_are_left_alone` |
//! | `TestEndpointSliceMirroringUpdates` (integration) | `writes::each_change_costs_one_write_and_ignored_ones_none` |
//! | `TestEndpointSliceMirroringSelectorTransition` (integration) | `selection::slices_follow_the_selector_of_the_service` |
//! | `TestEndpointSliceMirroring` (integration): Service with selector; without; Endpoints without Service | `selection::which_endpoints_are_mirrored` |
//! | …: two subsets, the same address | `golden` |
//! | `should mirror a custom Endpoints resource through create update and delete` (e2e) | `writes`, `selection::slices_follow_endpoints_and_service` |
//! | `should test the lifecycle of an Endpoint` (e2e) | `selection::which_endpoints_are_mirrored` |
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking, in their helpers too; objects are passed by value for shorter calls"
)]

mod cluster;
mod differences;
mod events;
mod foreign_changes;
mod golden;
mod harness;
mod properties;
mod selection;
mod unreadable;
mod writes;

const NONE: [&str; 0] = [];
