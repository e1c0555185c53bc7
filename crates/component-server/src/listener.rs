//! The listening socket.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 1024;

/// Listens as Go does: an unspecified address means both families if the system has both, and `SO_REUSEADDR` is set, so
/// that a restarted process can bind the address at once.
pub(crate) fn listen(address: SocketAddr, share_port: bool) -> io::Result<TcpListener> {
    if address.ip().is_unspecified() {
        let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, address.port()));
        match open(both, share_port) {
            // Without IPv6, listen on the given family only.
            Err(error) if lacks_family(&error) => (),
            result => return result,
        }
    }
    open(address, share_port)
}

fn lacks_family(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == io::ErrorKind::AddrNotAvailable
}

fn open(address: SocketAddr, share_port: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share_port)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_port_is_shared_only_if_both_sockets_permit_it() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let alone = listen(loopback, false).unwrap();
        let taken = listen(alone.local_addr().unwrap(), true).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        let shared = listen(loopback, true).unwrap();
        listen(shared.local_addr().unwrap(), true).unwrap();
        TcpStream::connect(alone.local_addr().unwrap()).await.unwrap();
    }
}
