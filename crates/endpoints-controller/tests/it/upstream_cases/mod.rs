//! Counterparts of upstream's unit tests of the pure part; those of the controller are in [`crate`].
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpointsExistingNilSubsets`, `…ExistingEmptySubsets` | `syncs::absent_and_empty_subsets_are_equal` |
//! | `TestSyncEndpointsWithPodResourceVersionUpdateOnly` | `syncs::the_resource_version_of_a_pod_causes_no_write` |
//! | `TestSyncEndpointsNewNoSubsets` | `syncs::a_service_without_pods_gets_an_object` |
//! | `TestSyncEndpointsProtocolTCP`, `…UDP`, `…SCTP` | `syncs::the_protocol_is_that_of_the_port` |
//! | `TestSyncEndpointsProtocolMultiProtocolSamePort` | `syncs::ports_are_ordered_by_hash` |
//! | `TestSyncEndpointsHeadlessServiceLabel` | `syncs::the_headless_label_alone_causes_no_write` |
//! | `TestSyncEndpointsItemsEmptySelectorSelectsAll`, `…NotReady`, `…Mixed` | `syncs::all_selected_pods_are_listed`; an empty selector cannot come through the API, where it is the same as none |
//! | `TestSyncEndpointsItemsPreexisting`, `…Identical`, `…IdenticalUnsorted` | `syncs::an_object_is_replaced_only_if_its_content_differs` |
//! | `TestSyncEndpointsItems`, `…WithLabels`, `…PreexistingLabelsChange` | `syncs::labels_are_those_of_the_service` |
//! | `TestSyncEndpointsHeadlessService`, `…HeadlessWithoutPort` | `syncs::a_headless_service_may_have_no_ports` |
//! | `TestSyncEndpointsItemsExcludeNotReadyPods…` (3) | `addresses::pods_that_ended_are_left_out` |
//! | `TestPodToEndpointAddressForService` (9), `…EmptyIPFamilies` (5) | `addresses::a_pod_is_listed_with_one_address_of_the_first_family` |
//! | `TestLastTriggerChangeTimeAnnotation`, `…Overridden`, `…Cleared` | `syncs::the_time_of_the_last_change_is_written_or_removed` |
//! | `TestSyncServiceOverCapacity` (8) | `capacity::the_annotation_says_whether_addresses_were_truncated` |
//! | `TestTruncateEndpoints` (5) | `capacity::subsets_shrink_in_proportion` |
//! | `TestEndpointPortFromServicePort` (2) | `syncs::the_application_protocol_is_copied` |
//! | `TestSyncServiceAddresses` (18) | `addresses::ready_and_unready_pods_are_listed_by_their_conditions` |
//! | `TestEndpointSubsetsEqualIgnoreResourceVersion` (6) | `syncs::differences_that_cause_a_write` |
//! | `TestSyncEndpointsAddDeletePorts` | `syncs::ports_are_added_and_removed` |
//! | `TestPackSubsets` (29, `pkg/api/v1/endpoints`) | `packing::canonical_forms` |
//! | `TestShouldSetHostname`, `TestShouldPodBeInEndpoints` (`endpointslice/util`) | `addresses` |
//! | `TestNewServiceNoPods` and its siblings (`endpointslice/util`) | crate `endpointslice`, `src/trigger_time.rs` |
//! | `TestStaleEndpointsTracker` | `src/tracker.rs` |
//! | `TestSyncEndpointsItemsPreserveNoSelector`, `TestSyncServiceExternalNameType` (4), `TestCheckLeftoverEndpoints`, `TestWaitsForAllInformersToBeSynced2`, `Test…Batching` (9), `TestSyncEndpointsServiceNotFound`, `TestMultipleServiceChanges`, `TestMultiplePodChanges`, `TestEndpointsDeletionEvents`, `TestGetPodServicesToUpdate`, `TestDetermineNeededServiceUpdates`, `Test_podChanged` | [`crate`] |

mod addresses;
mod capacity;
mod packing;
mod syncs;
