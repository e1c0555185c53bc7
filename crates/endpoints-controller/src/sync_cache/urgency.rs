//! The urgency of a write, by the encoded addresses of the stored object.

use std::collections::HashSet;
use std::net::IpAddr;

use endpointslice::desired::published_hostname;
use endpointslice::{Pod, Urgency};
use foldhash::fast::RandomState;
use kube_protobuf::{SubsetView, address_and_hostname};

use super::{NeedsAll, SyncCache};
use crate::desired::address_in_family;
use crate::metadata::is_marked_headless;

impl SyncCache {
    /// The urgency of writing the subset that is wanted in place of `stored`, whose content is another one, as
    /// [`urgency_of_subsets`](endpointslice::urgency::urgency_of_subsets) finds it.
    ///
    /// Cost: a look at each address, before and after. Decoding 1,000 stored ones takes ten times as long.
    ///
    /// # Errors
    ///
    /// The stored subset has other ports, or an address that cannot be read.
    pub(super) fn urgency(&self, stored: &[SubsetView<'_>]) -> Result<Urgency, NeedsAll> {
        let before = match stored {
            [] if self.listed.is_empty() => return Ok(Urgency::Metadata),
            [] => &[][..],
            [subset] if self.ports.as_ref() == Some(&subset.ports) => &subset.addresses,
            _ => return Err(NeedsAll),
        };
        let before = before.iter().map(|address| address_and_hostname(address));
        let before: Vec<(&str, &str)> = before.collect::<Option<_>>().ok_or(NeedsAll)?;
        let old = before.iter().map(|(address, _)| address.parse().map_err(|_| NeedsAll));
        let old: Vec<IpAddr> = old.collect::<Result<_, _>>()?;
        let [ready, _] = self.fitting();
        let new: Vec<IpAddr> = ready.iter().filter_map(|pod| self.address(pod)).collect();
        let (old, new) = (Addresses::from_iter(old), Addresses::from_iter(new));
        let mut missing: Addresses = old.difference(&new).copied().collect();
        if !missing.is_empty() {
            for pod in self.listed.iter().filter(|pod| self.is_ready(pod)) {
                self.address(pod).map(|address| missing.remove(&address));
            }
        }
        if !missing.is_empty() {
            return Ok(Urgency::Withdrawal);
        }
        let names: HashSet<&str, RandomState> = before.iter().map(|(_, hostname)| *hostname).collect();
        let mut hostnames = ready.iter().filter_map(|pod| published_hostname(&self.service, pod));
        Ok(if hostnames.any(|name| !name.is_empty() && !names.contains(name)) {
            Urgency::Name
        } else if old.is_empty() && !new.is_empty() {
            if is_marked_headless(&self.service) { Urgency::Name } else { Urgency::First }
        } else if !new.is_subset(&old) {
            Urgency::Readiness
        } else {
            Urgency::Soft
        })
    }

    fn address(&self, pod: &Pod) -> Option<IpAddr> {
        address_in_family(&self.service, pod)
    }
}

type Addresses = HashSet<IpAddr, RandomState>;
