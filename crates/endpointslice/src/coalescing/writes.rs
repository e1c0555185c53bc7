//! The writes of a plan, each urgent or not.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::diff::Diff;
use super::rules::Rules;
use crate::desired::{PortSet, is_ready};
use crate::model::{AddressType, Pod, endpoints_of, name_of, parse_ip};
use crate::plan::{AddressTypePlan, SlicePlan};

/// A write of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWrite {
    /// The address type of the slice.
    pub address_type: AddressType,
    /// The list of the plan that has the write.
    pub operation: Operation,
    /// The position in that list.
    pub position: usize,
    /// True if the write must be made at once.
    pub urgent: bool,
    /// The endpoints whose change could wait.
    pub soft: Vec<EndpointKey>,
    /// The ports of the slice.
    pub(super) ports: PortSet,
    pub(super) added: usize,
    pub(super) updated: usize,
    pub(super) removed: usize,
}

/// The lists of an [`AddressTypePlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `create`.
    Create,
    /// `update`.
    Update,
    /// `delete`.
    Delete,
}

/// An endpoint of a Service, across its slices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointKey {
    /// The address type.
    pub address_type: AddressType,
    /// The addresses, sorted.
    pub addresses: Vec<String>,
    /// The name of the pod.
    pub pod: String,
}

impl EndpointKey {
    /// The key of an endpoint that stands for a pod.
    fn new(address_type: AddressType, endpoint: &Endpoint) -> Option<Self> {
        let pod = endpoint.target_ref.as_ref()?.name.clone()?;
        let mut addresses = endpoint.addresses.clone();
        addresses.sort_unstable();
        (!addresses.is_empty()).then_some(Self { address_type, addresses, pod })
    }
}

/// Finds the writes of a plan that may wait, by the [rules](super) for the Service. Returns all writes of its address types.
///
/// `stored` has the slices that the plan was made from; slices that were left out as
/// [up to date](crate::plan::UpToDateSlice) may be absent, and `is_ready_elsewhere` then says of a group whether one of them
/// has a ready endpoint. `pods` are all pods of the Service.
///
/// Cost: a hash of each endpoint of the slices that are written; if one of them may wait, also of each endpoint in `stored`,
/// and a pass over the pods.
pub fn planned_writes<'a, S: Borrow<EndpointSlice>>(
    plan: &SlicePlan,
    stored: &[S],
    rules: Rules,
    is_ready_elsewhere: impl Fn(AddressType, &PortSet) -> bool,
    pods: impl IntoIterator<Item = &'a Pod>,
) -> Vec<PlannedWrite> {
    let named: HashMap<&str, &EndpointSlice, RandomState> =
        stored.iter().map(|slice| (name_of(slice.borrow()), slice.borrow())).collect();
    let mut writes: Vec<PlannedWrite> =
        plan.types.iter().flat_map(|plan| writes_of_type(plan, &named, rules)).collect();
    if writes.iter().all(|write| write.urgent) {
        return writes;
    }
    let ready = ready_groups(plan, &named);
    for write in writes.iter_mut().filter(|write| !write.urgent) {
        let group = (write.address_type, write.ports.clone());
        write.urgent = !ready.contains(&group) && !is_ready_elsewhere(group.0, &group.1);
    }
    let mut addresses = Addresses::of(&writes);
    addresses.look_for_slices(plan, &named);
    let has_gates = addresses.look_for_pods(pods);
    let is_shared = |write: &PlannedWrite| write.soft.iter().any(|key| addresses.is_shared(key));
    let urgent: Vec<bool> =
        writes.iter().map(|write| write.urgent || has_gates || is_shared(write)).collect();
    for (write, urgent) in writes.iter_mut().zip(urgent) {
        write.urgent = urgent;
    }
    writes
}

fn writes_of_type<'a>(
    plan: &'a AddressTypePlan,
    stored: &HashMap<&str, &'a EndpointSlice, RandomState>,
    rules: Rules,
) -> Vec<PlannedWrite> {
    let write = |operation, (position, slice): (usize, &'a EndpointSlice)| {
        let found = stored.get(name_of(slice)).copied();
        let diff = match operation {
            Operation::Create => Diff::between(None, Some(slice), rules),
            Operation::Update => Diff::between(found, Some(slice), rules),
            Operation::Delete => Diff::between(Some(slice), None, rules),
        };
        let is_known = operation == Operation::Create || found.is_some();
        let keys: Option<Vec<EndpointKey>> =
            diff.soft.iter().map(|endpoint| EndpointKey::new(plan.address_type, endpoint)).collect();
        PlannedWrite {
            address_type: plan.address_type,
            operation,
            position,
            urgent: diff.urgent || rules.all_urgent || !is_known || keys.is_none(),
            soft: keys.unwrap_or_default(),
            ports: PortSet::of(slice),
            added: diff.added,
            updated: diff.updated,
            removed: diff.removed,
        }
    };
    let create = plan.create.iter().enumerate().map(|slice| write(Operation::Create, slice));
    let update = plan.update.iter().enumerate().map(|slice| write(Operation::Update, slice));
    let delete = plan.delete.iter().enumerate().map(|slice| write(Operation::Delete, slice));
    create.chain(update).chain(delete).collect()
}

