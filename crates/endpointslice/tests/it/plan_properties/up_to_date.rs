//! Plans in which some slices are described instead of read.

use std::collections::BTreeSet;

use endpointslice::plan::{MissingEndpoints, UpToDateSlice};
use endpointslice::{
    AddressType, DesiredEndpoints, Packing, PlanOptions, PortSet, SlicePlan, plan, plan_incremental,
};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use proptest::prelude::*;

use super::checks::{identities, identity};
use crate::support::{Cluster, endpoints, name_of, size};

fn ports(slice: &EndpointSlice) -> PortSet {
    PortSet::new(slice.ports.clone().unwrap_or_default())
}

fn is_of_group(slice: &EndpointSlice, address_type: AddressType, group: &PortSet) -> bool {
    slice.address_type == address_type.as_str() && ports(slice) == *group
}

/// True if the slice is right by itself, and no other slice has one of its endpoints.
fn is_up_to_date(slice: &EndpointSlice, cluster: &Cluster) -> bool {
    let own: BTreeSet<String> = identities(slice).into_iter().collect();
    let others = cluster.slices.iter().filter(|other| name_of(other) != name_of(slice));
    let mut shared = others.filter(|other| other.address_type == slice.address_type).flat_map(identities);
    if size(slice) == 0 || own.len() < size(slice) || shared.any(|endpoint| own.contains(&endpoint)) {
        return false;
    }
    let Some(address_type) = AddressType::parse(&slice.address_type) else { return false };
    let mut alone = DesiredEndpoints::new([address_type]);
    for (of, group, set) in cluster.desired().groups().filter(|(of, group, _)| is_of_group(slice, *of, group))
    {
        let present = set.iter().filter(|endpoint| own.contains(&identity(endpoint)));
        present.for_each(|endpoint| alone.insert(of, group.clone(), endpoint.clone()));
    }
    if alone.groups().map(|(_, _, set)| set.len()).sum::<usize>() < size(slice) {
        return false;
    }
    let options = PlanOptions { packing: Packing::Pack { max: usize::MAX }, ..cluster.options() };
    plan(&[slice], alone, &cluster.template(), &options).is_empty()
}

/// The plan, with some of the up-to-date slices described: by the bits of `described`.
pub(super) fn plan_incremental_some(cluster: &Cluster, described: u64) -> Result<SlicePlan, TestCaseError> {
    let chosen = cluster.slices.iter().enumerate();
    let chosen =
        chosen.filter(|(number, slice)| described >> number & 1 == 1 && is_up_to_date(slice, cluster));
    let mut chosen: Vec<&EndpointSlice> = chosen.map(|(_, slice)| slice).collect();
    for _ in 0..MAX_ROUNDS {
        let is_chosen = |slice: &&EndpointSlice| chosen.iter().any(|other| name_of(other) == name_of(slice));
        let others: Vec<&EndpointSlice> = cluster.slices.iter().filter(|slice| !is_chosen(slice)).collect();
        let mut desired = cluster.desired();
        let groups: Vec<PortSet> = chosen.iter().map(|slice| ports(slice)).collect();
        for (slice, group) in chosen.iter().zip(&groups) {
            let address_type = AddressType::parse(&slice.address_type).unwrap();
            let set = desired.group(address_type, group.clone());
            for endpoint in endpoints(slice) {
                prop_assert!(set.take(endpoint).is_some());
            }
        }
        let up_to_date: Vec<UpToDateSlice<'_>> = chosen
            .iter()
            .zip(&groups)
            .map(|(slice, ports)| UpToDateSlice {
                name: name_of(slice),
                address_type: AddressType::parse(&slice.address_type).unwrap(),
                ports,
                endpoints: size(slice),
            })
            .collect();
        match plan_incremental(&others, &up_to_date, desired, &cluster.template(), &cluster.options()) {
            Ok(plan) => return Ok(plan),
            Err(MissingEndpoints(positions)) => {
                prop_assert!(!positions.is_empty());
                let mut number = 0..;
                chosen.retain(|_| !positions.contains(&number.next().unwrap()));
            }
        }
    }
    Err(TestCaseError::fail("the plan asks for slices again and again"))
}

/// The most times that a plan is made: the first asks for slices of tolerated endpoints, the second for those that take the
/// remainders of their groups.
const MAX_ROUNDS: usize = 3;

/// A tenant chooses the number of groups: a Service whose target port is named has one for each number of that port.
#[test]
fn the_slices_of_all_groups_are_asked_for_at_once() {
    let endpoint_of = |ip: String| Endpoint { addresses: vec![ip], ..Endpoint::default() };
    let groups: Vec<PortSet> = (1..=50).map(|port| PortSet::new(vec![numbered(port)])).collect();
    let mut desired = DesiredEndpoints::new([AddressType::Ipv4]);
    for (number, group) in groups.iter().enumerate() {
        desired.insert(AddressType::Ipv4, group.clone(), endpoint_of(format!("10.1.0.{number}")));
    }
    let names: Vec<String> = (0..groups.len()).map(|number| format!("web-{number}")).collect();
    let up_to_date: Vec<UpToDateSlice<'_>> = names
        .iter()
        .zip(&groups)
        .map(|(name, ports)| UpToDateSlice { name, address_type: AddressType::Ipv4, ports, endpoints: 1 })
        .collect();
    let cluster = Cluster::with_pods(0);
    let none: [EndpointSlice; 0] = [];
    let planned = plan_incremental(&none, &up_to_date, desired, &cluster.template(), &cluster.options());
    assert_eq!(planned, Err(MissingEndpoints((0..groups.len()).collect())));
}

fn numbered(port: i32) -> EndpointPort {
    EndpointPort { port: Some(port), ..EndpointPort::default() }
}
