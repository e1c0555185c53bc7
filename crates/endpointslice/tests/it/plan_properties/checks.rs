//! Checks of plans, by the slices before and after.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::model::{is_allowed_in_slices, parse_ip};
use endpointslice::plan::TrafficDistribution;
use endpointslice::well_known::{HEADLESS, MANAGED_BY, SERVICE_NAME};
use endpointslice::{Hints, PortSet, SlicePlan};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice};
use proptest::prelude::*;

use crate::support::{Cluster, SERVICE_UID, endpoints, name_of, size};

type Checked = Result<(), TestCaseError>;

/// Address type and ports, as text.
type Group = (String, String);

/// The identity of an endpoint: addresses, hostname, namespace and name of its target.
pub(crate) fn identity(endpoint: &Endpoint) -> String {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort();
    let target = endpoint.target_ref.as_ref().map(|target| (&target.namespace, &target.name));
    format!("{addresses:?} {:?} {target:?}", endpoint.hostname)
}

pub(crate) fn identities(slice: &EndpointSlice) -> Vec<String> {
    endpoints(slice).iter().map(identity).collect()
}

/// All published fields of an endpoint but hints.
fn published(endpoint: &Endpoint) -> String {
    let mut endpoint = Endpoint { hints: None, ..endpoint.clone() };
    endpoint.addresses.sort();
    if let Some(target) = &mut endpoint.target_ref {
        target.resource_version = None;
    }
    format!("{endpoint:?}")
}

fn group(slice: &EndpointSlice) -> Group {
    let ports = PortSet::of(slice);
    (slice.address_type.clone(), format!("{ports:?}"))
}

/// The desired groups, with their endpoints.
fn desired(cluster: &Cluster) -> BTreeMap<Group, Vec<Endpoint>> {
    let desired = cluster.desired();
    let groups = desired.groups().map(|(address_type, ports, set)| {
        let group = (address_type.as_str().to_owned(), format!("{ports:?}"));
        (group, set.iter().cloned().collect())
    });
    groups.collect()
}

fn address_types(cluster: &Cluster) -> BTreeSet<String> {
    cluster.compact_service().address_types().iter().map(ToString::to_string).collect()
}

pub(crate) fn is_owned(slice: &EndpointSlice) -> bool {
    slice.metadata.owner_references.iter().flatten().any(|owner| owner.uid == SERVICE_UID)
}

pub(crate) fn desired_endpoints_and_no_others(after: &Cluster) -> Checked {
    let collect = |pairs: Vec<(Group, &Endpoint)>| -> BTreeSet<(Group, String)> {
        pairs.into_iter().map(|(group, endpoint)| (group, published(endpoint))).collect()
    };
    let desired = desired(after);
    let wanted = desired.iter().flat_map(|(group, set)| set.iter().map(|endpoint| (group.clone(), endpoint)));
    let present = after
        .slices
        .iter()
        .flat_map(|slice| endpoints(slice).iter().map(|endpoint| (group(slice), endpoint)));
    prop_assert_eq!(collect(wanted.collect()), collect(present.collect()));
    Ok(())
}

pub(crate) fn is_allowed(endpoint: &Endpoint) -> bool {
    endpoint.addresses.iter().all(|address| parse_ip(address).is_some_and(is_allowed_in_slices))
}

pub(crate) fn refused_addresses_are_where_nothing_changed(before: &Cluster, after: &Cluster) -> Checked {
    for slice in after.slices.iter().filter(|slice| !endpoints(slice).iter().all(is_allowed)) {
        prop_assert_eq!(endpoints(slice), endpoints(before.slice(name_of(slice))));
    }
    Ok(())
}

pub(crate) fn no_endpoint_twice(after: &Cluster) -> Checked {
    let mut seen = BTreeSet::new();
    for slice in &after.slices {
        for endpoint in identities(slice) {
            prop_assert!(seen.insert((group(slice), endpoint.clone())), "{} twice", endpoint);
        }
    }
    Ok(())
}

/// An over-full slice that was found stays if all its endpoints are still desired: upstream never splits one.
pub(crate) fn no_slice_over_the_maximum(before: &Cluster, after: &Cluster) -> Checked {
    for slice in &after.slices {
        let found = before.slices.iter().find(|found| name_of(found) == name_of(slice)).map_or(0, size);
        prop_assert!(size(slice) <= after.max.max(found), "{}", name_of(slice));
    }
    Ok(())
}

