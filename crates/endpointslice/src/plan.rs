//! Turns the endpoints an owner should have into few EndpointSlice writes.
//!
//! ```text
//! existing slices ─┐
//! desired          ├─> pack ─> placeholder ─> hints ─> recycle ─> SlicePlan
//! template, rules ─┘
//! ```
//!
//! Nothing here does IO, reads a clock or logs. A plan is complete: whoever applies it has nothing left to decide, so
//! a test can compare plans as values, and two runs over the same input give the same plan, byte for byte.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use crate::address::AddressType;
use crate::conditions::Conditions;
use crate::desired::{Desired, Skipped, SkippedReason};
use crate::endpoint_set::EndpointSet;
use crate::hints::Hints;
use crate::pack::{endpoint_count, pack, pack_single, reduce};
use crate::port_set::PortSet;
use crate::template::SliceTemplate;
use crate::tolerated::{self, Tolerated};
use crate::topology::{TopologyOutcome, add_hints};

/// How slices may be filled.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How endpoints of one group are spread over slices.
    pub packing: Packing,
    /// Whether an address type without endpoints gets one empty slice, so that consumers can tell "no endpoints" from
    /// "not yet reconciled".
    pub placeholder: bool,
    /// How endpoints get hints.
    pub hints: Hints,
}

/// How the endpoints of one group are spread over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As few slices as are touched anyway, each with at most `max` endpoints.
    Pack {
        /// The most endpoints a slice may carry; 0 counts as 1.
        max: usize,
    },
    /// One slice for each group; endpoints beyond `max` are left out, and a group without endpoints has no slice.
    Single {
        /// The most endpoints a slice may carry; 0 counts as 1.
        max: usize,
    },
}

impl Packing {
    /// The most endpoints a slice may carry.
    fn max(self) -> usize {
        let (Self::Pack { max } | Self::Single { max }) = self;
        max.max(1)
    }
}

/// The writes that make the existing slices carry the desired endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlicePlan {
    /// One plan for each address type of the owner, in the order they are applied.
    pub types: Vec<AddressTypePlan>,
    /// Slices to delete after everything else, and only in the resourceVersion that was seen: those of address types that
    /// the owner doesn't have, or all of an owner that should have none. When an owner changes hands a slice may have as
    /// well, and its new `managed-by` need not have been seen yet.
    pub delete_if_unchanged: Vec<EndpointSlice>,
}

/// The writes for one address type, to be made in this order: creates, updates, deletes.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressTypePlan {
    /// The address type.
    pub address_type: AddressType,
    /// New slices.
    pub create: Vec<EndpointSlice>,
    /// Slices to replace. One without a resourceVersion replaces whatever is there: it gives new content to a slice
    /// that would otherwise be deleted.
    pub update: Vec<EndpointSlice>,
    /// Slices to delete.
    pub delete: Vec<EndpointSlice>,
    /// True if creates are held back because the owner is being deleted; they are still counted as changes.
    pub creates_suppressed: bool,
    /// Figures for metrics.
    pub statistics: PlanStatistics,
    /// How topology hints were assigned, if the rules ask for them.
    pub topology: Option<TopologyOutcome>,
    /// Endpoints with an address that the API server would refuse, in slices whose endpoints stay as they are.
    pub tolerated: Vec<Endpoint>,
}

/// Figures about a plan for one address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStatistics {
    /// Endpoints that no existing slice carried.
    pub endpoints_added: usize,
    /// Endpoints that stay in their slice and have changed.
    pub endpoints_updated: usize,
    /// Endpoints that left slices of groups that are still desired.
    pub endpoints_removed: usize,
    /// One entry for each group that should exist, the placeholder included.
    pub groups: BTreeMap<PortSet, PortGroupStatistics>,
}

/// Figures about one port set of one address type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroupStatistics {
    /// Desired endpoints.
    pub endpoints: usize,
    /// Slices after the plan is applied.
    pub slices: usize,
}

impl SlicePlan {
    /// Deletes all of these: for an owner that is gone, or should have no slices any more.
    pub fn delete_all(slices: Vec<EndpointSlice>) -> Self {
        Self { types: vec![], delete_if_unchanged: slices }
    }

    /// True if something that was [skipped](Desired::skipped) for its address stays published all the same, in a slice
    /// that the plan leaves alone.
    pub fn keeps(&self, skipped: &Skipped) -> bool {
        let SkippedReason::AddressNotAllowed(address) = skipped.reason else { return false };
        let address = address.to_string();
        self.types.iter().flat_map(|plan| &plan.tolerated).any(|endpoint| {
            let target = endpoint.target_ref.as_ref().and_then(|target| target.name.as_ref());
            target == Some(&skipped.name) && endpoint.addresses.contains(&address)
        })
    }

