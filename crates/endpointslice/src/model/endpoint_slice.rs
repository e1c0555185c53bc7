//! The endpoints of a slice, in any version of Kubernetes.
//!
//! The field `endpoints` of [`EndpointSlice`] is optional in `k8s-openapi` since Kubernetes 1.36, and was required before;
//! absent and empty always meant the same. It is the one difference between the versions in what this crate uses.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

/// The endpoints of a slice; none if it has no such field.
pub fn endpoints_of(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.read()
}

/// The name of a slice; empty if it has none.
pub(crate) fn name_of(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

/// The endpoints of a slice, to be changed.
pub(crate) fn endpoints_of_mut(slice: &mut EndpointSlice) -> &mut [Endpoint] {
    slice.endpoints.change()
}

/// The endpoints of a slice, to be added or removed.
pub(crate) fn endpoint_list(slice: &mut EndpointSlice) -> &mut Vec<Endpoint> {
    slice.endpoints.list()
}

/// The type of the field, whichever it is.
trait Field {
    fn read(&self) -> &[Endpoint];
    fn change(&mut self) -> &mut [Endpoint];
    fn list(&mut self) -> &mut Vec<Endpoint>;
}

impl Field for Option<Vec<Endpoint>> {
    fn read(&self) -> &[Endpoint] {
        self.as_deref().unwrap_or_default()
    }

    fn change(&mut self) -> &mut [Endpoint] {
        self.as_deref_mut().unwrap_or_default()
    }

    fn list(&mut self) -> &mut Vec<Endpoint> {
        self.get_or_insert_default()
    }
}

impl Field for Vec<Endpoint> {
    fn read(&self) -> &[Endpoint] {
        self
    }

    fn change(&mut self) -> &mut [Endpoint] {
        self
    }

    fn list(&mut self) -> &mut Vec<Endpoint> {
        self
    }
}
