//! Endpoints with addresses that the API server refuses in a write, but accepts in slices that carry them already.

use k8s_openapi::api::discovery::v1::Endpoint;

use super::conditions::ready_only;
use super::port_set::PortSet;

/// An endpoint that may stay in a slice whose endpoints don't change.
#[derive(Clone, Debug)]
pub(crate) struct Tolerated {
    pub(crate) ports: PortSet,
    /// The endpoint with all its addresses.
    pub(crate) endpoint: Endpoint,
    /// The endpoint with the addresses that the API server accepts, if any; desired unless `endpoint` stays.
    pub(crate) allowed: Option<Endpoint>,
}

impl Tolerated {
    /// The same with `ready` as the only condition; none if the endpoint is left out then.
    pub(super) fn ready_only(self) -> Option<Self> {
        let Self { ports, endpoint, allowed } = self;
        Some(Self { ports, endpoint: ready_only(endpoint)?, allowed: allowed.and_then(ready_only) })
    }
}