/// The groups that have a ready endpoint after the plan. A write that waits changes no ready endpoint.
fn ready_groups(
    plan: &SlicePlan,
    stored: &HashMap<&str, &EndpointSlice, RandomState>,
) -> BTreeSet<(AddressType, PortSet)> {
    let written = || plan.types.iter().flat_map(|plan| plan.create.iter().chain(&plan.update));
    let deleted = plan.types.iter().flat_map(|plan| &plan.delete).chain(&plan.delete_if_unchanged);
    let gone: HashSet<&str, RandomState> = written().chain(deleted).map(name_of).collect();
    let staying = stored.iter().filter(|(name, _)| !gone.contains(*name)).map(|(_, slice)| *slice);
    let ready = written().chain(staying).filter(|slice| endpoints_of(slice).iter().any(is_ready));
    ready.filter_map(|slice| Some((AddressType::parse(&slice.address_type)?, PortSet::of(slice)))).collect()
}

/// The places of the addresses that soft changes have.
struct Addresses<'a> {
    of_slices: HashMap<(AddressType, &'a str), Place<'a>, RandomState>,
    of_pods: HashMap<IpAddr, (&'a str, bool), RandomState>,
}

#[derive(Default)]
struct Place<'a> {
    /// The pod and the slice that have the address; a slice that is created has its position instead of a name.
    found: Option<(&'a str, &'a str, usize)>,
    shared: bool,
}

impl<'a> Addresses<'a> {
    fn of(writes: &'a [PlannedWrite]) -> Self {
        let keys = || writes.iter().filter(|write| !write.urgent).flat_map(|write| &write.soft);
        let addresses =
            || keys().flat_map(|key| key.addresses.iter().map(move |address| (key, address.as_str())));
        let of_slices =
            addresses().map(|(key, address)| ((key.address_type, address), Place::default())).collect();
        let ip = |(key, address): (&'a EndpointKey, &'a str)| {
            Some((parse_ip(address)?, (key.pod.as_str(), false)))
        };
        Self { of_slices, of_pods: addresses().filter_map(ip).collect() }
    }

    fn look_for_slices(
        &mut self,
        plan: &'a SlicePlan,
        stored: &HashMap<&'a str, &'a EndpointSlice, RandomState>,
    ) {
        for slice in stored.values() {
            self.look_for_slice(slice, 0);
        }
        for plan in &plan.types {
            for (number, slice) in (1..).zip(&plan.create) {
                self.look_for_slice(slice, number);
            }
            plan.update.iter().for_each(|slice| self.look_for_slice(slice, 0));
        }
    }

    fn look_for_slice(&mut self, slice: &'a EndpointSlice, number: usize) {
        let Some(address_type) = AddressType::parse(&slice.address_type) else { return };
        for endpoint in endpoints_of(slice) {
            let pod =
                endpoint.target_ref.as_ref().and_then(|target| target.name.as_deref()).unwrap_or_default();
            for address in &endpoint.addresses {
                let Some(place) = self.of_slices.get_mut(&(address_type, address.as_str())) else { continue };
                let found = (pod, name_of(slice), number);
                place.shared |= *place.found.get_or_insert(found) != found;
            }
        }
    }

    /// Notes the addresses of pods, and returns true if one of them has readiness gates.
    fn look_for_pods<'p>(&mut self, pods: impl IntoIterator<Item = &'p Pod>) -> bool {
        let mut has_gates = false;
        for pod in pods.into_iter().filter(|pod| !pod.terminal) {
            has_gates |= pod.has_readiness_gates;
            for address in pod.addresses.iter() {
                if let Some((name, shared)) = self.of_pods.get_mut(address) {
                    *shared |= *name != &*pod.name;
                }
            }
        }
        has_gates
    }

    /// True if another endpoint, or another slice, has an address of this endpoint.
    fn is_shared(&self, key: &EndpointKey) -> bool {
        key.addresses.iter().any(|address| {
            let in_slices = self.of_slices.get(&(key.address_type, address.as_str()));
            let of_pods = parse_ip(address).and_then(|ip| self.of_pods.get(&ip));
            in_slices.is_some_and(|place| place.shared)
                || of_pods.is_none_or(|(name, shared)| *shared || *name != key.pod)
        })
    }
}
