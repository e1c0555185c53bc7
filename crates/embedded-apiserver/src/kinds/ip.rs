//! IP addresses as `k8s.io/utils/net` and `net/netip` parse and print them, and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::field::{Errors, Path};
use super::go;

/// Parses an address as Go did before version 1.17: leading zeros are decimal (`ParseIPSloppy`). An IPv4 address that is
/// mapped to IPv6 is an IPv4 address.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    read(text).map(|read| read.ip)
}

/// An address and how it is spelled.
struct Read {
    ip: IpAddr,
    /// True if `netip.ParseAddr` takes it too: it has no leading zeros.
    is_strict: bool,
    /// True if it is an IPv4 address that is mapped to IPv6.
    is_mapped: bool,
}

fn read(text: &str) -> Option<Read> {
    let (spelled, is_strict) = match text.parse() {
        Ok(ip) => (ip, true),
        Err(_) => (sloppy(text)?, false),
    };
    let mapped = match spelled {
        IpAddr::V4(_) => None,
        IpAddr::V6(ip) => ip.to_ipv4_mapped(),
    };
    Some(Read { ip: mapped.map_or(spelled, IpAddr::V4), is_strict, is_mapped: mapped.is_some() })
}

/// An address with leading zeros in its decimal parts.
fn sloppy(text: &str) -> Option<IpAddr> {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            format!("{head}:{}", v4(tail)?).parse().ok().map(IpAddr::V6)
        }
        Some(_) => None,
        None => v4(text).map(IpAddr::V4),
    }
}

fn v4(text: &str) -> Option<Ipv4Addr> {
    let mut bytes = [0_u8; 4];
    let mut parts = text.split('.');
    for byte in &mut bytes {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *byte = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(bytes))
}

/// True if the text is an IPv6 address.
pub(crate) fn is_v6(text: &str) -> bool {
    matches!(parse(text), Some(IpAddr::V6(_)))
}

/// True if the text is an IPv4 address.
pub(crate) fn is_v4(text: &str) -> bool {
    matches!(parse(text), Some(IpAddr::V4(_)))
}

/// Checks an address that must be valid unless it was there before (`IsValidIPForLegacyField`, with upstream's gate
/// `StrictIPCIDRValidation` on, as since 1.36). Says whether it is.
pub(crate) fn check(errors: &mut Errors, path: &Path<'_>, text: &str, before: &[&str]) -> bool {
    if before.contains(&text) {
        return true;
    }
    let reason = match read(text) {
        None => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        Some(Read { is_strict: false, .. }) => "must not have leading 0s",
        Some(Read { is_mapped: true, .. }) => "must not be an IPv4-mapped IPv6 address",
        Some(_) => return true,
    };
    errors.invalid(path, text, reason);
    false
}

/// Checks an address that must be in canonical form too (`IsValidIP`). Says whether it is.
pub(crate) fn check_canonical(errors: &mut Errors, path: &Path<'_>, text: &str) -> bool {
    if !check(errors, path, text, &[]) {
        return false;
    }
    let canonical = parse(text).map(|ip| ip.to_string()).unwrap_or_default();
    if canonical != text {
        let canonical = go::quote(&canonical);
        errors.invalid(path, text, &format!("must be in canonical form ({canonical})"));
        return false;
    }
    true
}

/// Checks that an address can be one of an endpoint (`ValidateEndpointIP`).
pub(crate) fn check_endpoint(errors: &mut Errors, path: &Path<'_>, text: &str) {
    let Some(ip) = parse(text) else {
        errors.invalid(path, text, "must be a valid IP address");
        return;
    };
    if ip.is_unspecified() {
        errors.invalid(path, text, &format!("may not be unspecified ({text})"));
    }
    if ip.is_loopback() {
        errors.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), matches!(ip.octets(), [224, 0, 0, _])),
        IpAddr::V6(ip) => {
            let [a, b, ..] = ip.octets();
            (ip.is_unicast_link_local(), a == 0xff && b & 0x0f == 0x02)
        }
    };
    if link_local {
        errors.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if link_local_multicast {
        errors.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// An address in it.
    pub(crate) address: IpAddr,
    pub(crate) prefix: u32,
}

impl Network {
    pub(crate) const fn bits(address: IpAddr) -> u32 {
        if address.is_ipv4() { 32 } else { 128 }
    }

    /// The first address.
    pub(crate) fn first(self) -> IpAddr {
        match self.address {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
            }
        }
    }

    /// True if the address is in it.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && Self { address, prefix: self.prefix }.first() == self.first()
    }
}
