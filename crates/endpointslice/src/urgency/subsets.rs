//! The urgency of Endpoints, whose subsets have no slices.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};

use super::{Labels, Urgency, is_headless};
use crate::endpoints::MAX_LISTED;

/// The urgency of replacing the subsets of Endpoints, which have these `labels`.
///
/// `uncut` returns the subsets before they were truncated, of at least the given addresses; none if they were not truncated. An
/// address that is ready there and only does not fit is not a withdrawal, because traffic to it is not lost. It is called if ready
/// addresses are missing `after`, with these.
///
/// Of more than half a million addresses and ports, one is taken to be withdrawn: tenants may store any number.
///
/// Cost: a hash of each address and port, before and after.
pub fn urgency_of_subsets(
    before: &[EndpointSubset],
    after: &[EndpointSubset],
    uncut: impl FnOnce(&[&str]) -> Vec<EndpointSubset>,
    labels: Option<&Labels>,
) -> Urgency {
    if [before, after].iter().any(|subsets| subsets.iter().map(pairs_of).sum::<usize>() > MAX_LISTED) {
        return Urgency::Withdrawal;
    }
    let (old, new) = (ready_pairs(before), ready_pairs(after));
    let missing: Vec<&Pair<'_>> = old.difference(&new).collect();
    if !missing.is_empty() {
        let uncut = uncut(&missing.iter().map(|(address, _)| *address).collect::<Vec<_>>());
        let uncut = ready_pairs(&uncut);
        if missing.iter().any(|pair| !uncut.contains(pair)) {
            return Urgency::Withdrawal;
        }
    }
    if !hostnames(after).is_subset(&hostnames(before)) {
        return Urgency::Name;
    }
    if !ports(&new).is_subset(&ports(&old)) {
        return if is_headless(labels) { Urgency::Name } else { Urgency::First };
    }
    if !new.is_subset(&old) {
        return Urgency::Readiness;
    }
    if before == after { Urgency::Metadata } else { Urgency::Soft }
}

fn pairs_of(subset: &EndpointSubset) -> usize {
    let ports = subset.ports.as_ref().map_or(0, Vec::len);
    subset.addresses.as_ref().map_or(0, Vec::len) * ports.max(1)
}

/// An address and a port that get traffic.
type Pair<'a> = (&'a str, Option<Port<'a>>);

/// The name, the number and the protocol of a port.
type Port<'a> = (&'a str, i32, &'a str);

fn ports<'a>(pairs: &HashSet<Pair<'a>, RandomState>) -> HashSet<Option<Port<'a>>, RandomState> {
    pairs.iter().map(|(_, port)| *port).collect()
}

/// The host names of ready addresses.
fn hostnames(subsets: &[EndpointSubset]) -> HashSet<&str, RandomState> {
    let ready = subsets.iter().flat_map(|subset| subset.addresses.iter().flatten());
    ready.filter_map(|address| address.hostname.as_deref()).filter(|name| !name.is_empty()).collect()
}

fn ready_pairs(subsets: &[EndpointSubset]) -> HashSet<Pair<'_>, RandomState> {
    let mut pairs = HashSet::default();
    for EndpointSubset { addresses, ports, .. } in subsets {
        let ports = ports.as_deref().unwrap_or_default();
        for EndpointAddress { ip, .. } in addresses.iter().flatten() {
            if ports.is_empty() {
                pairs.insert((ip.as_str(), None));
            }
            for EndpointPort { name, port, protocol, .. } in ports {
                let (name, protocol) = (name.as_deref().unwrap_or_default(), protocol.as_deref());
                pairs.insert((ip.as_str(), Some((name, *port, protocol.unwrap_or("TCP")))));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::well_known::HEADLESS;

    /// A subset `PORT READY,... NOT-READY,...` of addresses, or of `ADDRESS@HOSTNAME`.
    fn subset(text: &str) -> EndpointSubset {
        let mut words = text.split(' ');
        let port = words.next().unwrap().parse().ok();
        let ports = port.map(|port| vec![EndpointPort { port, ..EndpointPort::default() }]);
        let mut addresses = || {
            let ips = words.next().unwrap_or_default().split(',').filter(|ip| !ip.is_empty());
            let address = |text: &str| {
                let (ip, hostname) = text.split_once('@').map_or((text, None), |(ip, name)| (ip, Some(name)));
                let hostname = hostname.map(Into::into);
                EndpointAddress { ip: ip.into(), hostname, ..EndpointAddress::default() }
            };
            Some(ips.map(address).collect())
        };
        EndpointSubset { ports, addresses: addresses(), not_ready_addresses: addresses() }
    }

    fn untruncated(_: &[&str]) -> Vec<EndpointSubset> {
        Vec::new()
    }

    #[test]
    fn the_most_urgent_change_of_endpoints_counts() {
        use Urgency::{First, Metadata, Name, Readiness, Soft, Withdrawal};
        for (before, after, expected) in [
            (&["80 1,2"][..], &["80 1"][..], Withdrawal),
            (&["80 1,2"], &["80 1 2"], Withdrawal),
            (&["80 1,2"], &["80 1,3"], Withdrawal),
            (&["- 1"], &[], Withdrawal),
            (&[], &["80 1"], First),
            (&["80  1"], &["80 1"], First),
            (&["80 1"], &["80 1", "81 1"], First),
            (&["80 1 2"], &["80 1,2"], Readiness),
            (&["80 1@etcd-0"], &["80 1@etcd-0,2@etcd-1"], Name),
            (&["80 1@etcd-0"], &["80 1@etcd-0,2@etcd-0"], Readiness),
            (&["80 1 2"], &["80 1 2,3"], Soft),
            (&["80 1 2"], &["80 1 2"], Metadata),
            (&[], &[], Metadata),
        ] {
            let subsets = |texts: &[&str]| texts.iter().copied().map(subset).collect::<Vec<_>>();
            assert_eq!(
                urgency_of_subsets(&subsets(before), &subsets(after), untruncated, None),
                expected,
                "{before:?} -> {after:?}"
            );
        }
        let headless = BTreeMap::from([(HEADLESS.to_owned(), String::new())]);
        assert_eq!(urgency_of_subsets(&[], &[subset("80 1")], untruncated, Some(&headless)), Name);
        let mut large = subset(&format!("80 {}", ["1"; 800].join(",")));
        large.ports.as_mut().unwrap().resize(800, EndpointPort::default());
        assert_eq!(urgency_of_subsets(&[], &[large], untruncated, None), Withdrawal, "it is not looked at");
    }

    #[test]
    fn an_address_that_does_not_fit_is_not_withdrawn() {
        let [before, after] = ["80 1,2", "80 0,1"].map(|text| [subset(text)]);
        for (uncut, expected) in [
            ("80 0,1,2", Urgency::Readiness),
            ("80 0,1 2", Urgency::Withdrawal),
            ("81 0,1,2", Urgency::Withdrawal),
        ] {
            let of_missing = |missing: &[&str]| {
                assert_eq!(missing, ["2"]);
                vec![subset(uncut)]
            };
            assert_eq!(urgency_of_subsets(&before, &after, of_missing, None), expected, "{uncut}");
        }
    }
}
