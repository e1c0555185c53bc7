//! The subset of one Service, kept between syncs so that a sync costs what changed.
//!
//! The pods of most Services have the same ports, so that their Endpoints are one subset: the addresses in order of their
//! text, ready ones and others. A [`SyncCache`] keeps the pods in this order. A sync puts the changed pods into their places,
//! looks at the readiness of each, and compares the addresses that fit with the stored object, byte for byte: a tenth of a
//! microsecond for each, without an allocation. Addresses are built only if the object is written.
//!
//! A stored object that differs need not differ in content: another division into subsets, or another order, is the same
//! content, which [`plan`](crate::plan()) finds out by a repack. That cannot be if the object is, byte for byte, what the
//! last sync wanted, because that was canonical. So a sync first compares a stored object that it hasn't seen with what was
//! wanted before, and only if it is something else, all addresses are built and planned as before.
//!
//! Services with several subsets, with addresses that the API server refuses, and with pods that share address and uid are
//! always planned as before.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use endpoint_controllers_common::{ChangedPods, PodChanges, SeenPods};
use endpoint_informers::kinds::{CachedEndpoints, SelectedPods};
use endpointslice::desired::published_hostname;
use endpointslice::model::{NamedPort, append_address, is_allowed_in_slices};
use endpointslice::{Pod, Service, Urgency};
use k8s_openapi::api::core::v1::{EndpointPort, Endpoints};
use kube_protobuf::{DecodeError, PodAddress, SubsetView, split_endpoints_object};

use crate::desired::{Unready, address_in_family, desired_subsets, is_published};
use crate::plan::{Plan, has_current_metadata, write};
use crate::truncate::CAPACITY;

/// The pods of one Service, and those with an address in their order.
///
/// Memory: about 65 bytes for each pod.
pub(crate) struct SyncCache {
    service: Arc<Service>,
    unready: Unready,
    pods: SeenPods<()>,
    /// The pods with an address, by the text of the address, and of the uid.
    listed: Vec<Arc<Pod>>,
    /// The ports of all pods that are listed.
    ports: Option<Vec<EndpointPort>>,
    /// Lists of container ports, and whether pods with them have these ports. A pod without any is left out.
    container_ports: Vec<(Arc<[NamedPort]>, bool)>,
    /// A stored object that is canonical: one subset, in order.
    canonical: Option<Arc<CachedEndpoints>>,
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    encoded: Vec<u8>,
    ip: String,
    uid: String,
}

/// The Service has not one subset, or the content of the stored object must be found out in another way: plan by all pods.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NeedsAll;

/// The difference between the stored object and what is wanted.
#[derive(Debug)]
pub(crate) enum Difference {
    /// The stored object is in sync.
    Nothing,
    /// The object must be written. If there is one, this is its metadata.
    Write(Option<Box<Endpoints>>, Urgency),
}

/// The number of changed pods for which the list is sorted anew instead of searched.
const MANY: usize = 64;

/// The most lists of container ports that are kept. The pods of a Service may have any number of them.
const MAX_KNOWN_PORTS: usize = 64;

impl SyncCache {
    /// A sync cache of nothing.
    pub(crate) fn new(service: Arc<Service>, unready: Unready) -> Self {
        let (pods, listed, ports, container_ports, canonical, buffers) = Default::default();
        Self { service, unready, pods, listed, ports, container_ports, canonical, buffers }
    }

    /// True if nothing has changed but pods and the stored object.
    pub(crate) fn is_current(&self, service: &Arc<Service>) -> bool {
        Arc::ptr_eq(&self.service, service)
    }

    /// The pods, in no particular order.
    pub(crate) fn seen(&self) -> &SeenPods<()> {
        &self.pods
    }

    /// The pods, sorted by name.
    pub(crate) fn sorted_pods(&self) -> Vec<Arc<Pod>> {
        self.pods.iter().map(|seen| Arc::clone(&seen.pod)).collect::<SelectedPods>().sorted()
    }

    /// Compares a stored object that is new with what was wanted before the next [`Self::update`]. `encoded` is its content.
    pub(crate) fn observe(&mut self, stored: &Arc<CachedEndpoints>, encoded: &[u8]) {
        if self.canonical.as_ref().is_some_and(|known| Arc::ptr_eq(known, stored)) || self.pods.is_empty() {
            return;
        }
        self.canonical = None;
        if split_endpoints_object(encoded).is_ok_and(|(_, subsets)| self.has_content(&subsets)) {
            self.canonical = Some(Arc::clone(stored));
        }
    }

