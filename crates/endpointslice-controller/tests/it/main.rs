//! The controller on an in-memory API server and a paused clock, a module for each rule.
//!
//! | rule | module |
//! |---|---|
//! | a Service has the slices that its pods make | [`services`] |
//! | only slices with both labels are ours | [`ownership`] |
//! | nodes decide zones and topology hints | [`nodes`] |
//! | a Service of another controller has none of our slices | [`delegation`] |
//! | failed writes are retried; a sync waits for a cache behind our own writes | [`failures`] |
//! | a Service with many slices, or a failing address family, delays no other | [`fairness`] |
//! | changes by other clients are repaired, at a limited rate | [`foreign_changes`] |
//! | a complete list ends the wait for earlier writes | [`relist`] |
//! | objects that can't be decoded cause no deletion | [`unreadable`] |
//! | the feature gate `EndpointSliceTerminatingCondition` | [`terminating_condition`] |
//! | writes by other clients are counted | [`foreign_writes`] |
//! | the feature gate `EndpointSliceCoalescing` | [`coalescing`], [`rolling_update`] |
//! | a plan that waits for the rate limit is recorded at its turn | [`waiting`] |
//!
//! | Upstream's test (`pkg/controller/endpointslice`) | Here |
//! |---|---|
//! | `TestSyncServiceNoSelector`, `TestServiceExternalNameTypeSync` (4) | `services::services_that_we_do_not_manage_cause_no_request` |
//! | `TestSyncServicePendingDeletion` | `services::a_service_being_deleted_gets_no_new_slices` |
//! | `TestSyncServiceWithSelector` | `ownership::a_new_service_gets_a_placeholder` |
//! | `TestSyncServiceMissing` | `services::services_that_we_do_not_manage_cause_no_request`; crate `endpointslice`, `src/trigger_times.rs` |
//! | `TestSyncServicePodSelection` | `ownership::only_selected_pods_are_published` |
//! | `TestSyncServiceEndpointSlicePendingDeletion`, `Test_dropEndpointSlicesPendingDeletion` | `ownership::a_slice_being_deleted_is_replaced` |
//! | `TestSyncServiceEndpointSliceLabelSelection` | `ownership::only_slices_with_both_labels_are_ours` |
//! | `TestOnEndpointSliceUpdate` | `ownership::a_slice_that_is_relabelled_to_another_owner_is_replaced`, `ownership::a_slice_that_is_relabelled_to_us_causes_a_sync` |
//! | `TestSyncService` (6) | crate `endpointslice`, `golden` |
//! | `TestPodAddsBatching`, `TestPodUpdatesBatching`, `TestPodDeleteBatching` (3 each) | `services::pod_changes_within_a_batch_period_are_one_write` |
//! | `TestSyncServiceStaleInformer` | `failures::a_sync_waits_for_a_cache_behind_our_own_write`; crate `endpointslice`, `upstream_cases` `expectations` |
//! | `Test_checkNodeTopologyDistribution` (9) | crate `endpointslice`, `src/topology/tests/remembering.rs` |
//! | `TestUpdateNode` | `nodes::hints_appear_when_all_nodes_report_cpu` |
//!
//! | Upstream's test (`k8s.io/endpointslice`) | Here |
//! |---|---|
//! | `TestServiceControllerKey` | `ownership::a_slice_without_a_service_causes_no_sync` |
//! | `metrics` (all) | `src/metrics/tests.rs` |
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking, in their helpers too; objects are passed by value for shorter calls"
)]

mod coalescing;
mod delegation;
mod failures;
mod fairness;
mod foreign_changes;
mod foreign_writes;
mod harness;
mod nodes;
mod ownership;
mod relist;
mod rolling_update;
mod services;
mod terminating_condition;
mod unreadable;
mod waiting;

use std::time::Duration;

const NONE: [&str; 0] = [];
const MOMENT: Duration = Duration::from_millis(1);
