//! EndpointSlices: `pkg/registry/discovery/endpointslice`.

use super::strategy::Strategy;

/// The rules of EndpointSlices.
pub(super) struct EndpointSlice;

impl Strategy for EndpointSlice {}