    /// Applies the changes of pods.
    ///
    /// # Errors
    ///
    /// The Service needs several subsets. The sync cache may not be used for plans any more then.
    pub(crate) fn update(&mut self, changes: PodChanges) -> (ChangedPods, Result<(), NeedsAll>) {
        let changed = self.pods.apply(changes, |_, now| now.map(|_| ()));
        let listed = self.list(&changed.gone, &changed.new);
        (changed, listed)
    }

    fn list(&mut self, gone: &[Arc<Pod>], new: &[Arc<Pod>]) -> Result<(), NeedsAll> {
        let mut added = vec![];
        for pod in new {
            if self.is_listed(pod)? {
                added.push(Arc::clone(pod));
            }
        }
        if gone.len() + added.len() > MANY {
            let gone: HashSet<*const Pod> = gone.iter().map(Arc::as_ptr).collect();
            self.listed.retain(|pod| !gone.contains(&Arc::as_ptr(pod)));
            self.listed.append(&mut added);
            let service = &self.service;
            self.listed.sort_by_cached_key(|pod| key(service, pod));
            let unique = |pair: &[Arc<Pod>]| {
                let [a, b] = pair else { return true };
                a.uid != b.uid || address_in_family(service, a) != address_in_family(service, b)
            };
            return if self.listed.windows(2).all(unique) { Ok(()) } else { Err(NeedsAll) };
        }
        for pod in gone {
            if let Ok(position) = self.position(pod)
                && self.listed.get(position).is_some_and(|found| Arc::ptr_eq(found, pod))
            {
                self.listed.remove(position);
            }
        }
        for pod in added {
            match self.position(&pod) {
                Ok(_) => return Err(NeedsAll),
                Err(position) => self.listed.insert(position, pod),
            }
        }
        Ok(())
    }

    fn position(&self, pod: &Pod) -> Result<usize, usize> {
        self.listed.binary_search_by(|other| compare(&self.service, other, pod))
    }

    /// True if the pod has an address in the subset.
    fn is_listed(&mut self, pod: &Arc<Pod>) -> Result<bool, NeedsAll> {
        if !is_published(pod, self.unready) {
            return Ok(false);
        }
        let Some(address) = address_in_family(&self.service, pod) else { return Ok(false) };
        if !is_allowed_in_slices(address) {
            return Err(NeedsAll);
        }
        let known = self.container_ports.iter().find(|(ports, _)| Arc::ptr_eq(ports, &pod.ports));
        if let Some((_, has_ports)) = known {
            return Ok(*has_ports);
        }
        let has_ports = match desired_subsets(&self.service, [&**pod], self.unready).as_slice() {
            [] => false,
            [subset] => {
                let ports = subset.ports.clone().unwrap_or_default();
                // Ports without a number are not written, but divide subsets all the same.
                if ports.len() != self.service.ports.len()
                    || self.ports.as_ref().is_some_and(|it| *it != ports)
                {
                    return Err(NeedsAll);
                }
                self.ports = Some(ports);
                true
            }
            _ => return Err(NeedsAll),
        };
        if self.container_ports.len() >= MAX_KNOWN_PORTS {
            self.container_ports.clear();
        }
        self.container_ports.push((Arc::clone(&pod.ports), has_ports));
        Ok(has_ports)
    }

    /// The addresses that fit, ready ones and others (`truncate` for one subset).
    fn fitting(&self) -> [Vec<&Arc<Pod>>; 2] {
        let (mut ready, mut others): (Vec<_>, Vec<_>) =
            self.listed.iter().partition(|pod| self.is_ready(pod));
        ready.truncate(CAPACITY);
        others.truncate(CAPACITY - ready.len());
        [ready, others]
    }

    fn is_ready(&self, pod: &Pod) -> bool {
        self.unready == Unready::Tolerated || pod.ready
    }

    /// True if some addresses don't fit.
    fn is_truncated(&self) -> bool {
        self.listed.len() > CAPACITY
    }

