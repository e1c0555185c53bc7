//! The cases of upstream's unit tests of the reconciler, told again with our own words and data.
//!
//! Upstream is `pkg/controller/endpointslicemirroring` of Kubernetes 1.36. Every case here also asserts that a second
//! reconcile writes nothing, and that each endpoint is in one slice of its family and ports.
//!
//! | `reconciler_test.go` `TestReconcile`: Endpoints with … | here, in `reconcile` |
//! |---|---|
//! | no subsets; no addresses | `without_addresses_there_are_no_slices` |
//! | 1 subset, port, and address | `a_slice_for_each_set_of_ports` |
//! | …, pending deletion | `endpoints_being_deleted_get_no_new_slices` |
//! | 2 subset, different port and address; different port and same address; different address and same port | `a_slice_for_each_set_of_ports` |
//! | existing slice with same fields; … but different OwnerReferences; with an additional annotation; but the label | `what_causes_a_write` |
//! | 2 ports and 2 addresses; 2 not ready addresses; 2 ready and 2 not ready addresses | `readiness_is_mirrored` |
//! | 2 subsets, multiple ports and addresses | `a_slice_for_each_set_of_ports` |
//! | …, existing empty slice; with some addresses; identical to subset | `existing_slices_are_completed` |
//! | …, dual stack; ipv6 only; some invalid; all invalid addresses | `addresses_of_both_families_and_of_none` |
//! | 2 subsets, 1 exceeding maxEndpointsPerSubset | `a_subset_is_cut_at_the_maximum` |
//! | the five cases about annotations | `annotations_are_mirrored_except_two`, `what_causes_a_write` |
//!
//! | other tests | here |
//! |---|---|
//! | `reconciler_helpers_test.go` `TestRecycleSlices` | `slices::what_is_recycled` |
//! | `utils_test.go` `TestNewEndpointSlice` | `slices::a_new_slice` |
//! | `utils_test.go` `TestAddressToEndpoint` | `slices::an_address_as_an_endpoint` |
//! | `metrics/cache_test.go` `TestNumEndpointsAndSlices` | `controller-runtime` `slice_metrics` |
//! | `endpointslicemirroring_controller_test.go` | [`crate`] |
mod reconcile;
mod slices;
