//! The informers: one for each kind that an enabled controller needs.

use endpoint_informers::kinds::{CachedEndpoints, CachedSlice, DelegatedService};
use endpoint_informers::list_watch::Informers;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};

use crate::controllers::Controller::{self, EndpointSlice, EndpointSliceMirroring, Endpoints};

/// Starts the informers of these controllers. With `delegation`, Services that carry the label
/// [`ENDPOINT_CONTROLLER_NAME`] belong to other controllers.
pub(crate) fn start(watches: &mut Informers, controllers: &[Controller], delegation: bool) {
    let needed_by = |users: &[Controller]| users.iter().any(|user| controllers.contains(user));
    let services = watches.of::<Service>();
    if delegation {
        watches.start(services.with_label_selector(&format!("!{ENDPOINT_CONTROLLER_NAME}")));
    } else {
        watches.start(services);
    }
    // The mirroring controller removes the slices of a Service that is not in the cache, deleted or delegated alike.
    if delegation && needed_by(&[Endpoints, EndpointSlice]) {
        let delegated = watches.of::<DelegatedService>();
        watches.start(delegated.with_label_selector(ENDPOINT_CONTROLLER_NAME));
    }
    if needed_by(&[EndpointSlice]) {
        watches.start(watches.of::<Node>());
    }
    if needed_by(&[EndpointSlice, EndpointSliceMirroring]) {
        watches.start(watches.of::<CachedSlice>());
    }
    if needed_by(&[Endpoints, EndpointSliceMirroring]) {
        watches.start(watches.of::<CachedEndpoints>());
    }
    if needed_by(&[Endpoints, EndpointSlice]) {
        watches.start(watches.of::<Pod>());
    }
}
