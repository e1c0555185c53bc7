//! Writes of EndpointSlices.

use std::collections::BTreeMap;

use endpoint_diagnostics::picture::newest_write;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::endpoints::{Members, write};
use super::event::{Event, Kind};

/// The event of a write; none if nothing that consumers read has changed.
pub(super) fn event(
    name: &str,
    before: Option<&EndpointSlice>,
    after: Option<&EndpointSlice>,
) -> Option<Event> {
    let members = |slice: Option<&EndpointSlice>| -> Members {
        let endpoints = slice.into_iter().flat_map(|slice| slice.endpoints.iter().flatten());
        endpoints.map(|endpoint| (key(endpoint), state(endpoint))).collect::<BTreeMap<_, _>>()
    };
    let ports_differ = matches!((before, after), (Some(before), Some(after)) if before.ports != after.ports);
    let is = [before.is_some(), after.is_some()];
    let (text, tone) = write(is, &members(before), &members(after), ports_differ)?;
    let by = after.and_then(|slice| newest_write(&slice.metadata)).and_then(|write| write.manager.as_deref());
    Some(Event::new(Kind::Slice, name, text, tone).by(by))
}

fn key(endpoint: &Endpoint) -> String {
    let pod = endpoint.target_ref.as_ref().and_then(|target| target.name.clone());
    pod.unwrap_or_else(|| endpoint.addresses.join(", "))
}

/// The readiness of the endpoint, and all else that consumers read.
fn state(endpoint: &Endpoint) -> (bool, String) {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let hints = endpoint.hints.clone().unwrap_or_default();
    let zones = hints.for_zones.into_iter().flatten().map(|zone| zone.name);
    let nodes = hints.for_nodes.into_iter().flatten().map(|node| node.name);
    let hints: Vec<String> = zones.chain(nodes).collect();
    let other = (conditions.serving, conditions.terminating, &endpoint.addresses, &endpoint.zone, hints);
    (conditions.ready.unwrap_or(true), format!("{other:?}"))
}
