//! The urgency of a plan: how much traffic is lost while its writes are delayed.
//!
//! Under a rate limit, plans wait for each other. The one that takes traffic away from an endpoint that must not get it comes
//! first; the one that changes nothing for traffic comes last. The urgency is computed from the plan and the stored slices
//! alone, so that any process at any time decides the same. Upstream writes first in, first out.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ptr;

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort as SlicePort, EndpointSlice};

use crate::desired::{Identity, PortSet, identity, is_ready};
use crate::model::{AddressType, endpoints_of, name_of};
use crate::plan::{AddressTypePlan, SlicePlan};
use crate::well_known::HEADLESS;

mod published;
mod subsets;
#[cfg(test)]
mod tests;

use published::{Published, Traffic};
pub use subsets::urgency_of_subsets;

/// The urgency of a plan: that of its most urgent change. The most urgent is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A published endpoint that was ready or served no longer is or does, or is gone: its traffic goes nowhere until it is
    /// withdrawn.
    Withdrawal,
    /// A headless Service or a host name gets its first address: until then its name does not resolve.
    Name,
    /// A port set gets its first ready endpoint: until then there is no traffic at all.
    First,
    /// Another endpoint becomes ready.
    Readiness,
    /// Endpoints change in another way, such as in their hints or before they are ready, or slices with endpoints go that the owner
    /// should not have ([`SlicePlan::delete_if_unchanged`]).
    Soft,
    /// Only metadata changes, or a placeholder is written.
    Metadata,
}

impl Urgency {
    /// The names of all, the most urgent first, as values of the label `urgency` of metrics.
    pub const NAMES: [&str; 6] = ["withdrawal", "name", "first", "readiness", "soft", "metadata"];

    /// The position in [`Self::NAMES`].
    pub const fn level(self) -> usize {
        self as usize
    }
}

/// The urgency of a plan that was made from the slices `stored`. If it withdraws endpoints, puts the writes that do so first
/// ([`AddressTypePlan::withdrawals`]); `is_local` if the Service has a `Local` traffic policy.
///
/// Slices that were left out as [up to date](crate::plan::UpToDateSlice) may be absent; `ready_elsewhere` then returns the
/// ports of those of an address type that have a ready endpoint.
///
/// Endpoints of an older owner's slices, such as those of a Service that was replaced by another one of its name, have to be
/// published again: the garbage collector deletes these slices, whatever the plan does.
///
/// Cost: a hash of each endpoint of the slices that are written, before and after; a look at all others only if an endpoint
/// becomes ready.
pub fn prioritize<'a, S: Borrow<EndpointSlice>, I: IntoIterator<Item = &'a PortSet>>(
    plan: &mut SlicePlan,
    stored: &[S],
    is_local: bool,
    ready_elsewhere: impl Fn(AddressType) -> I,
) -> Urgency {
    let urgency = urgency(plan, stored, &ready_elsewhere);
    if urgency == Urgency::Withdrawal {
        withdrawals_first(plan, stored, is_local, ready_elsewhere);
    }
    urgency
}

