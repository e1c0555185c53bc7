//! The controller and its pure part, a module for each rule.
//!
//! | rule | module |
//! |---|---|
//! | a Service has the Endpoints that its pods make | [`services`], [`upstream_cases`], [`golden`], [`properties`] |
//! | Endpoints go with their Service, and only those | [`leftovers`], [`deleted_services`] |
//! | a Service of another controller has none of our Endpoints | [`delegation`] |
//! | failed writes are retried; a sync waits for a cache behind our own writes | [`failures`] |
//! | changes by other clients are repaired, at a limited rate | [`foreign_changes`] |
//! | a complete list ends the wait for earlier writes | [`relist`] |
//! | objects that can't be decoded cause no deletion | [`unreadable`] |
//!
//! Counterparts of upstream's tests of the controller; those of its pure part are in [`upstream_cases`]:
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpointsItemsPreserveNoSelector`, `TestSyncServiceExternalNameType` (4) | `services::services_that_we_do_not_manage_cause_no_request` |
//! | `TestCheckLeftoverEndpoints`, `TestSyncEndpointsServiceNotFound` | `leftovers::endpoints_of_deleted_services_are_deleted_at_start_up`, `leftovers::the_endpoints_of_a_deleted_service_are_deleted_once` |
//! | `TestWaitsForAllInformersToBeSynced2` | the manager runs controllers once the cache is synced (`tests` `binary`) |
//! | `TestPodAddsBatching`, `TestPodUpdatesBatching`, `TestPodDeleteBatching` (3 each) | `services::pod_changes_within_a_batch_period_are_one_write` |
//! | `TestMultipleServiceChanges` | `foreign_changes::endpoints_that_another_client_deletes_are_created_again`, `leftovers::a_service_recreated_at_once_is_synced` |
//! | `TestMultiplePodChanges` | `failures::a_sync_waits_for_a_cache_behind_our_own_write` |
//! | `TestEndpointsDeletionEvents` | `foreign_changes::endpoints_that_another_client_deletes_are_created_again` |
//! | `TestGetPodServicesToUpdate`, `TestDetermineNeededServiceUpdates`, `Test_podChanged` | `services::a_pod_change_syncs_the_services_that_select_it_or_did` |
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking, in their helpers too; objects are passed by value for shorter calls"
)]

mod delegation;
mod deleted_services;
mod failures;
mod foreign_changes;
mod golden;
mod harness;
mod leftovers;
mod objects;
mod properties;
mod relist;
mod services;
mod unreadable;
mod upstream_cases;

use std::time::Duration;

use serde_json::{Value, json};

const NONE: [&str; 0] = [];
const MOMENT: Duration = Duration::from_millis(1);

fn web() -> Value {
    objects::service("web", json!({}))
}
