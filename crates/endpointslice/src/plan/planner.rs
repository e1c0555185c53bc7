//! Turns the endpoints an owner should have into few EndpointSlice writes.
//!
//! ```text
//! existing slices ──┐
//! desired           ├─> pack ─> placeholder ─> hints ─> recycle ─> SlicePlan
//! template, options ┘
//! ```
//!
//! Planning does no IO, reads no clock and logs nothing. A plan is complete: it leaves no decision to its executor, tests
//! compare plans as values, and the same input gives the same plan, byte for byte.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::hints::Hints;
use super::options::{Packing, PlanOptions};
use super::pack::{endpoint_count, pack, pack_single, reduce};
use super::slice_plan::{AddressTypePlan, PlanStatistics, PortGroupStatistics, SlicePlan};
use super::template::SliceTemplate;
use super::tolerated::{present, unchanged, with_tolerated};
use super::up_to_date::{MissingEndpoints, UpToDateOfType, UpToDateSlice};
use crate::desired::{Conditions, DesiredEndpoints, EndpointSet, PortSet, Tolerated};
use crate::model::{AddressType, endpoints_of_mut};
use crate::topology::{TopologyOutcome, add_hints};

impl SlicePlan {
    /// Adds updates of slices that are being deleted and still exist because of a finalizer: endpoints that are no longer
    /// desired are removed, the others updated, none added. Consumers use such slices like all others
    /// (`k8s.io/kubernetes` `pkg/proxy/endpointslicecache.go`). Finalizers stay.
    ///
    /// `desired` must be the input of this plan. Cost: a copy of the desired endpoints for each of `leaving`.
    pub fn refresh(&mut self, leaving: &[EndpointSlice], desired: &DesiredEndpoints) {
        for slice in in_name_order(leaving) {
            let address_type = AddressType::parse(&slice.address_type);
            let Some(plan) = self.types.iter_mut().find(|plan| Some(plan.address_type) == address_type)
            else {
                continue;
            };
            let ports = PortSet::of(slice);
            let group = desired.types.get(&plan.address_type).and_then(|groups| groups.get(&ports));
            plan.update.extend(reduce(slice, group.cloned().unwrap_or_default(), desired.conditions));
        }
    }
}

/// Computes the writes that make `existing` carry exactly the endpoints in `desired`.
///
/// `existing` are the slices of this owner and controller that are not being deleted. Under
/// [`OwnershipPolicy::Enforced`](super::OwnershipPolicy::Enforced), slices that the owner doesn't own by uid are deleted,
/// never updated: they belong to an older object of the same name, and the garbage collector may be removing them.
///
/// Cost: linear in endpoints, plus a sort of the slices. Only slices that are written are cloned.
pub fn plan<S: Borrow<EndpointSlice>>(
    existing: &[S],
    desired: DesiredEndpoints,
    template: &SliceTemplate,
    options: &PlanOptions,
) -> SlicePlan {
    // Only up-to-date slices can be asked for.
    plan_incremental(existing, &[], desired, template, options).unwrap_or_default()
}

