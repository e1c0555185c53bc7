//! Counterparts of upstream's unit tests of the pure part, where golden cases lack a part; those of the controller are in [`crate`].
//!
//! [`golden`](crate::golden) is what its code writes in 1,164 syncs and makes of 2,088 lists of subsets: Services of all families and
//! cluster IPs, headless, with other labels and ports; pods in every phase, being deleted, without addresses and nodes; objects that
//! others have changed.
//!
//! | Upstream's test; all others: `golden` | Here |
//! |---|---|
//! | `TestSyncEndpointsExistingNilSubsets`, `…ExistingEmptySubsets` | `syncs::absent_and_empty_subsets_are_equal` |
//! | `TestSyncEndpointsItemsEmptySelectorSelectsAll`, `…NotReady`, `…Mixed` | `golden`; an empty selector cannot come through the API, where it is the same as none |
//! | `TestSyncEndpointsItemsPreexisting`, `…Identical`, `…IdenticalUnsorted` | `syncs::an_object_is_replaced_only_if_its_content_differs` |
//! | `TestSyncServiceOverCapacity` (8) | `capacity::the_annotation_says_whether_addresses_were_truncated` |
//! | `TestTruncateEndpoints` (5) | `capacity::subsets_shrink_in_proportion` |
//! | `TestEndpointSubsetsEqualIgnoreResourceVersion` (6) | `syncs::differences_that_cause_a_write` |
//! | `TestNewServiceNoPods` and its siblings (`endpointslice/util`) | crate `endpointslice`, `src/trigger_times.rs` |
//! | `TestStaleEndpointsTracker` | `src/tracker.rs` |
//! | `TestSyncEndpointsItemsPreserveNoSelector`, `TestSyncServiceExternalNameType` (4), `TestCheckLeftoverEndpoints`, `TestWaitsForAllInformersToBeSynced2`, `Test…Batching` (9), `TestSyncEndpointsServiceNotFound`, `TestMultipleServiceChanges`, `TestMultiplePodChanges`, `TestEndpointsDeletionEvents`, `TestGetPodServicesToUpdate`, `TestDetermineNeededServiceUpdates`, `Test_podChanged` | [`crate`] |

mod capacity;
mod syncs;