/// Every address type has a slice. Without endpoints it is one without ports, except that upstream leaves empty
/// slices alone whose port set is still desired, and accepts the placeholder of an older Service.
pub(crate) fn placeholders_where_nothing_else_is(before: &Cluster, after: &Cluster) -> Checked {
    let desired = desired(before);
    for address_type in address_types(after) {
        let of_type: Vec<&EndpointSlice> =
            after.slices.iter().filter(|slice| slice.address_type == address_type).collect();
        prop_assert!(!of_type.is_empty());
        let left_alone = |slice: &EndpointSlice| {
            is_owned(slice)
                && size(slice) == 0
                && slice.address_type == address_type
                && desired.contains_key(&group(slice))
        };
        let any_endpoint = desired.iter().any(|(group, set)| group.0 == address_type && !set.is_empty());
        if !any_endpoint && !before.slices.iter().any(left_alone) {
            prop_assert_eq!(of_type.len(), 1);
            prop_assert!(size(of_type[0]) == 0 && of_type[0].ports.iter().all(Vec::is_empty));
        }
    }
    Ok(())
}

pub(crate) fn hints_as_the_service_asks(after: &Cluster) -> Checked {
    let hints = after.hints();
    for endpoint in after.endpoints() {
        let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true);
        let names = |hints: &EndpointHints| {
            let zones = hints.for_zones.iter().flatten().map(|zone| zone.name.clone());
            zones.chain(hints.for_nodes.iter().flatten().map(|node| node.name.clone())).collect::<Vec<_>>()
        };
        let present = endpoint.hints.as_ref().map(names);
        match &hints {
            Hints::None => prop_assert!(endpoint.hints.is_none()),
            Hints::Traffic(distribution) if ready => {
                let node = endpoint.node_name.clone();
                let node = node.filter(|_| *distribution == TrafficDistribution::PreferSameNode);
                let wanted: Vec<String> = endpoint.zone.clone().into_iter().chain(node).collect();
                prop_assert_eq!(present.unwrap_or_default(), wanted);
            }
            Hints::Traffic(_) | Hints::Topology(_) | Hints::Keep => {}
        }
    }
    if matches!(hints, Hints::Topology(_)) {
        topology_hints_for_all_or_none(after)?;
    }
    Ok(())
}

/// In each address type, either every ready endpoint is meant for one zone or more, or no endpoint has hints.
fn topology_hints_for_all_or_none(after: &Cluster) -> Checked {
    for address_type in address_types(after) {
        let of_type =
            || after.slices.iter().filter(|slice| slice.address_type == address_type).flat_map(endpoints);
        let zones = |endpoint: &Endpoint| {
            endpoint.hints.as_ref().map_or(0, |hints| hints.for_zones.iter().flatten().count())
        };
        let ready = |endpoint: &&Endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        };
        let none = of_type().all(|endpoint| endpoint.hints.is_none());
        prop_assert!(none || of_type().filter(ready).all(|endpoint| zones(endpoint) > 0));
    }
    Ok(())
}

pub(crate) fn each_slice_is_written_once(plan: &SlicePlan) -> Checked {
    let written = plan.types.iter().flat_map(|plan| plan.update.iter().chain(&plan.delete));
    let mut seen = BTreeSet::new();
    for slice in written.chain(&plan.delete_if_unchanged) {
        prop_assert!(seen.insert(name_of(slice)), "{} is written twice", name_of(slice));
    }
    Ok(())
}

/// No update repeats what is there. Upstream's one exception: of several slices without endpoints one becomes the
/// placeholder, even if it looked like it before.
pub(crate) fn updates_change_something(before: &Cluster, plan: &SlicePlan) -> Checked {
    let template = before.template();
    for update in plan.types.iter().flat_map(|plan| &plan.update) {
        let old = before.slice(name_of(update));
        let same = endpoints(update) == endpoints(old)
            && group(update) == group(old)
            && labels(update) == labels(old);
        let placeholder = update.metadata.resource_version.is_none() && size(update) == 0;
        prop_assert!(!same || placeholder, "nothing changes in {}", name_of(update));
        prop_assert_eq!(
            update.metadata.labels.as_ref(),
            Some(template.labels()),
            "labels are set by any write"
        );
        if update.metadata.resource_version.is_some() {
            let keeps = |slice: &EndpointSlice| {
                (slice.metadata.finalizers.clone(), slice.metadata.owner_references.clone())
            };
            prop_assert_eq!(keeps(update), keeps(old));
        }
    }
    Ok(())
}