    /// True if these subsets are, byte for byte, the one that is wanted.
    fn has_content(&mut self, subsets: &[SubsetView<'_>]) -> bool {
        let mut buffers = std::mem::take(&mut self.buffers);
        let lists = self.fitting();
        let same = match subsets {
            [] => self.listed.is_empty(),
            [subset] => {
                let SubsetView { addresses, not_ready_addresses, ports } = subset;
                let stored = [addresses, not_ready_addresses];
                !self.listed.is_empty()
                    && self.ports.as_ref() == Some(ports)
                    && lists.iter().zip(stored).all(|(pods, stored)| {
                        let mut pairs = pods.iter().zip(stored);
                        pods.len() == stored.len()
                            && pairs.all(|(pod, stored)| buffers.is_address_of(&self.service, pod, stored))
                    })
            }
            _ => false,
        };
        self.buffers = buffers;
        same
    }

    /// Compares the `stored` object and its content with what is wanted.
    ///
    /// # Errors
    ///
    /// The difference is not known to be one in content.
    pub(crate) fn compare(
        &mut self,
        stored: Option<(&Arc<CachedEndpoints>, &[u8])>,
    ) -> Result<Difference, NeedsAll> {
        let Some((stored, encoded)) = stored else { return Ok(Difference::Write(None, self.urgency(&[])?)) };
        let (head, subsets) = split_endpoints_object(encoded)?;
        let urgency = if self.has_content(&subsets) {
            self.canonical = Some(Arc::clone(stored));
            if has_current_metadata(&head, &self.service, self.is_truncated()) {
                return Ok(Difference::Nothing);
            }
            Urgency::Metadata
        } else if self.canonical.as_ref().is_some_and(|canonical| Arc::ptr_eq(canonical, stored)) {
            self.urgency(&subsets)?
        } else {
            return Err(NeedsAll);
        };
        Ok(Difference::Write(Some(Box::new(head)), urgency))
    }

    /// The write of what is wanted; `head` has the metadata of the stored object.
    pub(crate) fn write(&self, head: Option<&Endpoints>, trigger_time: Option<String>) -> Plan {
        let lists = self.fitting();
        let pods = lists.iter().flatten().map(|pod| &***pod);
        let subsets = desired_subsets(&self.service, pods, self.unready);
        write(head, &self.service, subsets, self.is_truncated(), trigger_time)
    }
}

impl Buffers {
    /// True if `encoded` is the address of this pod, as `desired_subsets` describes it.
    fn is_address_of(&mut self, service: &Service, pod: &Pod, encoded: &[u8]) -> bool {
        let Some(address) = address_in_family(service, pod) else { return false };
        self.ip.clear();
        self.uid.clear();
        append_address(&mut self.ip, address);
        if write!(self.uid, "{}", pod.uid).is_err() {
            return false;
        }
        let address = PodAddress {
            ip: &self.ip,
            hostname: published_hostname(service, pod).unwrap_or_default(),
            node_name: pod.node_name.as_deref().unwrap_or_default(),
            namespace: &pod.namespace,
            name: &pod.name,
            uid: &self.uid,
        };
        address.is_encoded_as(encoded, &mut self.encoded)
    }
}

impl From<DecodeError> for NeedsAll {
    fn from(_: DecodeError) -> Self {
        Self
    }
}

/// The text by which addresses are ordered.
fn key(service: &Service, pod: &Pod) -> (String, String) {
    let address = address_in_family(service, pod).map(|address| address.to_string());
    (address.unwrap_or_default(), pod.uid.to_string())
}

/// Compares two pods by [`key`]. Most pods differ in their address, and most addresses are IPv4: no text is made of them.
fn compare(service: &Service, a: &Pod, b: &Pod) -> Ordering {
    match (address_in_family(service, a), address_in_family(service, b)) {
        (Some(IpAddr::V4(first)), Some(IpAddr::V4(second))) => {
            let addresses = first.octets().map(digits).cmp(&second.octets().map(digits));
            addresses.then_with(|| a.uid.to_string().cmp(&b.uid.to_string()))
        }
        _ => key(service, a).cmp(&key(service, b)),
    }
}

/// Orders octets as their decimal text does, where what follows, a dot or the end, is less than any digit.
fn digits(octet: u8) -> [u8; 3] {
    match octet {
        0..=9 => [octet + 1, 0, 0],
        10..=99 => [octet / 10 + 1, octet % 10 + 1, 0],
        _ => [octet / 100 + 1, octet / 10 % 10 + 1, octet % 10 + 1],
    }
}

mod urgency;

#[cfg(test)]
mod tests;
