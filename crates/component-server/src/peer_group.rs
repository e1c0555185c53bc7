//! Grouping of client addresses for fair limits.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the unit by which limits count clients: an IPv4 address, or the /64 network of an IPv6 address.
///
/// A host usually owns a whole /64, so counting single IPv6 addresses would limit nothing.
pub(crate) fn peer_group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        IpAddr::V4(address) => address.into(),
    }
}
