//! Rules about the endpoints of slices: each is there once, and its pod exists.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use endpointslice::model::parse_ip;
use k8s_openapi::api::core::v1::{EndpointAddress, ObjectReference};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

use super::finding::{Finding, Severity};
use super::group::{Group, Manager, addresses, endpoints, is_managed};
use super::object::ObjectRef;
use super::repair::{Action, Repair};
use super::rule::{Context, Rule};
use crate::snapshot::{Kind, NamespaceObjects};
use crate::traffic::is_ready;

pub(super) const RULES: [Rule; 2] = [
    Rule::new("duplicate-endpoint", &[Severity::Warning], &[], duplicate_endpoint),
    Rule::new("stale-pod", &[Severity::Warning, Severity::Error], &[Kind::Services, Kind::Pods], stale_pod),
];

/// The identity of an endpoint within the slices of one manager: port set, addresses and target.
type Identity<'a> = (Manager<'a>, &'a str, Vec<PortKey<'a>>, &'a [String], &'a str, &'a str);
type PortKey<'a> = (&'a str, &'a str, i32, &'a str);

fn port_key(port: &EndpointPort) -> PortKey<'_> {
    let [name, protocol, application] =
        [&port.name, &port.protocol, &port.app_protocol].map(|text| text.as_deref().unwrap_or_default());
    (name, protocol, port.port.unwrap_or_default(), application)
}

fn identity<'a>(slice: &'a EndpointSlice, endpoint: &'a Endpoint, ports: &[PortKey<'a>]) -> Identity<'a> {
    let target = endpoint.target_ref.as_ref();
    let text = |field: fn(&ObjectReference) -> &Option<String>| {
        target.and_then(|target| field(target).as_deref()).unwrap_or_default()
    };
    let (name, uid) = (text(|target| &target.name), text(|target| &target.uid));
    (Manager::of(slice), &slice.address_type, ports.to_vec(), &endpoint.addresses, name, uid)
}

/// Endpoints that are in several slices of one manager, or in one slice twice (kubernetes#100033).
///
/// The slices with the most endpoints count as the right ones. A slice may be deleted if all of its endpoints are in others,
/// where they are as ready: the copy that stays may be a stale one.
fn duplicate_endpoint(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if group.name.is_empty() {
        return;
    }
    let mut slices = group.slices.clone();
    slices.sort_by_key(|slice| std::cmp::Reverse(endpoints(slice).len()));
    let mut first: HashMap<Identity<'_>, (&EndpointSlice, &Endpoint)> = HashMap::new();
    for slice in slices {
        let mut ports: Vec<PortKey<'_>> = slice.ports.iter().flatten().map(port_key).collect();
        ports.sort_unstable();
        let mut found: Option<(usize, &EndpointSlice)> = None;
        let (mut count, mut elsewhere) = (0, 0);
        for (index, endpoint) in endpoints(slice).iter().enumerate() {
            match first.get(&identity(slice, endpoint, &ports)) {
                Some((other, kept)) => {
                    count += 1;
                    elsewhere += usize::from(!std::ptr::eq(*other, slice) && is_as_ready(kept, endpoint));
                    found.get_or_insert((index, other));
                }
                None => drop(first.insert(identity(slice, endpoint, &ports), (slice, endpoint))),
            }
        }
        let Some((index, other)) = found else { continue };
        let finding = duplicate(slice, index, count, other);
        let is_superfluous = elsewhere == endpoints(slice).len();
        let repair = is_superfluous.then(|| Repair::of_slice(slice, Action::Delete)).flatten();
        findings.push(finding.of(group.name).repaired_by(repair));
    }
}

/// True if clients that find `kept` and no longer `endpoint` send requests there as before.
fn is_as_ready(kept: &Endpoint, endpoint: &Endpoint) -> bool {
    let conditions = |endpoint: &Endpoint| {
        let given = endpoint.conditions.as_ref();
        let ready = given.and_then(|it| it.ready).unwrap_or(true);
        (ready, given.and_then(|it| it.serving).unwrap_or(ready))
    };
    let (kept, lost) = (conditions(kept), conditions(endpoint));
    kept.0 >= lost.0 && kept.1 >= lost.1
}

fn duplicate(slice: &EndpointSlice, index: usize, count: usize, other: &EndpointSlice) -> Finding {
    let address = endpoints(slice).get(index).and_then(|endpoint| endpoint.addresses.first());
    let address = address.map(String::as_str).unwrap_or_default();
    let place = if std::ptr::eq(slice, other) {
        "the same slice".to_owned()
    } else {
        format!("slice {}", crate::metadata::name(&other.metadata))
    };
    let message = format!(
        "{count} of its {} endpoints are published twice, the first is {address}, also in {place}: clients that do not \
         merge slices give them double weight",
        endpoints(slice).len()
    );
    let remedy = if Manager::of(slice).is_ours() {
        "Change the Service, for instance by an annotation: its next sync removes the duplicates; or delete the slice if \
         all its endpoints are in others"
            .to_owned()
    } else {
        format!("Report it to the maintainers of {}", Manager::of(slice).name())
    };
    let finding = Finding::new(Severity::Warning, ObjectRef::slice(slice), message, remedy);
    finding.at(format!("endpoints[{index}]"))
}