/// The urgency alone.
fn urgency<'a, S: Borrow<EndpointSlice>, I: IntoIterator<Item = &'a PortSet>>(
    plan: &SlicePlan,
    stored: &[S],
    ready_elsewhere: impl Fn(AddressType) -> I,
) -> Urgency {
    if plan.is_empty() {
        return Urgency::Metadata;
    }
    let named = by_name(stored);
    let unneeded = plan.delete_if_unchanged.iter().any(|slice| !endpoints_of(slice).is_empty());
    let mut result = if unneeded { Urgency::Soft } else { Urgency::Metadata };
    for of_type in &plan.types {
        let written: Vec<&EndpointSlice> = of_type.create.iter().chain(&of_type.update).collect();
        let replaced = of_type.update.iter().filter_map(|slice| named.get(name_of(slice)).copied());
        let removed: Vec<&EndpointSlice> = replaced.chain(&of_type.delete).collect();
        let owner = written.first().and_then(|slice| owner_uid(slice));
        let lasting: Vec<&EndpointSlice> =
            removed.iter().copied().filter(|slice| !is_of_older_owner(slice, owner)).collect();
        let names: HashSet<&str, RandomState> =
            of_type.update.iter().chain(&of_type.delete).map(name_of).collect();
        let stays = |slice: &&EndpointSlice| {
            AddressType::parse(&slice.address_type) == Some(of_type.address_type)
                && !names.contains(name_of(slice))
        };
        let staying = named.values().copied().filter(stays);
        let elsewhere = ready_elsewhere(of_type.address_type);
        result = result.min(of_change(&removed, &lasting, &written, staying, elsewhere));
        if result == Urgency::Withdrawal {
            break;
        }
    }
    result
}

/// Puts the writes that withdraw endpoints before the others, also without a rate limit, under which a plan with hundreds of writes
/// takes many turns.
///
/// If the Service has a `Local` traffic policy, the node of a new endpoint must not be left without one: nothing comes
/// before the creates.
///
/// The [`withdrawals`](AddressTypePlan::withdrawals) of a plan come before everything else, also before new endpoints, which
/// upstream writes first. No address, port or host name that has traffic before and after the plan is without it meanwhile: all
/// addresses that they take are gone or get less. Other updates that withdraw endpoints, as when a port changes, come first among
/// updates; upstream's order of these is that of a hash table.
///
/// Cost: a hash of each endpoint of the slices that are written, before and after, if there are several writes.
fn withdrawals_first<'a, S: Borrow<EndpointSlice>, I: IntoIterator<Item = &'a PortSet>>(
    plan: &mut SlicePlan,
    stored: &[S],
    is_local: bool,
    ready_elsewhere: impl Fn(AddressType) -> I,
) {
    let named = by_name(stored);
    let has_others = plan.types.len() > 1;
    for of_type in plan.types.iter_mut().filter(|of_type| has_others || of_type.changes() > 1) {
        let written: Vec<&EndpointSlice> = of_type.create.iter().chain(&of_type.update).collect();
        let updates =
            of_type.update.iter().filter_map(|slice| Some((*named.get(name_of(slice))?, Some(slice))));
        let replaced: Vec<_> = updates.chain(of_type.delete.iter().map(|slice| (slice, None))).collect();
        let groups = Groups::of(written.iter().copied().chain(replaced.iter().map(|(old, _)| *old)));
        let new = groups.published(&written);
        let addresses = Addresses::of(&written);
        let is_headless = written.iter().any(|slice| is_headless(slice.metadata.labels.as_ref()));
        let renewed = renewed(
            of_type,
            &named,
            is_headless,
            |old| groups.published(&[old]).has_ready_in(&new),
            ready_elsewhere(of_type.address_type),
        );
        let (mut apart, mut withdrawing) = (BTreeSet::new(), HashSet::<String, RandomState>::default());
        for (old, replacement) in &replaced {
            let published = groups.published(&[*old]);
            if published.is_more_than(&new) {
                withdrawing.insert(name_of(old).to_owned());
                let ports = old.ports.as_deref().unwrap_or_default();
                let waits = port_names(ports, is_headless).iter().any(|port| renewed.contains(port))
                    || published.moves_host_name(&new)
                    || addresses.are_elsewhere(old, *replacement);
                if !waits {
                    apart.insert(name_of(old).to_owned());
                }
            }
        }
        of_type.withdrawals = if is_local { BTreeSet::new() } else { apart };
        of_type.update.sort_by_key(|slice| !withdrawing.contains(name_of(slice)));
    }
}

/// The name and the protocol of a port, by which consumers know it.
type PortName = (String, String);