/// [`plan()`] for slices that are mostly up to date already: the same plan, without building their endpoints.
///
/// `existing` are the other slices, and `desired` has the endpoints that are in no up-to-date slice. It must have the group
/// of each up-to-date slice all the same, in every address type in which the plan of all endpoints would have it.
///
/// # Errors
///
/// The endpoints of some up-to-date slices are needed, because one of them is written, or because the rules look at all of
/// them. The caller moves these slices to `existing` and their endpoints to `desired`, and plans again: at most three times
/// in all, because the error names the slices of all groups and address types.
///
/// Cost: linear in the endpoints of `existing` and `desired`, and in the number of up-to-date slices.
pub fn plan_incremental<S: Borrow<EndpointSlice>>(
    existing: &[S],
    up_to_date: &[UpToDateSlice<'_>],
    desired: DesiredEndpoints,
    template: &SliceTemplate,
    options: &PlanOptions,
) -> Result<SlicePlan, MissingEndpoints> {
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
    let DesiredEndpoints { types, mut tolerated, conditions, .. } = desired;
    let mut needed = MissingEndpoints::default();
    let types = types.into_iter().map(|(address_type, groups)| {
        let existing = by_type.remove(&address_type).unwrap_or_default();
        let tolerated = tolerated.remove(&address_type).unwrap_or_default();
        let up_to_date = UpToDateOfType::new(up_to_date, address_type);
        if !tolerated.is_empty() || matches!(options.hints, Hints::Topology(_)) {
            up_to_date.unless_any()?;
        }
        let plan = |groups| {
            plan_type(existing.clone(), &up_to_date, (groups, conditions), template, options, address_type)
        };
        plan_around(&existing, groups, &tolerated, template, plan)
    });
    let types = types.filter_map(|planned| needed.collect(planned)).collect();
    MissingEndpoints::none_of(needed.0)?;
    Ok(SlicePlan { types, delete_if_unchanged: unsupported })
}

fn in_name_order<S: Borrow<EndpointSlice>>(slices: &[S]) -> Vec<&S> {
    let mut sorted: Vec<&S> = slices.iter().collect();
    sorted.sort_by_key(|slice| (*slice).borrow().metadata.name.as_deref());
    sorted
}

/// Keeps tolerated endpoints in their slices, as far as `plan` doesn't change the endpoints of these slices.
///
/// Without tolerated endpoints, there is one round. Otherwise each round plans with fewer of them, until the plan changes
/// no slice that carries one; usually two or three rounds.
fn plan_around<S: Borrow<EndpointSlice>>(
    existing: &[&S],
    desired: BTreeMap<PortSet, EndpointSet>,
    tolerated: &[Tolerated],
    template: &SliceTemplate,
    plan: impl Fn(BTreeMap<PortSet, EndpointSet>) -> Result<AddressTypePlan, MissingEndpoints>,
) -> Result<AddressTypePlan, MissingEndpoints> {
    let owned: Vec<&S> =
        existing.iter().copied().filter(|slice| template.accepts((*slice).borrow())).collect();
    let mut staying = present(tolerated, &owned);
    while !staying.is_empty() {
        let planned = plan(with_tolerated(&desired, &staying))?;
        let left = present(&staying, &unchanged(&owned, &planned));
        if left.len() == staying.len() {
            let tolerated = left.into_iter().map(|it| it.endpoint).collect();
            return Ok(AddressTypePlan { tolerated, ..planned });
        }
        staying = left;
    }
    plan(desired)
}

fn plan_type<S: Borrow<EndpointSlice>>(
    existing: Vec<&S>,
    up_to_date: &UpToDateOfType<'_>,
    (desired, conditions): (BTreeMap<PortSet, EndpointSet>, Conditions),
    template: &SliceTemplate,
    options: &PlanOptions,
    address_type: AddressType,
) -> Result<AddressTypePlan, MissingEndpoints> {
    let max = options.packing.max();
    let existing_count = existing.len() + up_to_date.len();
    let (owned, mut delete): (Vec<&S>, Vec<&S>) =
        existing.into_iter().partition(|slice| template.accepts((*slice).borrow()));
    let mut by_ports: BTreeMap<PortSet, Vec<&S>> = BTreeMap::new();
    for slice in owned {
        let ports = slice.borrow().ports.clone().unwrap_or_default();
        by_ports.entry(PortSet::new(ports)).or_default().push(slice);
    }
    let (mut create, mut update, mut unchanged) = (vec![], vec![], vec![]);
    let mut relabelled = BTreeSet::new();
    let mut statistics = PlanStatistics::default();
    let mut needed = MissingEndpoints::default();
    for (ports, endpoints) in desired {
        let present = by_ports.remove(&ports).unwrap_or_default();
        let up_to_date = up_to_date.of_group(&ports);
        let endpoint_count = endpoints.len() + up_to_date.endpoints();
        let present_count = present.len() + up_to_date.len();
        let group = (address_type, &ports);
        let packed = match options.packing {
            Packing::Pack { .. } => pack((present, up_to_date), endpoints, conditions, max, template, group),
            Packing::Single { .. } => up_to_date
                .unless_any()
                .map(|()| pack_single(present, endpoints, conditions, max, template, group)),
        };
        // All groups are asked before the caller plans again, whatever their number.
        let Some(packed) = needed.collect(packed) else { continue };
        let slices = present_count + packed.create.len() - packed.delete.len();
        statistics.groups.insert(ports, PortGroupStatistics { endpoints: endpoint_count, slices });
        statistics.endpoints_added += packed.added;
        statistics.endpoints_updated += packed.updated;
        statistics.endpoints_removed += packed.removed;
        create.extend(packed.create);
        update.extend(packed.update);
        relabelled.extend(packed.relabelled);
        unchanged.extend(packed.unchanged);
        delete.extend(packed.delete);
    }
    MissingEndpoints::none_of(needed.0)?;
    delete.extend(by_ports.into_values().flatten());
    if options.placeholder && delete.len() == existing_count && create.is_empty() {
        add_placeholder(&mut create, &mut delete, template, address_type);
        statistics.groups.insert(PortSet::default(), PortGroupStatistics { endpoints: 0, slices: 1 });
    }
    let topology = set_hints(&mut create, &mut update, unchanged, &options.hints);
    update.iter_mut().for_each(sort_ports_and_addresses);
    let delete = recycle(&mut create, &mut update, delete, template);
    // Traffic does not wait for labels: under a rate limit these may take long, or come again each time.
    update.sort_by_key(|slice| slice.metadata.name.as_ref().is_some_and(|name| relabelled.contains(name)));
    for slice in create.iter_mut().chain(&mut update) {
        template.stamp(slice);
        conditions.trim(slice);
    }
    debug_assert!(create.iter().all(|slice| endpoint_count(slice) <= max));
    Ok(AddressTypePlan {
        address_type,
        create,
        update,
        delete: delete.into_iter().map(|slice| slice.borrow().clone()).collect(),
        withdrawals: BTreeSet::new(),
        creates_suppressed: template.owner.deleting,
        statistics,
        topology,
        tolerated: vec![],
    })
}

/// Adds the placeholder, an empty slice that stands for "no endpoints". If one of the slices to delete is a placeholder
/// already, it is kept instead.
///
/// Upstream keeps a placeholder only if it is the single slice, and otherwise writes one of several again
/// (`reconciler.go` `reconcileByAddressType`). A placeholder of an older owner is kept only if it is the single slice, as
/// in upstream.
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

/// Sets hints on slices that are written, and adds updates of slices whose hints alone are wrong. If topology hints are
/// requested and impossible, all hints are removed.
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

/// Sorts the ports and addresses of a slice that is written, as in new slices. Upstream sorts the slices that it reads, in
/// place (`util/controller_utils.go` `NewPortMapKey`, `util/endpointset.go` `hashEndpoint`).
fn sort_ports_and_addresses(slice: &mut EndpointSlice) {
    slice.ports = slice.ports.take().map(|ports| PortSet::new(ports).into_vec());
    for endpoint in endpoints_of_mut(slice) {
        endpoint.addresses.sort_unstable();
    }
}

/// Reuses slices that would be deleted for the content of new ones, which saves a write for each pair, and returns the
/// slices that are still to be deleted (`reconciler.go` `finalize`).
///
/// Slices that the owner doesn't own are not reused: the garbage collector may be removing them.
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