    /// Adds updates of slices that are being deleted and that a finalizer keeps: they lose endpoints that are not desired
    /// any more, and the others are brought up to date. Consumers don't ask whether a slice is being deleted
    /// (`k8s.io/kubernetes` `pkg/proxy/endpointslicecache.go`). They get no new endpoints, and keep their finalizers.
    ///
    /// `desired` is what this plan was made of. Cost: a copy of the desired endpoints for each of `leaving`.
    pub fn refresh(&mut self, leaving: &[EndpointSlice], desired: &Desired) {
        for slice in in_name_order(leaving) {
            let address_type = AddressType::parse(&slice.address_type);
            let Some(plan) = self.types.iter_mut().find(|plan| Some(plan.address_type) == address_type)
            else {
                continue;
            };
            let ports = PortSet::new(slice.ports.clone().unwrap_or_default());
            let group = desired.types.get(&plan.address_type).and_then(|groups| groups.get(&ports));
            plan.update.extend(reduce(slice, group.cloned().unwrap_or_default(), desired.conditions));
        }
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.delete_if_unchanged.is_empty() && self.types.iter().all(|plan| plan.changes() == 0)
    }
}

impl AddressTypePlan {
    /// The number of writes, held-back creates included.
    pub fn changes(&self) -> usize {
        self.create.len() + self.update.len() + self.delete.len()
    }
}

/// Computes the writes that make `existing` carry exactly the endpoints in `desired`.
///
/// `existing` are the slices of this owner and controller that are not being deleted. Slices that the owner doesn't
/// own by uid are deleted, never updated: they belong to an older object of the same name and the garbage collector
/// may be removing them.
///
/// Cost: linear in endpoints, plus a sort of the slices. `existing` is not modified; only slices that are written are
/// cloned.
pub fn plan<S: Borrow<EndpointSlice>>(
    existing: &[S],
    desired: Desired,
    template: &SliceTemplate,
    rules: &Rules,
) -> SlicePlan {
    let mut by_type: BTreeMap<AddressType, Vec<&S>> = BTreeMap::new();
    let mut unsupported = vec![];
    for slice in in_name_order(existing) {
        match AddressType::parse(&slice.borrow().address_type) {
            Some(address_type) if desired.types.contains_key(&address_type) => {
                by_type.entry(address_type).or_default().push(slice);
            }
            _ => unsupported.push(slice.borrow().clone()),
        }
    }
    let Desired { types, mut tolerated, conditions, .. } = desired;
    let types = types.into_iter().map(|(address_type, groups)| {
        let existing = by_type.remove(&address_type).unwrap_or_default();
        let tolerated = tolerated.remove(&address_type).unwrap_or_default();
        let plan = |groups| plan_type(existing.clone(), (groups, conditions), template, rules, address_type);
        plan_around(&existing, groups, &tolerated, template, plan)
    });
    SlicePlan { types: types.collect(), delete_if_unchanged: unsupported }
}

fn in_name_order<S: Borrow<EndpointSlice>>(slices: &[S]) -> Vec<&S> {
    let mut sorted: Vec<&S> = slices.iter().collect();
    sorted.sort_by_key(|slice| (*slice).borrow().metadata.name.as_deref());
    sorted
}

/// Keeps tolerated endpoints where they are, as far as `plan` leaves the endpoints of their slices alone.
///
/// Without one, what is desired is planned once. Otherwise each round plans with fewer of them, until the plan changes no
/// slice that carries one; two or three rounds, as a rule.
fn plan_around<S: Borrow<EndpointSlice>>(
    existing: &[&S],
    desired: BTreeMap<PortSet, EndpointSet>,
    tolerated: &[Tolerated],
    template: &SliceTemplate,
    plan: impl Fn(BTreeMap<PortSet, EndpointSet>) -> AddressTypePlan,
) -> AddressTypePlan {
    let owned: Vec<&S> =
        existing.iter().copied().filter(|slice| template.accepts((*slice).borrow())).collect();
    let mut staying = tolerated::present(tolerated, &owned);
    while !staying.is_empty() {
        let planned = plan(tolerated::with_tolerated(&desired, &staying));
        let left = tolerated::present(&staying, &tolerated::unchanged(&owned, &planned));
        if left.len() == staying.len() {
            return AddressTypePlan {
                tolerated: left.into_iter().map(|it| it.endpoint).collect(),
                ..planned
            };
        }
        staying = left;
    }
    plan(desired)
}

