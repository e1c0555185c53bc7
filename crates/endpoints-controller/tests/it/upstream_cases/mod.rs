//! Counterparts of upstream's unit tests that need no API server; those of the controller are in [`crate`].
//!
//! | Upstream's test | Here |
//! |---|---|
//! | `TestSyncEndpointsExistingNilSubsets`, `…ExistingEmptySubsets` | `syncs::no_subsets_are_no_subsets` |
//! | `TestSyncEndpointsWithPodResourceVersionUpdateOnly` | `syncs::the_version_of_a_pod_does_not_matter` |
//! | `TestSyncEndpointsNewNoSubsets` | `syncs::a_service_without_pods_gets_an_object` |
//! | `TestSyncEndpointsProtocolTCP`, `…UDP`, `…SCTP` | `syncs::the_protocol_is_the_ports` |
//! | `TestSyncEndpointsProtocolMultiProtocolSamePort` | `syncs::ports_are_in_order_of_their_hashes` |
//! | `TestSyncEndpointsHeadlessServiceLabel` | `syncs::the_headless_label_alone_is_no_reason_to_write` |
//! | `TestSyncEndpointsItemsEmptySelectorSelectsAll`, `…NotReady`, `…Mixed` | `syncs::all_selected_pods_are_listed`; an empty selector cannot come through the API, where it is the same as none |
//! | `TestSyncEndpointsItemsPreexisting`, `…Identical`, `…IdenticalUnsorted` | `syncs::an_object_is_replaced_only_if_its_content_differs` |
//! | `TestSyncEndpointsItems`, `…WithLabels`, `…PreexistingLabelsChange` | `syncs::labels_are_the_services` |
//! | `TestSyncEndpointsHeadlessService`, `…HeadlessWithoutPort` | `syncs::a_headless_service_may_have_no_ports` |
//! | `TestSyncEndpointsItemsExcludeNotReadyPods…` (3) | `addresses::pods_that_ended_are_left_out` |
//! | `TestPodToEndpointAddressForService` (9), `…EmptyIPFamilies` (5) | `addresses::one_address_in_the_first_family` |
//! | `TestLastTriggerChangeTimeAnnotation`, `…Overridden`, `…Cleared` | `syncs::the_time_of_the_last_change_is_written_or_removed` |
//! | `TestSyncServiceOverCapacity` (8) | `capacity::the_annotation_says_whether_addresses_were_cut` |
//! | `TestTruncateEndpoints` (5) | `capacity::subsets_shrink_in_proportion` |
//! | `TestEndpointPortFromServicePort` (2) | `syncs::the_application_protocol_is_carried` |
//! | `TestSyncServiceAddresses` (18) | `addresses::which_pods_are_listed_and_where` |
//! | `TestEndpointSubsetsEqualIgnoreResourceVersion` (6) | `syncs::what_counts_as_different` |
//! | `TestSyncEndpointsAddDeletePorts` | `syncs::ports_come_and_go` |
//! | `TestPackSubsets` (29, `pkg/api/v1/endpoints`) | `packing::canonical_forms` |
//! | `TestShouldSetHostname`, `TestShouldPodBeInEndpoints` (`endpointslice/util`) | `addresses` |
//! | `TestNewServiceNoPods` and its siblings (`endpointslice/util`) | crate `endpointslice`, `src/trigger_time.rs` |
//! | `TestStaleEndpointsTracker` | `src/tracker.rs` |
//! | `TestSyncEndpointsItemsPreserveNoSelector`, `TestSyncServiceExternalNameType` (4), `TestCheckLeftoverEndpoints`, `TestWaitsForAllInformersToBeSynced2`, `Test…Batching` (9), `TestSyncEndpointsServiceNotFound`, `TestMultipleServiceChanges`, `TestMultiplePodChanges`, `TestEndpointsDeletionEvents`, `TestGetPodServicesToUpdate`, `TestDetermineNeededServiceUpdates`, `Test_podChanged` | [`crate`] |

mod addresses;
mod capacity;
mod packing;
mod syncs;