/// The names of these ports. All addresses of a headless Service have one DNS name, and those without ports none but this.
fn port_names(ports: &[SlicePort], is_headless: bool) -> Vec<PortName> {
    if ports.is_empty() || is_headless {
        return vec![PortName::default()];
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ports.iter().map(|port| (text(&port.name), text(&port.protocol))).collect()
}

/// The ports that get ready endpoints and keep none of those they have: their withdrawals wait for the new endpoints.
fn renewed<'a>(
    plan: &AddressTypePlan,
    named: &HashMap<&str, &EndpointSlice, RandomState>,
    is_headless: bool,
    stays_ready: impl Fn(&EndpointSlice) -> bool,
    elsewhere: impl IntoIterator<Item = &'a PortSet>,
) -> BTreeSet<PortName> {
    let of_slice =
        |slice: &EndpointSlice| port_names(slice.ports.as_deref().unwrap_or_default(), is_headless);
    let written = plan.create.iter().chain(&plan.update).filter(|slice| has_ready(slice));
    let mut renewed: BTreeSet<PortName> = written.flat_map(of_slice).collect();
    let changed: HashSet<&str, RandomState> = plan.update.iter().chain(&plan.delete).map(name_of).collect();
    let of_type = |slice: &&EndpointSlice| AddressType::parse(&slice.address_type) == Some(plan.address_type);
    let stays = |slice: &&EndpointSlice| {
        if changed.contains(name_of(slice)) { stays_ready(slice) } else { has_ready(slice) }
    };
    let stored = named.values().copied().filter(of_type).filter(stays).map(of_slice);
    let up_to_date = elsewhere.into_iter().map(|ports| port_names(ports.as_slice(), is_headless));
    let mut kept = stored.chain(up_to_date);
    while !renewed.is_empty()
        && let Some(ports) = kept.next()
    {
        for port in &ports {
            renewed.remove(port);
        }
    }
    renewed
}

fn has_ready(slice: &EndpointSlice) -> bool {
    endpoints_of(slice).iter().any(is_ready)
}

/// The addresses that get traffic in the slices that a plan writes, each with the slices that have it.
struct Addresses<'a>(HashMap<&'a str, Vec<&'a EndpointSlice>, RandomState>);

