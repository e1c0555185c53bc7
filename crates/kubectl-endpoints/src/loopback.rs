//! Addresses of servers for one user of this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A free port of this machine.
pub(crate) const FREE_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Parses an address and a port, of loopback only.
///
/// # Errors
/// The requirement on the address, for a message that begins with the flag.
pub(crate) fn parse(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => {
            Err("must be a loopback address, because the server is for programs of this machine".to_owned())
        }
        Err(_) => Err("must be an address and a port, such as 127.0.0.1:8080".to_owned()),
    }
}
