//! Values that are unique in the cluster: cluster IPs and node ports.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::environment::Environment;

use super::ip::Network;

/// The ranges that are allocated from.
#[derive(Debug, Clone)]
pub(crate) struct Ranges {
    /// A network of IPv4, the default of Services, and one of IPv6.
    pub(crate) services: [Network; 2],
    pub(crate) node_ports: RangeInclusive<u16>,
}

impl Default for Ranges {
    /// `10.96.0.0/16`, `fd00:96::/112`, and ports 30000-32767.
    fn default() -> Self {
        let v4 = Network { address: IpAddr::V4(Ipv4Addr::new(10, 96, 0, 0)), prefix: 16 };
        let v6 = Network { address: IpAddr::V6(Ipv6Addr::new(0xfd00, 0x96, 0, 0, 0, 0, 0, 0)), prefix: 112 };
        Self { services: [v4, v6], node_ports: 30000..=32767 }
    }
}

/// Something that one object has and no other can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Claim {
    Ip(IpAddr),
    Port(u16),
}

/// The claims of all objects of a server.
#[derive(Debug, Default)]
pub(crate) struct Allocators {
    ranges: Ranges,
    taken: Mutex<HashSet<Claim>>,
}

impl Allocators {
    pub(crate) fn new(ranges: Ranges) -> Self {
        Self { ranges, taken: Mutex::default() }
    }

    /// The networks of Services: of IPv4, of IPv6.
    pub(crate) fn services(&self) -> &[Network; 2] {
        &self.ranges.services
    }

    /// The first address of Services, that of the Service `kubernetes`.
    pub(crate) fn first_ip(&self) -> IpAddr {
        let [network, _] = self.services();
        hosts(*network).0
    }

    /// Reserves what is in a stored object. Claims outside of the ranges, or taken, are let be.
    pub(crate) fn adopt(&self, claims: impl IntoIterator<Item = Claim>) {
        self.taken.lock().extend(claims);
    }

    /// Gives claims back.
    pub(crate) fn release(&self, claims: impl IntoIterator<Item = Claim>) {
        let mut taken = self.taken.lock();
        for claim in claims {
            taken.remove(&claim);
        }
    }

    /// Begins to reserve. A dry run looks and reserves nothing.
    pub(crate) fn begin(self: &Arc<Self>, dry_run: bool) -> Reservation {
        let allocators = Some(Arc::clone(self));
        Reservation { allocators, dry_run, taken: Vec::new(), freed: Vec::new() }
    }
}

/// The claims of one write. Dropping it gives back what was taken.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    allocators: Option<Arc<Allocators>>,
    dry_run: bool,
    taken: Vec<Claim>,
    freed: Vec<Claim>,
}

impl Reservation {
    /// Keeps what was taken, and gives back what the object had and no longer uses.
    pub(crate) fn commit(mut self) {
        self.taken.clear();
        if let (Some(allocators), false) = (&self.allocators, self.dry_run) {
            allocators.release(self.freed.drain(..));
        }
    }

    /// Gives a claim of the stored object back once the write is committed.
    pub(crate) fn free(&mut self, claim: Claim) {
        self.freed.push(claim);
    }

    /// Checks that an address is in a range.
    pub(crate) fn check_range(&self, ip: IpAddr) -> Result<(), String> {
        let is_host = |network: &Network| {
            let (first, hosts) = hosts(*network);
            network.contains(ip) && offset(first, ip) < hosts
        };
        if self.allocators.iter().flat_map(|all| all.services()).any(is_host) {
            Ok(())
        } else {
            Err("the provided network does not match the current range".to_owned())
        }
    }

    /// Takes a requested address of a [range](Self::check_range).
    pub(crate) fn take_ip(&mut self, ip: IpAddr) -> Result<(), String> {
        if self.dry_run || self.take(Claim::Ip(ip)) {
            Ok(())
        } else {
            Err("provided IP is already allocated".to_owned())
        }
    }

