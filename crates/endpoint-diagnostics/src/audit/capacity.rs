//! Rules about the number of endpoints: per slice, per Service, per Endpoints object.

use std::collections::BTreeMap;

use endpoints_controller::CAPACITY;
use endpointslice::well_known::ENDPOINTS_OVER_CAPACITY;

use super::finding::{Finding, Severity};
use super::group::{Group, Manager, addresses, endpoints};
use super::object::ObjectRef;
use super::rule::{Context, Rule};
use crate::metadata::annotation;
use crate::snapshot::Kind;

pub(super) const RULES: [Rule; 3] = [
    Rule::new("oversized-slice", &[Severity::Info, Severity::Warning], &[], oversized_slice),
    Rule::new("half-empty-slices", &[Severity::Info], &[Kind::Services], half_empty_slices),
    Rule::new(
        "truncated-endpoints",
        &[Severity::Info, Severity::Warning],
        &[Kind::Services, Kind::Endpoints],
        truncated_endpoints,
    ),
];

/// Slices with more endpoints than the controller puts into one. It never splits them.
fn oversized_slice(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let max = context.options.max_per_slice();
    for slice in group.slices_of(Manager::EndpointSlice) {
        let count = endpoints(slice).len();
        if count <= max {
            continue;
        }
        // Without the flag, the controller may well run with a larger one.
        let (severity, which) = match context.options.max_endpoints_per_slice {
            Some(_) => (Severity::Warning, "as --max-endpoints-per-slice says"),
            None => (Severity::Info, "the default of --max-endpoints-per-slice"),
        };
        let finding = Finding::new(
            severity,
            ObjectRef::slice(slice),
            format!(
                "It has {count} endpoints, more than {max}, {which}; each change of one sends all to every node"
            ),
            "Delete the slice when few pods change: its controller creates smaller ones at once",
        );
        findings.push(finding.at("endpoints").of(group.name));
    }
}

/// Services with many more slices than their endpoints need. Controllers do not rebalance slices, on purpose: each write
/// goes to every node.
fn half_empty_slices(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if !group.is_served() {
        return;
    }
    let mut groups: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for slice in group.slices_of(Manager::EndpointSlice) {
        let mut ports: Vec<String> = slice.ports.iter().flatten().map(|port| format!("{port:?}")).collect();
        ports.sort_unstable();
        let (slices, count) = groups.entry((&slice.address_type, ports.concat())).or_default();
        *slices += 1;
        *count += endpoints(slice).len();
    }
    let max = context.options.max_per_slice();
    for ((family, _), (slices, count)) in groups {
        let needed = count.div_ceil(max).max(1);
        // A margin, because slices are filled unevenly by any change of pods.
        if slices > 2 * needed + 1 {
            findings.push(Finding::new(
                Severity::Info,
                group.subject(),
                format!("It has {slices} slices of {family} for {count} endpoints, which fit into {needed}"),
                "Leave them; or delete the emptiest when few pods change, one after the other",
            ));
        }
    }
}

/// Endpoints that lack addresses because they have reached a limit.
fn truncated_endpoints(context: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    let Some(object) = group.endpoints else { return };
    if annotation(&object.metadata, ENDPOINTS_OVER_CAPACITY).is_some() && group.is_served() {
        let finding = Finding::new(
            Severity::Info,
            ObjectRef::endpoints(object),
            format!(
                "It has {} addresses of more: readers of Endpoints do not see the pods beyond {CAPACITY}",
                addresses(object).count()
            ),
            "Let readers use EndpointSlices",
        );
        findings.push(finding.of(group.name));
    }
    if !group.is_mirrored() {
        return;
    }
    let max = context.options.max_per_subset();
    for (index, subset) in object.subsets.iter().flatten().enumerate() {
        let count = subset.addresses.iter().chain(&subset.not_ready_addresses).flatten().count();
        if count > max {
            let finding = Finding::new(
                Severity::Warning,
                ObjectRef::endpoints(object),
                format!(
                    "Only {max} of {count} addresses of a subset are mirrored to slices, which clients read"
                ),
                "Write EndpointSlices instead of Endpoints, or raise --mirroring-max-endpoints-per-subset (1000 at most)",
            );
            findings.push(finding.at(format!("subsets[{index}]")).of(group.name));
        }
    }
}
