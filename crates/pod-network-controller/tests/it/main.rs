//! The controller on an API server in memory, with a clock that only advances when there is nothing to do.
//!
//! The public sketch of a controller for ResourceClaims (`LionelJouin/multi-network-api`, at 914d2ef) fails each of these:
//!
//! | Scenario | Test |
//! |---|---|
//! | IPv6, dual stack | `both_families_are_published_with_zones` |
//! | named ports | `named_ports_are_those_of_the_pods` |
//! | over 1,000 endpoints, over 100 in a slice | `more_than_a_thousand_endpoints_fill_slices_of_a_hundred` |
//! | a pod or a device that is not ready | [`random`], `a_device_is_ready_unless_its_condition_is_not_true` |
//! | a pod that is being deleted, or has ended | [`random`] |
//! | host names of a headless Service | `a_headless_service_publishes_host_names` |
//! | zones and `trafficDistribution` | `traffic_distribution_sets_hints` |
//! | a claim that pods share | [`random`] |
//! | a claim that was another pod's, of the same name | [`random`] |
//! | an address without a prefix length | `addresses_are_read_in_every_form` |
//! | a pod of another namespace with the same labels | `pods_of_another_namespace_are_not_published` |
//! | a claim whose devices or reservation are gone | [`random`] |

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking; objects are made to be given away"
)]

mod claims;
mod network_status;
mod random;
mod services;
mod signals;
mod size;
mod support;