impl<'a> Addresses<'a> {
    fn of(written: &[&'a EndpointSlice]) -> Self {
        let mut addresses: HashMap<_, Vec<_>, _> = HashMap::default();
        for slice in written {
            let with_traffic = endpoints_of(slice).iter().filter(|endpoint| Traffic::of(endpoint).is_any());
            for address in with_traffic.flat_map(|endpoint| &endpoint.addresses) {
                addresses.entry(address.as_str()).or_default().push(*slice);
            }
        }
        Self(addresses)
    }

    /// True if an address of a slice gets traffic in another slice than its replacement.
    fn are_elsewhere(&self, old: &EndpointSlice, replacement: Option<&EndpointSlice>) -> bool {
        let is_elsewhere = |address: &String| {
            let slices = self.0.get(address.as_str()).into_iter().flatten();
            slices.into_iter().any(|slice| replacement.is_none_or(|it| !ptr::eq(it, *slice)))
        };
        endpoints_of(old).iter().flat_map(|endpoint| &endpoint.addresses).any(is_elsewhere)
    }
}

fn by_name<S: Borrow<EndpointSlice>>(slices: &[S]) -> HashMap<&str, &EndpointSlice, RandomState> {
    slices.iter().map(|slice| (name_of(slice.borrow()), slice.borrow())).collect()
}

/// The uid of the controller that owns a slice.
fn owner_uid(slice: &EndpointSlice) -> Option<&str> {
    let mut references = slice.metadata.owner_references.iter().flatten();
    references.find(|reference| reference.controller == Some(true)).map(|reference| reference.uid.as_str())
}

/// True if a slice has owners, and none of them is `owner`.
fn is_of_older_owner(slice: &EndpointSlice, owner: Option<&str>) -> bool {
    let references = slice.metadata.owner_references.as_deref().unwrap_or_default();
    owner.is_some_and(|owner| {
        !references.is_empty() && references.iter().all(|reference| reference.uid != owner)
    })
}

/// The urgency of replacing slices `before`, of which only those in `lasting` are not of an older owner, by those `after`. The
/// others are those that are `staying`, and some `elsewhere` that have these ports and a ready endpoint.
fn of_change<'a, 'p>(
    before: &[&'a EndpointSlice],
    lasting: &[&'a EndpointSlice],
    after: &[&'a EndpointSlice],
    staying: impl Iterator<Item = &'a EndpointSlice>,
    elsewhere: impl IntoIterator<Item = &'p PortSet>,
) -> Urgency {
    let groups = Groups::of(before.iter().chain(after).copied());
    let (old, new) = (groups.published(before), groups.published(after));
    if old.is_more_than(&new) {
        return Urgency::Withdrawal;
    }
    let old = if lasting.len() == before.len() { old } else { groups.published(lasting) };
    let gets_name = |(_, endpoint): (&_, &&Endpoint)| {
        let hostname = endpoint.hostname.as_deref().filter(|name| !name.is_empty());
        is_ready(endpoint) && hostname.is_some_and(|name| !old.hostnames.contains(name))
    };
    let becomes_ready = |(key, endpoint): &(&(u64, Identity<'_>), &&Endpoint)| {
        is_ready(endpoint) && !old.endpoints.get(*key).is_some_and(|old| is_ready(old))
    };
    if new.endpoints.iter().any(gets_name) {
        return Urgency::Name;
    }
    let gaining: BTreeSet<u64> =
        new.endpoints.iter().filter(becomes_ready).map(|((group, _), _)| *group).collect();
    let mut first: HashSet<&PortSet, RandomState> =
        gaining.iter().filter_map(|group| groups.ports(*group)).collect();
    let mut kept = lasting.iter().copied().chain(staying).filter(|slice| has_ready(slice));
    while !first.is_empty()
        && let Some(slice) = kept.next()
    {
        first.remove(&PortSet::of(slice));
    }
    let mut elsewhere = elsewhere.into_iter();
    while !first.is_empty()
        && let Some(ports) = elsewhere.next()
    {
        first.remove(ports);
    }
    if !first.is_empty() {
        let is_headless = after.iter().any(|slice| is_headless(slice.metadata.labels.as_ref()));
        return if is_headless { Urgency::Name } else { Urgency::First };
    }
    if !gaining.is_empty() {
        return Urgency::Readiness;
    }
    if old.endpoints == new.endpoints { Urgency::Metadata } else { Urgency::Soft }
}

/// The port sets of some slices, numbered.
struct Groups(Vec<PortSet>);

impl Groups {
    fn of<'a>(slices: impl Iterator<Item = &'a EndpointSlice>) -> Self {
        let sets: BTreeSet<PortSet> = slices.map(PortSet::of).collect();
        Self(sets.into_iter().collect())
    }

    fn ports(&self, number: u64) -> Option<&PortSet> {
        self.0.get(usize::try_from(number).ok()?)
    }

    fn published<'a>(&self, slices: &[&'a EndpointSlice]) -> Published<'a> {
        let mut published = Published::default();
        for slice in slices {
            let number = self.0.binary_search(&PortSet::of(slice)).unwrap_or_default() as u64;
            for endpoint in endpoints_of(slice) {
                published.endpoints.insert((number, identity(endpoint)), endpoint);
                published.hostnames.extend(endpoint.hostname.as_deref().filter(|_| is_ready(endpoint)));
            }
        }
        published
    }
}

type Labels = BTreeMap<String, String>;

/// Both controllers mark the objects of headless Services.
fn is_headless(labels: Option<&Labels>) -> bool {
    labels.is_some_and(|labels| labels.contains_key(HEADLESS))
}
