//! The addresses that a Service's slices publish, and a check that there was always one.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use random_operations::{MANAGED_BY, SERVICE_NAME};
use tests::observe::View;

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

/// The slices of one Service, followed by a watch.
pub(crate) struct Published {
    service: &'static str,
    slices: BTreeMap<String, EndpointSlice>,
    watching: bool,
    gaps: Vec<String>,
}

impl Published {
    pub(crate) fn of(service: &'static str) -> Self {
        Self { service, slices: BTreeMap::new(), watching: false, gaps: Vec::new() }
    }

    /// Requires from now on that each family always has a ready endpoint in some slice.
    pub(crate) fn expect_no_gap(&mut self) {
        self.watching = true;
        self.look("the beginning");
    }

    /// The moments at which a family had no ready endpoint.
    pub(crate) fn gaps(&self) -> Vec<String> {
        self.gaps.clone()
    }

    /// The addresses of ready endpoints, sorted, by the manager of the slice. A manager whose slices have no addresses
    /// is included.
    pub(crate) fn by_manager(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for slice in self.slices.values() {
            let manager = slice.labels().get(MANAGED_BY).cloned().unwrap_or_default();
            found.entry(manager).or_default().extend(ready(slice));
        }
        for addresses in found.values_mut() {
            addresses.sort();
        }
        found
    }

    /// The values of a label of the slices of a manager.
    pub(crate) fn labels(&self, manager: &str, label: &str) -> BTreeSet<Option<String>> {
        let labels = self.slices.values().map(ResourceExt::labels);
        let of_manager = labels.filter(|labels| labels.get(MANAGED_BY).is_some_and(|it| it == manager));
        of_manager.map(|labels| labels.get(label).cloned()).collect()
    }

    fn look(&mut self, when: &str) {
        for family in FAMILIES {
            let mut of_family = self.slices.values().filter(|slice| slice.address_type == family);
            if self.watching && of_family.all(|slice| ready(slice).is_empty()) {
                self.gaps.push(format!("no ready {family} endpoint after {when}"));
            }
        }
    }

    fn is_of_service(&self, slice: &EndpointSlice) -> bool {
        slice.labels().get(SERVICE_NAME).is_some_and(|name| name == self.service)
    }
}

fn ready(slice: &EndpointSlice) -> Vec<String> {
    let endpoints = slice.endpoints.iter().flatten();
    let ready =
        endpoints.filter(|endpoint| endpoint.conditions.as_ref().is_some_and(|it| it.ready == Some(true)));
    ready.flat_map(|endpoint| endpoint.addresses.clone()).collect()
}

impl View for Published {
    fn present(&mut self, slice: EndpointSlice) {
        if self.is_of_service(&slice) {
            let when = format!("{} became {:?}", slice.name_any(), ready(&slice));
            self.slices.insert(slice.name_any(), slice);
            self.look(&when);
        }
    }

    fn absent(&mut self, slice: &EndpointSlice) {
        if self.slices.remove(&slice.name_any()).is_some() {
            self.look(&format!("{} was deleted", slice.name_any()));
        }
    }
}

/// The addresses with these prefixes that end with these numbers, sorted.
pub(crate) fn addresses(ipv4: &str, ipv6: &str, numbers: &[u16]) -> Vec<String> {
    let both = numbers.iter().flat_map(|number| [format!("{ipv4}{number}"), format!("{ipv6}{number:x}")]);
    let mut addresses: Vec<String> = both.collect();
    addresses.sort();
    addresses
}
