//! Counterparts of upstream's unit tests of the reconciler, with our own data.
//!
//! Upstream is `pkg/controller/endpointslicemirroring` of Kubernetes 1.37. Every case here also asserts that a second
//! reconcile writes nothing, and that each endpoint is in one slice of its family and ports.
//!
//! | `reconciler_test.go` `TestReconcile`: Endpoints with … | here, in `reconcile` |
//! |---|---|
//! | no subsets; no addresses | `without_addresses_there_are_no_slices` |
//! | 1 subset, port, and address | `each_set_of_ports_has_its_own_slice` |
//! | …, pending deletion | `endpoints_being_deleted_get_no_new_slices` |
//! | 2 subset, different port and address; different port and same address; different address and same port | `each_set_of_ports_has_its_own_slice` |
//! | existing slice with same fields; … but different OwnerReferences; with an additional annotation; but the label | `differences_that_cause_a_write` |
//! | 2 ports and 2 addresses; 2 not ready addresses; 2 ready and 2 not ready addresses | `readiness_is_mirrored` |
//! | 2 subsets, multiple ports and addresses | `each_set_of_ports_has_its_own_slice` |
//! | …, existing empty slice; with some addresses; identical to subset | `existing_slices_are_completed` |
//! | …, dual stack; ipv6 only; some invalid; all invalid addresses | `addresses_of_both_families_and_of_none` |
//! | 2 subsets, 1 exceeding maxEndpointsPerSubset | `a_subset_is_cut_at_the_maximum` |
//! | the five cases about annotations | `annotations_are_mirrored_except_two`, `differences_that_cause_a_write` |
//!
//! | other tests | here |
//! |---|---|
//! | `reconciler_helpers_test.go` `TestRecycleSlices` | `slices::slices_with_obsolete_ports_are_recycled` |
//! | `utils_test.go` `TestNewEndpointSlice` | `slices::a_new_slice` |
//! | `utils_test.go` `TestAddressToEndpoint` | `slices::an_address_as_an_endpoint` |
//! | `metrics/cache_test.go` `TestNumEndpointsAndSlices` | crate `endpoint-informers`, `slices::metrics` |
//! | `endpointslicemirroring_controller_test.go` | [`crate`] |
mod reconcile;
mod slices;
