//! The cases of upstream's unit tests, told again with our own words and data.
//!
//! Upstream is Kubernetes 1.37: `k8s.io/endpointslice` unless another package is named. Each upstream test is listed
//! with the place where its cases are found here; `src/…` are unit tests alongside the code. Two of upstream's checks
//! need no test of their own: that the cache is not mutated (slices are borrowed immutably), and, in every case here
//! that calls [`Cluster::sync`](crate::support::Cluster::sync), that a second reconcile writes nothing.
//!
//! | `reconciler_test.go` | here |
//! |---|---|
//! | `TestReconcileEmpty` | `reconcile::a_service_without_pods_gets_a_placeholder` |
//! | `TestReconcile1Pod` (8) | `reconcile::every_kind_of_service_gets_slices_for_one_pod`; the two about labels: `labels::a_new_slice_has_the_metadata_of_its_service` |
//! | `TestReconcile1EndpointSlice` | `reconcile::a_placeholder_is_created_kept_or_corrected` |
//! | `TestPlaceHolderSliceCompare` | `reconcile::a_placeholder_is_recognized_by_type_ports_namespace_and_labels` |
//! | `TestReconcile1EndpointSlicePublishNotReadyAddresses` | `reconcile::not_ready_pods_are_published_as_ready_if_the_service_requests_it` |
//! | `TestReconcileManyPods` | `reconcile::many_pods_fill_slices` |
//! | `TestReconcileEndpointSlicesSomePreexisting` | `reconcile::the_rest_goes_to_the_slice_it_fits_most_tightly` |
//! | `TestReconcileEndpointSlicesSomePreexistingWorseAllocation` | `reconcile::new_slices_are_preferred_to_many_updates` |
//! | `TestReconcileEndpointSlicesUpdating` | `reconcile::a_new_port_reuses_the_slices` |
//! | `TestReconcileEndpointSlicesServicesLabelsUpdating` | `labels::a_service_label_reaches_every_slice` |
//! | `TestReconcileEndpointSlicesServicesReservedLabels` | `labels::reserved_labels_of_a_service_are_ignored` |
//! | `TestReconcileEndpointSlicesRecycling` | `reconcile::recycling_repacks_for_free` |
//! | `TestReconcileEndpointSlicesUpdatePacking` | `reconcile::slices_written_anyway_are_filled_fullest_first` |
//! | `TestReconcileEndpointSlicesReplaceDeprecated` | `reconcile::slices_of_other_address_types_are_replaced` |
//! | `TestReconcileEndpointSlicesRecreation` | `reconcile::slices_of_an_older_service_are_replaced` |
//! | `TestReconcileEndpointSlicesNamedPorts` | `reconcile::pods_are_grouped_by_what_a_named_port_means` |
//! | `TestReconcileMaxEndpointsPerSlice` | `reconcile::the_maximum_decides_the_number_of_slices` |
//! | `TestReconcileEndpointSlicesMetrics` and the three `…Metrics…` alongside it | `reconcile::a_plan_has_statistics`; the exposition: crate `endpointslice-controller`, `src/metrics/tests.rs` |
//! | `TestReconcilerFinalizeSvcDeletionTimestamp` | `reconcile::a_service_being_deleted_gets_updates_and_no_creates` |
//! | `TestReconcilerPodMissingNode` | `reconcile::a_pod_on_an_unknown_node_is_skipped` |
//! | `TestReconcileTopology` (5) | `src/topology/tests/planning.rs` |
//! | `TestReconcile_TrafficDistribution` | `reconcile::hints_follow_traffic_distribution`, `…::the_topology_annotation_hides_traffic_distribution` |
//! | `TestReconcileHeadlessServiceNoPorts` | `reconcile::absent_ports_are_no_ports` |
//!
//! | `utils_test.go` | here |
//! |---|---|
//! | `TestNewEndpointSlice` | `labels::a_new_slice_has_the_metadata_of_its_service` |
//! | `TestPodToEndpoint` | `endpoints::an_endpoint_has_the_published_fields_of_its_pod` |
//! | `TestServiceControllerKey` | crate `endpointslice-controller`, `tests/it/main.rs` |
//! | `TestGetEndpointPorts` | `endpoints::ports_of_the_service_are_resolved_for_a_pod` |
//! | `TestSetEndpointSliceLabels` | `labels::labels_are_set_and_reserved_ones_cause_no_write` |
//! | `TestSupportedServiceAddressType` (10) | `src/model/service.rs` `address_types_come_from_families_then_from_the_cluster_ip` |
//! | `Test_hintsEnabled` (19) | `src/model/service.rs` `the_deprecated_topology_annotation_hides_the_other` |
//! | `TestFindPort` | `endpoints::a_port_name_means_the_first_container_port_of_its_protocol` |
//!
//! | `util/` | here |
//! |---|---|
//! | `TestDetermineNeededServiceUpdates` (6), `TestGetPodServicesToUpdate` (5) | crate `endpoint-informers`, `src/cache/tests/affected_services.rs` |
//! | `TestShouldPodBeInEndpoints` | `endpoints::pods_with_an_address_are_endpoints_until_they_end` |
//! | `TestShouldSetHostname` | `endpoints::a_hostname_is_published_if_the_subdomain_names_the_service` |
//! | `Test_podChanged` | `endpoints::changes_of_published_fields_of_a_pod_matter` |
//! | `TestEndpointsEqualBeyondHash` (9) | `src/desired/endpoint_set.rs` `properties_are_compared_without_resource_version_and_hints` |
//! | `TestDeepHashObject`, `TestDeepObjectPointer`, `TestNewPortMapKey_NilVsEmptySlice` | `src/desired/port_set.rs`, `reconcile::absent_ports_are_no_ports` |
//! | `TestEndpointSliceTracker{Update,StaleSlices,Deletion,DeleteService}` | `expectations`, all of it |
//! | `trigger_time_tracker_test.go` (8) | `src/trigger_times.rs` `the_trigger_time_is_the_earliest_change_since_the_last_call` |
//!
//! | other packages | here |
//! |---|---|
//! | `trafficdist` `TestReconcileHints` (9) | `src/plan/hints.rs` `traffic_distribution_decides_about_hints_of_ready_endpoints`, `reconcile::hints_follow_traffic_distribution`, `…::hints_change_with_the_service` |
//! | `topologycache` (all) | the table in `src/topology/tests/mod.rs` |
//! | `metrics` (all) | crate `endpointslice-controller`, `src/metrics/tests.rs` |
//! | `pkg/controller/endpointslice` `TestSyncService` (6) | `sync_service` |
//! | `pkg/controller/endpointslice` (all others) | the table in `tests/it/main.rs` of crate `endpointslice-controller` |
//!
//! [`write_counts`] asserts what each kind of change costs, one by one.

mod endpoints;
mod expectations;
mod labels;
mod reconcile;
mod sync_service;
mod write_counts;