/// Endpoints of the controllers whose pod is gone, has ended, or is another one.
fn stale_pod(_: &Context<'_>, group: &Group<'_>, findings: &mut Vec<Finding>) {
    if !group.is_served() || group.is_ending {
        return;
    }
    for slice in group.slices_of(Manager::EndpointSlice) {
        let stale = endpoints(slice).iter().enumerate().filter_map(|(index, endpoint)| {
            let is_ready = is_ready(endpoint);
            let given = endpoint.addresses.iter().map(String::as_str);
            let target = endpoint.target_ref.as_ref()?;
            let cause = cause(group.objects, target, given, is_ready)?;
            Some(Stale { field: format!("endpoints[{index}]"), is_ready, cause, pod: identity_of(target) })
        });
        findings.extend(stale_finding(ObjectRef::slice(slice), stale.collect()).map(|it| it.of(group.name)));
    }
    if let Some(object) = group.endpoints.filter(|endpoints| is_managed(endpoints)) {
        let ready: HashSet<&str> = object
            .subsets
            .iter()
            .flatten()
            .flat_map(|subset| subset.addresses.iter().flatten())
            .map(|address| &*address.ip)
            .collect();
        let mut seen = HashSet::new();
        // An address of several subsets counts once.
        let target =
            |address: &'_ EndpointAddress| address.target_ref.as_ref().and_then(|it| it.name.clone());
        let once = addresses(object).filter(|address| seen.insert((&address.ip, target(address))));
        let stale = once.filter_map(|address| {
            let is_ready = ready.contains(&*address.ip);
            let given = std::iter::once(&*address.ip);
            let target = address.target_ref.as_ref()?;
            let cause = cause(group.objects, target, given, is_ready)?;
            let field = format!("subsets[].addresses[{}]", address.ip);
            Some(Stale { field, is_ready, cause, pod: identity_of(target) })
        });
        findings
            .extend(stale_finding(ObjectRef::endpoints(object), stale.collect()).map(|it| it.of(group.name)));
    }
}

/// An endpoint that should not be there.
struct Stale {
    field: String,
    is_ready: bool,
    cause: String,
    /// The pod that is published.
    pod: String,
}

/// The pod of a target, as `name/uid`: a later pod of the name is another one.
fn identity_of(target: &ObjectReference) -> String {
    let [name, uid] = [&target.name, &target.uid].map(|text| text.as_deref().unwrap_or_default());
    format!("{name}/{uid}")
}

/// One finding for all stale endpoints of an object.
fn stale_finding(object: ObjectRef, stale: Vec<Stale>) -> Option<Finding> {
    let (count, any_ready) = (stale.len(), stale.iter().any(|it| it.is_ready));
    let pods = stale.iter().map(|it| it.pod.clone()).collect();
    let Stale { field, cause, .. } = stale.into_iter().max_by_key(|it| it.is_ready)?;
    let others = if count > 1 { format!(" ({} others likewise)", count - 1) } else { String::new() };
    let (severity, effect) = if any_ready {
        (Severity::Error, "clients send requests there")
    } else {
        (Severity::Warning, "it is not ready, so that clients send no requests there")
    };
    let finding = Finding::new(
        severity,
        object,
        format!("{cause}{others}; {effect}"),
        "Check that the controllers run and lead (their Lease, their log): they remove it within seconds; then change the \
         Service, for instance by an annotation",
    );
    Some(finding.at(field).about(pods))
}

/// The reason for which an endpoint of a pod should not be there.
fn cause<'a>(
    objects: &NamespaceObjects,
    target: &ObjectReference,
    given: impl Iterator<Item = &'a str>,
    is_ready: bool,
) -> Option<String> {
    let name = target.name.as_deref().filter(|_| target.kind.as_deref() == Some("Pod"))?;
    let Some(entry) = objects.pod(name) else { return Some(format!("The pod {name} does not exist")) };
    let (uid, published) = (entry.object.metadata.uid.as_deref(), target.uid.as_deref());
    if published.is_some_and(|published| Some(published) != uid) {
        return Some(format!("The pod {name} is another one than was published: it was replaced"));
    }
    if entry.pod.terminal && is_ready {
        return Some(format!("The pod {name} has ended"));
    }
    let has = |address: &IpAddr| entry.pod.addresses.iter().any(|own| own == address);
    let other = given.filter_map(parse_ip).find(|address| !has(address))?;
    Some(format!("The pod {name} does not have the address {other}"))
}
