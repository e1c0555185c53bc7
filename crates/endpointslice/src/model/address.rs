//! IP addresses and address types.

use std::net::IpAddr;
use std::ops::Deref;
use std::{fmt, slice};

/// The kind of addresses in a slice. Ordered as slices are written: IPv4 first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressType {
    /// IPv4 addresses.
    Ipv4,
    /// IPv6 addresses.
    Ipv6,
}

impl AddressType {
    /// The name in `EndpointSlice.addressType`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }

    /// The type of an address. IPv4-mapped IPv6 addresses have been unwrapped by [`parse_ip`].
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Ipv4,
            IpAddr::V6(_) => Self::Ipv6,
        }
    }

    /// Reads `EndpointSlice.addressType`; `None` for `FQDN` and unknown types.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "IPv4" => Some(Self::Ipv4),
            "IPv6" => Some(Self::Ipv6),
            _ => None,
        }
    }
}

impl fmt::Display for AddressType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A list of addresses. A single one, which most pods have, takes no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Addresses(Repr);

/// A list of one address is always the first.
#[derive(Clone, PartialEq, Eq)]
enum Repr {
    One(IpAddr),
    Others(Box<[IpAddr]>),
}

impl FromIterator<IpAddr> for Addresses {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        let mut addresses = addresses.into_iter();
        Self(match (addresses.next(), addresses.next()) {
            (Some(only), None) => Repr::One(only),
            (first, second) => Repr::Others(first.into_iter().chain(second).chain(addresses).collect()),
        })
    }
}

impl Deref for Addresses {
    type Target = [IpAddr];

    fn deref(&self) -> &[IpAddr] {
        match &self.0 {
            Repr::One(address) => slice::from_ref(address),
            Repr::Others(addresses) => addresses,
        }
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Reads an IP address as Kubernetes does: leading zeros of a number don't matter, those of IPv4 octets included, and an
/// IPv4-mapped IPv6 address is an IPv4 address (`k8s.io/utils/net` `ParseIPSloppy`).
///
/// Cost: no allocation, unless there are leading zeros or the text is not an address.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().or_else(|_| without_leading_zeros(text).parse()).ok()?;
    Some(address.to_canonical())
}

/// Appends the text of an address, as `Display` does.
///
/// Cost: for IPv4, a small part of that of a format.
pub fn append_address(text: &mut String, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            for (position, octet) in address.octets().into_iter().enumerate() {
                if position > 0 {
                    text.push('.');
                }
                append_octet(text, octet);
            }
        }
        IpAddr::V6(address) => text.push_str(&address.to_string()),
    }
}

fn append_octet(text: &mut String, octet: u8) {
    let digit = |digit: u8| char::from(b'0' + digit);
    if octet >= 100 {
        text.push(digit(octet / 100));
    }
    if octet >= 10 {
        text.push(digit(octet / 10 % 10));
    }
    text.push(digit(octet % 10));
}

/// True if the API server accepts the address in a slice: not unspecified, loopback or link-local
/// (`pkg/apis/core/validation` `ValidateEndpointIP`).
///
/// A single refused address would keep the whole slice from being written.
pub fn is_allowed_in_slices(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let multicast_link_local = matches!(v4.octets(), [224, 0, 0, _]);
            !(v4.is_unspecified() || v4.is_loopback() || v4.is_link_local() || multicast_link_local)
        }
        IpAddr::V6(v6) => {
            let multicast_link_local = v6.segments().first().is_some_and(|first| first & 0xff0f == 0xff02);
            !(v6.is_unspecified() || v6.is_loopback() || v6.is_unicast_link_local() || multicast_link_local)
        }
    }
}

/// The text with every number as short as possible, the only form that the standard library reads.
fn without_leading_zeros(text: &str) -> String {
    let mut shortened = String::with_capacity(text.len());
    let mut within_number = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_leading_zero =
            character == '0' && !within_number && characters.peek().is_some_and(char::is_ascii_hexdigit);
        within_number = character.is_ascii_hexdigit() && !is_leading_zero;
        if !is_leading_zero {
            shortened.push(character);
        }
    }
    shortened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_allowed() {
        for (address, allowed) in [
            ("10.0.0.1", true),
            ("192.0.2.1", true),
            ("fd00::1", true),
            ("2001:db8::1", true),
            ("239.0.0.1", true),
            ("ff05::1", true),
            ("0.0.0.0", false),
            ("127.0.0.1", false),
            ("127.8.8.8", false),
            ("169.254.1.1", false),
            ("224.0.0.7", false),
            ("::", false),
            ("::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_allowed_in_slices(parse_ip(address).unwrap()), allowed, "{address}");
        }
    }

    #[test]
    fn an_address_is_appended_as_it_is_displayed() {
        let octets = (0..=u8::MAX).map(|octet| format!("{octet}.0.{}.{octet}", octet.wrapping_mul(7)));
        for text in octets.chain(["fd00::1".to_owned(), "2001:db8:0:1:1:1:1:1".to_owned()]) {
            let mut appended = "at ".to_owned();
            append_address(&mut appended, text.parse().unwrap());
            assert_eq!(appended, format!("at {text}"));
        }
    }

    #[test]
    fn a_list_of_addresses_is_that_list() {
        let all = ["10.0.0.1", "fd00::1", "10.0.0.2"].map(|text| parse_ip(text).unwrap());
        for count in 0..=all.len() {
            let list: Addresses = all[..count].iter().copied().collect();
            assert_eq!(*list, all[..count]);
            assert_eq!(format!("{list:?}"), format!("{:?}", &all[..count]));
        }
        assert_eq!(size_of::<Addresses>(), 24);
    }
}
