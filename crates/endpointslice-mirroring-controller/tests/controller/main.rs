//! The controller on a cache that the test fills and an API that the test plays, on a paused clock.
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpoints`: no addresses; 1000 addresses; 1001 addresses | `events::addresses_that_are_not_mirrored_get_an_event` |
//! | …: skip label true or false; missing Service; Service with selector | `which::which_endpoints_are_mirrored` |
//! | …: existing slices that need to be cleaned up | `which::slices_left_behind_are_cleaned_up_at_the_start` |
//! | …: existing slices managed by a different controller | `others::slices_of_others_are_left_alone` |
//! | `TestShouldMirror` | `which::which_endpoints_are_mirrored`, `which::endpoints_that_begin_or_cease_to_opt_out` |
//! | `TestEndpointSlicesMirroredForService` | `others::slices_of_others_are_left_alone` |
//! | `TestEndpointSliceMirroringUpdates` (integration) | `writes::each_change_costs_one_write_and_the_excluded_ones_none` |
//! | `TestEndpointSliceMirroringSelectorTransition` (integration) | `which::a_service_that_gains_or_loses_its_selector` |
//! | `TestEndpointSliceMirroring` (integration): Service with selector; without; Endpoints without Service | `which::which_endpoints_are_mirrored` |
//!
//! The cases of the reconciler are in `upstream_cases`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking"
)]

mod events;
mod harness;
mod others;
mod unreadable;
mod which;
mod writes;

const NOTHING: [&str; 0] = [];
