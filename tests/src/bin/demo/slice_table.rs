//! The slices as the API server has sent them.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};
use kube::ResourceExt;
use tests::observe::View;

/// All slices, by name.
#[derive(Debug, Default)]
pub(crate) struct SliceTable {
    slices: BTreeMap<String, EndpointSlice>,
}

impl View for SliceTable {
    fn present(&mut self, slice: EndpointSlice) {
        self.slices.insert(slice.name_any(), slice);
    }

    fn absent(&mut self, slice: &EndpointSlice) {
        self.slices.remove(&slice.name_any());
    }
}

/// The number of endpoints by condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) all: usize,
    pub(crate) ready: usize,
    pub(crate) serving: usize,
    pub(crate) terminating: usize,
}

impl Counts {
    pub(crate) fn of<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> Self {
        let mut counts = Self::default();
        for endpoint in endpoints {
            let is = |condition: fn(&EndpointConditions) -> Option<bool>| {
                usize::from(endpoint.conditions.as_ref().and_then(condition) == Some(true))
            };
            counts.all += 1;
            counts.ready += is(|conditions| conditions.ready);
            counts.serving += is(|conditions| conditions.serving);
            counts.terminating += is(|conditions| conditions.terminating);
        }
        counts
    }
}

impl SliceTable {
    /// The slices in display order.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &EndpointSlice> {
        let mut slices: Vec<_> = self.slices.values().collect();
        let size = |slice: &EndpointSlice| slice.endpoints.iter().flatten().count();
        slices.sort_by_key(|slice| {
            let fullest_first = std::cmp::Reverse(size(slice));
            (service(slice).to_owned(), slice.address_type.clone(), fullest_first, slice.name_any())
        });
        slices.into_iter()
    }

    /// The slices of a Service.
    pub(crate) fn slices_of(&self, name: &str) -> Vec<&EndpointSlice> {
        self.slices().filter(|slice| service(slice) == name).collect()
    }

    /// The endpoints of a Service, of all families.
    pub(crate) fn counts(&self, name: &str) -> Counts {
        Counts::of(self.slices_of(name).into_iter().flat_map(|slice| slice.endpoints.iter().flatten()))
    }

    /// True if a pod is a ready endpoint in each family of its Service.
    pub(crate) fn is_ready(&self, name: &str, pod: &str) -> bool {
        let slices = self.slices_of(name);
        !slices.is_empty()
            && slices.iter().all(|slice| {
                slice.endpoints.iter().flatten().any(|endpoint| {
                    let target = endpoint.target_ref.as_ref().and_then(|target| target.name.as_deref());
                    target == Some(pod) && Counts::of([endpoint]).ready == 1
                })
            })
    }
}

/// The Service of a slice.
pub(crate) fn service(slice: &EndpointSlice) -> &str {
    slice.labels().get("kubernetes.io/service-name").map_or("", String::as_str)
}

/// True if the slice was made from Endpoints, not from pods.
pub(crate) fn is_mirrored(slice: &EndpointSlice) -> bool {
    let manager = slice.labels().get("endpointslice.kubernetes.io/managed-by");
    manager.is_some_and(|manager| manager == "endpointslicemirroring-controller.k8s.io")
}