fn plan_type<S: Borrow<EndpointSlice>>(
    existing: Vec<&S>,
    (desired, conditions): (BTreeMap<PortSet, EndpointSet>, Conditions),
    template: &SliceTemplate,
    rules: &Rules,
    address_type: AddressType,
) -> AddressTypePlan {
    let max = rules.packing.max();
    let existing_count = existing.len();
    let (owned, mut delete): (Vec<&S>, Vec<&S>) =
        existing.into_iter().partition(|slice| template.accepts((*slice).borrow()));
    let mut by_ports: BTreeMap<PortSet, Vec<&S>> = BTreeMap::new();
    for slice in owned {
        let ports = slice.borrow().ports.clone().unwrap_or_default();
        by_ports.entry(PortSet::new(ports)).or_default().push(slice);
    }
    let (mut create, mut update, mut unchanged) = (vec![], vec![], vec![]);
    let mut statistics = PlanStatistics::default();
    for (ports, endpoints) in desired {
        let present = by_ports.remove(&ports).unwrap_or_default();
        let (endpoint_count, present_count) = (endpoints.len(), present.len());
        let group = (address_type, &ports);
        let packed = match rules.packing {
            Packing::Pack { .. } => pack(present, endpoints, conditions, max, template, group),
            Packing::Single { .. } => pack_single(present, endpoints, conditions, max, template, group),
        };
        let slices = present_count + packed.create.len() - packed.delete.len();
        statistics.groups.insert(ports, PortGroupStatistics { endpoints: endpoint_count, slices });
        statistics.endpoints_added += packed.added;
        statistics.endpoints_updated += packed.updated;
        statistics.endpoints_removed += packed.removed;
        create.extend(packed.create);
        update.extend(packed.update);
        unchanged.extend(packed.unchanged);
        delete.extend(packed.delete);
    }
    delete.extend(by_ports.into_values().flatten());
    if rules.placeholder && delete.len() == existing_count && create.is_empty() {
        add_placeholder(&mut create, &mut delete, template, address_type);
        statistics.groups.insert(PortSet::default(), PortGroupStatistics { endpoints: 0, slices: 1 });
    }
    let topology = set_hints(&mut create, &mut update, unchanged, &rules.hints);
    update.iter_mut().for_each(sort_ports_and_addresses);
    let delete = recycle(&mut create, &mut update, delete, template);
    for slice in create.iter_mut().chain(&mut update) {
        template.stamp(slice);
        conditions.trim(slice);
    }
    debug_assert!(create.iter().all(|slice| endpoint_count(slice) <= max));
    AddressTypePlan {
        address_type,
        create,
        update,
        delete: delete.into_iter().map(|slice| slice.borrow().clone()).collect(),
        creates_suppressed: template.owner.deleting,
        statistics,
        topology,
        tolerated: vec![],
    }
}

/// Adds the empty slice that stands for "no endpoints", unless one of the slices to delete is just that: then that one
/// stays as it is.
///
/// Upstream keeps an old placeholder only if it is the single slice, and otherwise writes one of several again
/// (`reconciler.go` `reconcileByAddressType`). One of an older owner is kept only if it is the single slice, as
/// upstream does.
fn add_placeholder<S: Borrow<EndpointSlice>>(
    create: &mut Vec<EndpointSlice>,
    delete: &mut Vec<&S>,
    template: &SliceTemplate,
    address_type: AddressType,
) {
    let single = delete.len() == 1;
    let kept = delete.iter().position(|slice| {
        let slice = (*slice).borrow();
        (single || template.accepts(slice)) && template.is_placeholder(slice, address_type)
    });
    match kept {
        Some(position) => drop(delete.remove(position)),
        None => create.push(template.new_slice(address_type, PortSet::default())),
    }
}

/// Sets hints on slices that are written, and adds those whose hints alone are wrong. If topology hints are asked for
/// and impossible, there are none.
fn set_hints<S: Borrow<EndpointSlice>>(
    create: &mut [EndpointSlice],
    update: &mut Vec<EndpointSlice>,
    unchanged: Vec<&S>,
    hints: &Hints,
) -> Option<TopologyOutcome> {
    let unchanged: Vec<&EndpointSlice> = unchanged.into_iter().map(Borrow::borrow).collect();
    let outcome = match hints {
        Hints::Topology(shares) => Some(add_hints(shares, create, update, &unchanged)),
        _ => None,
    };
    let hints = if matches!(outcome, Some(Err(_))) { &Hints::None } else { hints };
    update.extend(unchanged.into_iter().filter(|slice| hints.differ(slice)).cloned());
    create.iter_mut().chain(update).for_each(|slice| hints.set(slice));
    outcome
}

/// Puts the ports and addresses of a slice that is written in the order that new slices have. Upstream sorts what it
/// reads, in place (`util/controller_utils.go` `NewPortMapKey`, `util/endpointset.go` `hashEndpoint`).
fn sort_ports_and_addresses(slice: &mut EndpointSlice) {
    slice.ports = slice.ports.take().map(|ports| PortSet::new(ports).into_vec());
    slice.endpoints.iter_mut().flatten().for_each(|endpoint| endpoint.addresses.sort_unstable());
}

/// Gives the content of new slices to slices that would be deleted, which saves a write for each pair, and returns
/// the slices that are still to be deleted (`reconciler.go` `finalize`).
///
/// Slices that the owner doesn't own are not reused: the garbage collector may be about to remove them.
fn recycle<'a, S: Borrow<EndpointSlice>>(
    create: &mut Vec<EndpointSlice>,
    update: &mut Vec<EndpointSlice>,
    delete: Vec<&'a S>,
    template: &SliceTemplate,
) -> Vec<&'a S> {
    let mut kept = vec![];
    for doomed in delete {
        let reusable = template.accepts(doomed.borrow());
        match create.pop_if(|_| reusable) {
            Some(mut slice) => {
                slice.metadata.name.clone_from(&doomed.borrow().metadata.name);
                update.push(slice);
            }
            None => kept.push(doomed),
        }
    }
    kept
}
