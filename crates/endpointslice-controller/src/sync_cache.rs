//! The slices of one Service that need no write, found without building their endpoints.
//!
//! `plan` decides about every write, and `plan_incremental` needs the endpoints of those slices only that it may write. This
//! module finds the others, which are *up to date*: an encoded slice is so if each of its endpoints is byte for byte what
//! would be written for the pod that it names. That takes a fifth of a microsecond an endpoint and allocates nothing for
//! it, where decoding the slice and building the desired endpoints takes two and thirty allocations.
//!
//! Between syncs a [`SyncCache`] keeps the pods that the last sync saw and the up-to-date slice that has each of them. A slice
//! stays up to date while the cache has the same `Arc` of it and of each of its pods; the next sync compares these pointers,
//! and then the endpoints of those slices that were written since. So a sync costs some tens of
//! nanoseconds a pod, ten of them with the cache locked, and two microseconds for each endpoint of a slice that changes or
//! has just changed.
//!
//! Errors are on one side only: a slice that is not found to be up to date is decoded and planned as before. These rules keep
//! the plan equal:
//!
//! * What the comparison depends on besides pod and slice is the Service and the zones of nodes. A sync cache is of one version
//!   of both, and is dropped if either changes.
//! * An endpoint in two slices belongs to the first by name. Every slice that is read claims the pods that it names, and
//!   slices that claim the same pod are not up to date.
//! * Topology hints, endpoints without the terminating condition, and objects that could not be decoded are left to `plan`
//!   with all endpoints, as are addresses that the API server refuses.
//!
//! The tests compare every plan with that of all endpoints, over random histories.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use endpoint_controllers_common::{ChangedPods, PodChanges, SeenPod, SeenPods};
use endpoint_informers::kinds::CachedSlice;
use endpointslice::desired::{Skipped, desired_from_service_with};
use endpointslice::plan::{MissingEndpoints, UpToDateSlice};
use endpointslice::{
    AddressType, DesiredEndpoints, Node, PlanOptions, Pod, PortSet, Service, SlicePlan, SliceTemplate,
    plan_incremental,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::{DecodeError, endpoint_target_name, split_endpoint_slice};

use crate::comparison::{Comparison, Expected};

/// The pods and the up-to-date slices of one Service.
///
/// Memory: about 90 bytes for each pod, and 200 for each slice.
pub(crate) struct SyncCache {
    service: Arc<Service>,
    /// The changes of zones that are taken into account.
    zones: u64,
    pods: SeenPods<Place>,
    /// The up-to-date slices, and while slices are compared also others, by a number that is never used again.
    known: HashMap<u32, Known>,
    next: u32,
}

/// The slices of a pod's endpoints. Arrays are in the order of address types.
pub(crate) struct Place {
    node: Option<Arc<Node>>,
    /// True if the pod has addresses of a type that the Service has.
    wanted: [bool; 2],
    /// The slice that names the pod. A number that is not known stands for none.
    claims: [u32; 2],
}

struct Known {
    slice: Arc<CachedSlice>,
    address_type: AddressType,
    ports: PortSet,
    endpoints: usize,
    /// True if it has a ready endpoint; only of an up-to-date slice.
    ready: bool,
    up_to_date: bool,
}

const NO_SLICE: u32 = u32::MAX;
const TYPES: [AddressType; 2] = [AddressType::Ipv4, AddressType::Ipv6];

fn position(address_type: AddressType) -> usize {
    match address_type {
        AddressType::Ipv4 => 0,
        AddressType::Ipv6 => 1,
    }
}

impl SyncCache {
    /// A sync cache of nothing. `zones` is the [number of changes](endpoint_informers::cache::State::zone_changes) of zones.
    pub(crate) fn new(service: Arc<Service>, zones: u64) -> Self {
        let (pods, known) = Default::default();
        Self { service, zones, pods, known, next: 0 }
    }

    /// True if nothing has changed but pods and slices.
    pub(crate) fn is_current(&self, service: &Arc<Service>, zones: u64) -> bool {
        let is_same_service = Arc::ptr_eq(&self.service, service);
        let has_numbers = self.next < NO_SLICE / 2;
        is_same_service && has_numbers && self.zones == zones
    }

    /// The Service.
    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// The pods as the last sync saw them.
    pub(crate) fn seen(&self) -> &SeenPods<Place> {
        &self.pods
    }

    /// The pods, in no particular order.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().map(|seen| &*seen.pod)
    }

    /// Applies the changes of pods; `nodes` has those of the new pods. Slices of changed pods are no longer up to date.
    pub(crate) fn update(&mut self, changes: PodChanges, nodes: &[Arc<Node>]) -> ChangedPods {
        let nodes: HashMap<&str, &Arc<Node>> = nodes.iter().map(|node| (&*node.name, node)).collect();
        let types = self.service.address_types();
        let known = &mut self.known;
        self.pods.apply(changes, |before, now| {
            if let Some(before) = before {
                match now {
                    Some(now) if !before.pod.differs_as_endpoint(now) => return Some(before.value),
                    _ => before.value.claims.iter().for_each(|slice| drop(known.remove(slice))),
                }
            }
            let pod = now?;
            let has = |wanted: AddressType| {
                types.contains(&wanted)
                    && !pod.terminal
                    && pod.addresses.iter().any(|address| AddressType::of(*address) == wanted)
            };
            let node = pod.node_name.as_deref().and_then(|name| nodes.get(name));
            Some(Place { node: node.copied().cloned(), wanted: TYPES.map(has), claims: [NO_SLICE; 2] })
        })
    }

    /// Finds the up-to-date slices among the Service's current `slices`, and decodes the others.
    ///
    /// # Errors
    ///
    /// A slice can't be decoded.
    pub(crate) fn settle(
        &mut self,
        slices: &[Arc<CachedSlice>],
        template: &SliceTemplate,
        options: &PlanOptions,
    ) -> Result<Vec<EndpointSlice>, DecodeError> {
        let current: HashSet<*const CachedSlice> = slices.iter().map(Arc::as_ptr).collect();
        self.known.retain(|_, known| current.contains(&Arc::as_ptr(&known.slice)));
        let known = self.addresses();
        let mut comparison = Comparison::new(&options.hints);
        for slice in slices.iter().filter(|slice| !known.contains(&Arc::as_ptr(slice))) {
            self.examine(slice, template, &mut comparison)?;
        }
        self.known.retain(|_, known| known.up_to_date);
        let up_to_date = self.addresses();
        let open = slices.iter().filter(|slice| !up_to_date.contains(&Arc::as_ptr(slice)));
        open.map(|slice| slice.decode()).collect()
    }

    fn addresses(&self) -> HashSet<*const CachedSlice> {
        self.known.values().map(|known| Arc::as_ptr(&known.slice)).collect()
    }

    /// Claims the pods that a slice names, and compares its endpoints with them.
    fn examine(
        &mut self,
        slice: &Arc<CachedSlice>,
        template: &SliceTemplate,
        comparison: &mut Comparison,
    ) -> Result<(), DecodeError> {
        let encoded = slice.encoded.unpack();
        let (head, endpoints) = split_endpoint_slice(&encoded)?;
        let Some(address_type) = AddressType::parse(&head.address_type) else { return Ok(()) };
        let mut up_to_date = comparison.is_possible() && template.is_current(&head) && !endpoints.is_empty();
        let ports = PortSet::new(head.ports.unwrap_or_default());
        let mut ready = false;
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        for endpoint in &endpoints {
            let named = endpoint_target_name(endpoint).and_then(|name| self.pods.find_mut(name));
            let Some(SeenPod { pod, value }) = named else {
                up_to_date = false;
                continue;
            };
            let position = position(address_type);
            // The Service may have lost the address type of the slice.
            up_to_date = up_to_date && value.wanted.get(position) == Some(&true);
            let Some(claim) = value.claims.get_mut(position) else { continue };
            let before = std::mem::replace(claim, number);
            if before == number {
                up_to_date = false;
            } else if let Some(other) = self.known.get_mut(&before) {
                (other.up_to_date, up_to_date) = (false, false);
            }
            let node = value.node.as_deref();
            let expected = Expected { service: &self.service, pod, node, address_type, ports: &ports };
            up_to_date = up_to_date && comparison.is_as_expected(endpoint, &expected);
            ready |= self.service.publish_not_ready_addresses || pod.ready && !pod.is_terminating();
        }
        let (slice, endpoints) = (Arc::clone(slice), endpoints.len());
        self.known.insert(number, Known { slice, address_type, ports, endpoints, ready, up_to_date });
        Ok(())
    }

    /// The plan of all slices and pods, where `open` are the slices that are not up to date; slices whose endpoints are needed
    /// are moved there. Also returns the endpoints that are left out.
    ///
    /// # Errors
    ///
    /// A slice can't be decoded.
    pub(crate) fn plan(
        &mut self,
        open: &mut Vec<EndpointSlice>,
        template: &SliceTemplate,
        options: &PlanOptions,
    ) -> Result<(SlicePlan, Vec<Skipped>), DecodeError> {
        loop {
            let (numbers, up_to_date): (Vec<u32>, Vec<UpToDateSlice<'_>>) = self.up_to_date().unzip();
            let desired = self.desired();
            let mut skipped = desired.skipped().to_vec();
            match plan_incremental(open, &up_to_date, desired, template, options) {
                Ok(plan) => {
                    skipped.retain(|skipped| !plan.keeps(skipped));
                    return Ok((plan, skipped));
                }
                Err(MissingEndpoints(positions)) => {
                    for number in positions.iter().filter_map(|position| numbers.get(*position)) {
                        if let Some(known) = self.known.remove(number) {
                            open.push(known.slice.decode()?);
                        }
                    }
                }
            }
        }
    }

    /// The ports of the up-to-date slices of this address type that have a ready endpoint.
    pub(crate) fn ready_groups(&self, address_type: AddressType) -> impl Iterator<Item = &PortSet> {
        let is_ready = move |known: &&Known| known.ready && known.address_type == address_type;
        self.known.values().filter(is_ready).map(|known| &known.ports)
    }

    /// True if an up-to-date slice of this group has a ready endpoint.
    pub(crate) fn has_ready(&self, address_type: AddressType, ports: &PortSet) -> bool {
        self.ready_groups(address_type).any(|ready| ready == ports)
    }

    fn up_to_date(&self) -> impl Iterator<Item = (u32, UpToDateSlice<'_>)> {
        self.known.iter().map(|(number, known)| {
            let Known { slice, address_type, ports, endpoints, .. } = known;
            let (address_type, endpoints) = (*address_type, *endpoints);
            (*number, UpToDateSlice { name: &slice.name, address_type, ports, endpoints })
        })
    }

    /// The endpoints that are in no up-to-date slice, and the groups of those that are.
    fn desired(&self) -> DesiredEndpoints {
        let mut open: Vec<(&SeenPod<Place>, [bool; 2])> = vec![];
        for seen in self.pods.iter() {
            let up_to_date = seen.value.claims.map(|slice| self.known.contains_key(&slice));
            let mut of_type = seen.value.wanted.into_iter().zip(up_to_date);
            if seen.value.wanted == [false; 2] || of_type.any(|(wanted, up_to_date)| wanted && !up_to_date) {
                open.push((seen, up_to_date));
            }
        }
        open.sort_unstable_by(|(a, _), (b, _)| a.pod.name.cmp(&b.pod.name));
        let nodes = open.iter().filter_map(|(seen, _)| seen.value.node.as_deref());
        let nodes: HashMap<&str, &Node> = nodes.map(|node| (&*node.name, node)).collect();
        let partly = open.iter().filter(|(_, up_to_date)| *up_to_date != [false; 2]);
        let partly: HashMap<&str, [bool; 2]> =
            partly.map(|(seen, up_to_date)| (&*seen.pod.name, *up_to_date)).collect();
        let pods = open.iter().map(|(seen, _)| &*seen.pod);
        let addresses = |pod| addresses_outside(pod, partly.get(&*pod.name));
        let mut desired =
            desired_from_service_with(&self.service, pods, |name| nodes.get(name).copied(), addresses);
        for address_type in self.service.address_types() {
            let mut last = None;
            for known in self.known.values() {
                if last != Some(&known.ports) {
                    desired.group(address_type, known.ports.clone());
                }
                last = Some(&known.ports);
            }
        }
        desired
    }
}

/// The addresses of a pod, without those of the types that are up to date.
fn addresses_outside<'a>(pod: &'a Pod, up_to_date: Option<&[bool; 2]>) -> Cow<'a, [IpAddr]> {
    let Some(up_to_date) = up_to_date else { return Cow::Borrowed(&pod.addresses) };
    let is_open = |address: &IpAddr| up_to_date.get(position(AddressType::of(*address))) == Some(&false);
    Cow::Owned(pod.addresses.iter().copied().filter(is_open).collect())
}

#[cfg(test)]
mod tests;