/// Disabling the terminating condition alone causes no write. Removed endpoints do, and may move the hints of others, if
/// these are spread over zones.
pub(crate) fn only_slices_with_endpoints_that_leave_are_written(
    before: &Cluster,
    plan: &SlicePlan,
) -> Checked {
    let leaves = |endpoint: &Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.is_some_and(|it| it.terminating == Some(true) && it.ready != Some(true))
    };
    let any = before.slices.iter().flat_map(endpoints).any(leaves);
    let spread = matches!(before.hints(), Hints::Topology(_));
    for update in plan.types.iter().flat_map(|plan| &plan.update) {
        let old = before.slice(name_of(update));
        let reason = endpoints(old).iter().any(leaves) || size(old) == 0 || spread;
        prop_assert!(any && reason, "{} is written for nothing", name_of(update));
    }
    Ok(())
}

/// Written endpoints have the condition `ready` alone, and no other endpoint was changed.
pub(crate) fn conditions_besides_ready_are_only_where_nothing_was_written(
    before: &Cluster,
    after: &Cluster,
) -> Checked {
    for slice in after.slices.iter().filter(|slice| !before.slices.contains(slice)) {
        let conditions = || endpoints(slice).iter().filter_map(|endpoint| endpoint.conditions.as_ref());
        prop_assert!(conditions().all(|it| it.ready.is_some()));
        prop_assert!(conditions().all(|it| it.serving.is_none() && it.terminating.is_none()));
    }
    Ok(())
}

/// The labels that cause a write.
fn labels(slice: &EndpointSlice) -> BTreeMap<String, String> {
    let mut labels = slice.metadata.labels.clone().unwrap_or_default();
    labels.retain(|key, _| ![SERVICE_NAME, MANAGED_BY, HEADLESS].contains(&key.as_str()));
    labels
}

/// A correct slice gets endpoints only if no other slice of its group can take them.
pub(crate) fn one_slice_at_most_is_opened_for_room(before: &Cluster, plan: &SlicePlan) -> Checked {
    let mut opened = BTreeSet::new();
    for update in plan.types.iter().flat_map(|plan| &plan.update) {
        let old = before.slice(name_of(update));
        let kept = || {
            endpoints(update).iter().zip(endpoints(old)).all(|(new, old)| published(new) == published(old))
        };
        let grew = size(update) > size(old)
            && group(update) == group(old)
            && labels(update) == labels(old)
            && kept();
        prop_assert!(!grew || opened.insert(group(update)), "two slices of a group were opened");
    }
    Ok(())
}

/// Never more slices than a fresh start would need.
pub(crate) fn few_slices_are_created(before: &Cluster, plan: &SlicePlan) -> Checked {
    let desired = desired(before);
    for plan in &plan.types {
        let groups = desired.iter().filter(|(group, _)| group.0 == plan.address_type.as_str());
        let fresh: usize = groups.map(|(_, set)| set.len().div_ceil(before.max)).sum();
        prop_assert!(plan.create.len() <= fresh.max(1));
    }
    Ok(())
}

/// The first slice by name that carries a desired endpoint keeps it.
pub(crate) fn kept_endpoints_did_not_move(before: &Cluster, after: &Cluster) -> Checked {
    let mut homes: BTreeMap<(Group, String), &str> = BTreeMap::new();
    let mut found: Vec<&EndpointSlice> = before.slices.iter().filter(|slice| is_owned(slice)).collect();
    found.sort_by_key(|slice| name_of(slice));
    for slice in found {
        for endpoint in identities(slice) {
            homes.entry((group(slice), endpoint)).or_insert(name_of(slice));
        }
    }
    for slice in &after.slices {
        for endpoint in identities(slice) {
            let home = homes.get(&(group(slice), endpoint)).copied().unwrap_or(name_of(slice));
            prop_assert_eq!(home, name_of(slice));
        }
    }
    Ok(())
}

pub(crate) fn statistics_count_endpoints_and_slices(after: &Cluster, plan: &SlicePlan) -> Checked {
    let desired = desired(after);
    for plan in &plan.types {
        let address_type = plan.address_type.as_str().to_owned();
        for (ports, figures) in &plan.statistics.groups {
            let group_key = (address_type.clone(), format!("{ports:?}"));
            prop_assert_eq!(figures.endpoints, desired.get(&group_key).map_or(0, Vec::len));
            let slices = after.slices.iter().filter(|slice| group(slice) == group_key).count();
            prop_assert_eq!(figures.slices, slices);
        }
    }
    Ok(())
}
