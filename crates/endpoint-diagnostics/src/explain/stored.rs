//! The stored slices and Endpoints of a Service, by pod.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::well_known::{ENDPOINTS_OVER_CAPACITY, MANAGED_BY};
use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints, ObjectReference};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

use crate::report::{EndpointsReport, Presence, SliceReport};
use crate::snapshot::NamespaceObjects;

/// The stored slices and Endpoints of a Service, and the pods in them.
pub(super) struct Stored<'a> {
    slice_objects: Vec<&'a EndpointSlice>,
    endpoints_object: Option<&'a Endpoints>,
    pub(super) slices: BTreeMap<&'a str, Presence>,
    pub(super) endpoints: BTreeMap<&'a str, Presence>,
}

impl<'a> Stored<'a> {
    pub(super) fn read(objects: &'a NamespaceObjects, service: &str) -> Self {
        let slice_objects: Vec<&EndpointSlice> = objects.slices_of(service).map(|slice| &**slice).collect();
        let endpoints_object = objects.endpoints(service).map(|endpoints| &**endpoints);
        Self {
            slices: in_slices(slice_objects.iter().copied()),
            endpoints: in_endpoints(endpoints_object),
            slice_objects,
            endpoints_object,
        }
    }

    pub(super) fn slice_reports(&self) -> Vec<SliceReport> {
        self.slice_objects.iter().map(|slice| slice_report(slice)).collect()
    }

    pub(super) fn endpoints_report(&self) -> Option<EndpointsReport> {
        self.endpoints_object.map(endpoints_report)
    }
}

/// The pods in some slices, each in the best of its states.
pub(super) fn in_slices<'a>(slices: impl Iterator<Item = &'a EndpointSlice>) -> BTreeMap<&'a str, Presence> {
    let mut pods = BTreeMap::new();
    for endpoint in slices.flat_map(|slice| slice.endpoints.iter().flatten()) {
        if let Some(pod) = endpoint.target_ref.as_ref().and_then(pod_name) {
            note(&mut pods, pod, presence(endpoint));
        }
    }
    pods
}

/// The pods in some Endpoints, each in the best of its states.
pub(super) fn in_endpoints(endpoints: Option<&Endpoints>) -> BTreeMap<&str, Presence> {
    let mut pods = BTreeMap::new();
    for subset in endpoints.into_iter().flat_map(|it| it.subsets.iter().flatten()) {
        let lists = [(&subset.addresses, Presence::Ready), (&subset.not_ready_addresses, Presence::NotReady)];
        for (list, presence) in lists {
            for address in list.iter().flatten() {
                if let Some(pod) = address.target_ref.as_ref().and_then(pod_name) {
                    note(&mut pods, pod, presence);
                }
            }
        }
    }
    pods
}

fn note<'a>(pods: &mut BTreeMap<&'a str, Presence>, pod: &'a str, presence: Presence) {
    let best = pods.entry(pod).or_insert(presence);
    *best = presence.min(*best);
}

fn pod_name(target: &ObjectReference) -> Option<&str> {
    target.name.as_deref().filter(|name| target.kind.as_deref() == Some("Pod") && !name.is_empty())
}

/// The state of one endpoint, as consumers read its conditions: an absent `ready` counts as true.
fn presence(endpoint: &Endpoint) -> Presence {
    let Some(conditions) = &endpoint.conditions else { return Presence::Ready };
    if conditions.ready.unwrap_or(true) {
        Presence::Ready
    } else if conditions.serving == Some(true) && conditions.terminating == Some(true) {
        Presence::Serving
    } else {
        Presence::NotReady
    }
}

fn slice_report(slice: &EndpointSlice) -> SliceReport {
    let label = |key| slice.metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    SliceReport {
        name: slice.metadata.name.clone().unwrap_or_default(),
        address_type: slice.address_type.clone(),
        managed_by: label(MANAGED_BY).unwrap_or_default(),
        ports: slice.ports.iter().flatten().map(port).collect(),
        endpoints: endpoints.len(),
        ready: endpoints.iter().filter(|endpoint| presence(endpoint) == Presence::Ready).count(),
    }
}

fn port(port: &EndpointPort) -> String {
    let name =
        port.name.as_deref().filter(|name| !name.is_empty()).map_or(String::new(), |name| format!("{name}:"));
    let number = port.port.map_or_else(|| "*".to_owned(), |number| number.to_string());
    format!("{name}{number}/{}", port.protocol.as_deref().unwrap_or("TCP"))
}

fn endpoints_report(endpoints: &Endpoints) -> EndpointsReport {
    let subsets = || endpoints.subsets.iter().flatten();
    let distinct = |lists: Vec<&Vec<EndpointAddress>>| {
        lists.into_iter().flatten().map(|address| address.ip.as_str()).collect::<BTreeSet<_>>().len()
    };
    let annotations = endpoints.metadata.annotations.as_ref();
    EndpointsReport {
        addresses: distinct(subsets().filter_map(|subset| subset.addresses.as_ref()).collect()),
        not_ready: distinct(subsets().filter_map(|subset| subset.not_ready_addresses.as_ref()).collect()),
        truncated: annotations.is_some_and(|annotations| annotations.contains_key(ENDPOINTS_OVER_CAPACITY)),
    }
}
