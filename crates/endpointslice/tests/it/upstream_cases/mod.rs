//! The cases of upstream's unit tests, told again with our own words and data, where golden cases lack them.
//!
//! Upstream is Kubernetes 1.37: `k8s.io/endpointslice` unless another package is named. [`golden`](crate::golden) is what its code
//! writes for 5,500 random inputs: Services of all families and cluster IPs, being deleted, created again, with other ports and
//! labels; pods in every phase, on unknown nodes, with sidecars; slices of other types and owners, over-full, twice, without ports.
//! Below are the tests of which it lacks a part; `src/…` are unit tests alongside the code. Two of upstream's checks
//! need no test of their own: that the cache is not mutated (slices are borrowed immutably), and, in every case here
//! that calls [`Cluster::sync`](crate::support::Cluster::sync), that a second reconcile writes nothing.
//!
//! | `reconciler_test.go`; all others: `golden` | here |
//! |---|---|
//! | `TestPlaceHolderSliceCompare` | `reconcile::a_placeholder_is_recognized_by_type_ports_namespace_and_labels` |
//! | `TestReconcileEndpointSlicesSomePreexisting` | `reconcile::the_rest_goes_to_the_slice_it_fits_most_tightly` |
//! | `TestReconcileEndpointSlicesSomePreexistingWorseAllocation` | `reconcile::new_slices_are_preferred_to_many_updates` |
//! | `TestReconcileEndpointSlicesMetrics` and the three `…Metrics…` alongside it | `golden`; the exposition: crate `endpointslice-controller`, `src/metrics/tests.rs` |
//! | `TestReconcileHeadlessServiceNoPorts` | `reconcile::absent_ports_are_no_ports` |
//!
//! | `utils_test.go`; all others: `golden` | here |
//! |---|---|
//! | `TestServiceControllerKey` | crate `endpointslice-controller`, `tests/it/main.rs` |
//! | `TestSupportedServiceAddressType` (10) | `src/model/service.rs` `address_types_come_from_families_then_from_the_cluster_ip` |
//! | `Test_hintsEnabled` (19) | `src/model/service.rs` `the_deprecated_topology_annotation_hides_the_other` |
//!
//! | `util/` | here |
//! |---|---|
//! | `TestDetermineNeededServiceUpdates` (6), `TestGetPodServicesToUpdate` (5) | crate `endpoint-informers`, `src/cache/tests/affected_services.rs` |
//! | `TestShouldPodBeInEndpoints` | `golden` |
//! | `TestShouldSetHostname` | `endpoints::a_hostname_is_published_if_the_subdomain_names_the_service` |
//! | `Test_podChanged` | `endpoints::changes_of_published_fields_of_a_pod_matter` |
//! | `TestEndpointsEqualBeyondHash` (9) | `src/desired/endpoint_set.rs` `properties_are_compared_without_resource_version_and_hints` |
//! | `TestDeepHashObject`, `TestDeepObjectPointer`, `TestNewPortMapKey_NilVsEmptySlice` | `golden`, `src/desired/port_set.rs`, `reconcile::absent_ports_are_no_ports` |
//! | `TestEndpointSliceTracker{Update,StaleSlices,Deletion,DeleteService}` | `expectations`, all of it |
//! | `trigger_time_tracker_test.go` (8) | `src/trigger_times.rs` `the_trigger_time_is_the_earliest_change_since_the_last_call` |
//!
//! | other packages | here |
//! |---|---|
//! | `trafficdist` `TestReconcileHints` (9) | `src/plan/hints.rs` `traffic_distribution_decides_about_hints_of_ready_endpoints`, `golden` |
//! | `topologycache` (all) | the table in `src/topology/tests/mod.rs` |
//! | `metrics` (all) | crate `endpointslice-controller`, `src/metrics/tests.rs` |
//! | `pkg/controller/endpointslice` `TestSyncService` (6) | `golden` |
//! | `pkg/controller/endpointslice` (all others) | the table in `tests/it/main.rs` of crate `endpointslice-controller` |

mod endpoints;
mod expectations;
mod reconcile;