    /// Takes a free address of the network; absent if there is none. A dry run shows the address of the network.
    pub(crate) fn next_ip(&mut self, network: Network, environment: &dyn Environment) -> Option<IpAddr> {
        if self.dry_run {
            return Some(network.first());
        }
        let (first, hosts) = hosts(network);
        // Requested addresses are usually low ones, so that random ones are high while there are some.
        let low = if hosts < 16 { 0 } else { (hosts / 16).clamp(16, 256) };
        pick(environment, hosts, low, |offset| {
            let ip = add(first, offset);
            self.take(Claim::Ip(ip)).then_some(ip)
        })
    }

    /// Takes a requested port.
    /// Errors: it is taken or out of the range; the text is upstream's.
    pub(crate) fn take_port(&mut self, port: i64) -> Result<(), String> {
        const TAKEN: &str = "provided port is already allocated";
        let range = self.node_ports();
        let Some(port) = u16::try_from(port).ok().filter(|port| self.dry_run || range.contains(port)) else {
            let (first, last) = range.into_inner();
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        };
        if self.take(Claim::Port(port)) { Ok(()) } else { Err(TAKEN.to_owned()) }
    }

    /// Takes a free port; absent if there is none. A dry run shows a port beyond the range, as upstream does.
    pub(crate) fn next_port(&mut self, environment: &dyn Environment) -> Option<u16> {
        if self.dry_run {
            let ports = self.taken.iter().filter_map(|claim| match claim {
                Claim::Port(port) => Some(*port),
                Claim::Ip(_) => None,
            });
            let port = ports.max().unwrap_or(32768).saturating_add(1);
            self.taken.push(Claim::Port(port));
            return Some(port);
        }
        let (first, last) = self.node_ports().into_inner();
        let size = u64::from(last.saturating_sub(first)) + 1;
        let low = if size < 16 { 0 } else { (size / 32).clamp(16, 128) };
        pick(environment, size, low, |offset| {
            let port = first.saturating_add(u16::try_from(offset).unwrap_or(u16::MAX));
            self.take(Claim::Port(port)).then_some(port)
        })
    }

    fn node_ports(&self) -> RangeInclusive<u16> {
        self.allocators.as_ref().map_or(0..=0, |all| all.ranges.node_ports.clone())
    }

    fn take(&mut self, claim: Claim) -> bool {
        let Some(allocators) = &self.allocators else {
            return false;
        };
        let mut taken = allocators.taken.lock();
        let is_free = if self.dry_run {
            !taken.contains(&claim) && !self.taken.contains(&claim)
        } else {
            taken.insert(claim)
        };
        drop(taken);
        if is_free {
            self.taken.push(claim);
        }
        is_free
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let (Some(allocators), false) = (&self.allocators, self.dry_run) {
            allocators.release(self.taken.drain(..));
        }
    }
}

/// The first host of a network and the number of hosts: not the address of the network, and in IPv4 not the broadcast
/// address.
fn hosts(network: Network) -> (IpAddr, u64) {
    let bits = Network::bits(network.address) - network.prefix;
    let size = 1_u64.checked_shl(bits).unwrap_or(u64::MAX);
    let reserved = if network.address.is_ipv4() { 2 } else { 1 };
    (add(network.first(), 1), size.saturating_sub(reserved))
}

fn add(ip: IpAddr, offset: u64) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits().saturating_add(offset)))
        }
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits().saturating_add(u128::from(offset)))),
    }
}

fn offset(first: IpAddr, ip: IpAddr) -> u64 {
    match (first, ip) {
        (IpAddr::V4(first), IpAddr::V4(ip)) => u64::from(ip.to_bits().wrapping_sub(first.to_bits())),
        (IpAddr::V6(first), IpAddr::V6(ip)) => {
            u64::try_from(ip.to_bits().wrapping_sub(first.to_bits())).unwrap_or(u64::MAX)
        }
        _ => u64::MAX,
    }
}

/// Tries the offsets from a random one on: those from `low` to `size` first, the lower ones only if none is left.
fn pick<T>(
    environment: &dyn Environment,
    size: u64,
    low: u64,
    mut take: impl FnMut(u64) -> Option<T>,
) -> Option<T> {
    for (base, len) in [(low, size.saturating_sub(low)), (0, low.min(size))] {
        if len == 0 {
            continue;
        }
        let start = environment.random() % len;
        if let Some(taken) = (start..len).chain(0..start).find_map(|offset| take(base + offset)) {
            return Some(taken);
        }
    }
    None
}

#[cfg(test)]
mod tests;
