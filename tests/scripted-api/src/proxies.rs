//! Proxies that connect to any destination.

use std::net::SocketAddr;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The protocol of a proxy.
pub enum Protocol {
    /// `CONNECT`.
    Http,
    /// `CONNECT`, with this server behind every name.
    HttpTo(SocketAddr),
    /// `CONNECT`, over TLS.
    Https(TlsAcceptor),
    /// SOCKS version 5 without a password.
    Socks,
}

/// A proxy on a loopback port. Dropping it ends all connections.
pub struct Proxy {
    pub address: SocketAddr,
    asked: UnboundedReceiver<String>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub async fn start(protocol: Protocol) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = unbounded();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let destination = match &protocol {
                    Protocol::Http => tunnel(stream, None).await,
                    Protocol::HttpTo(server) => tunnel(stream, Some(*server)).await,
                    Protocol::Https(acceptor) => tunnel(acceptor.accept(stream).await.unwrap(), None).await,
                    Protocol::Socks => socks(stream).await,
                };
                sender.unbounded_send(destination).unwrap();
            }
        });
        Self { address, asked, _accepting: accepting }
    }

    /// The destination that the next connection asked for.
    pub async fn asked(&mut self) -> String {
        self.asked.next().await.unwrap()
    }

    /// The destinations that connections have asked for since the last call.
    pub fn asked_so_far(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).collect()
    }
}

/// Returns the head of the request.
async fn tunnel(
    mut near: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    server: Option<SocketAddr>,
) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(near.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let target = server.map_or(head.split(' ').nth(1).unwrap().to_owned(), |server| server.to_string());
    near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    near.flush().await.unwrap();
    lead_on(near, target).await;
    head
}

/// Returns the target.
async fn socks(mut near: TcpStream) -> String {
    let mut greeting = [0; 3];
    near.read_exact(&mut greeting).await.unwrap();
    assert_eq!(greeting, [5, 1, 0], "version 5, one method: none");
    near.write_all(&[5, 0]).await.unwrap();
    let mut request = [0; 10];
    near.read_exact(&mut request).await.unwrap();
    assert_eq!(request[..4], [5, 1, 0, 1], "version 5, connect, reserved, IPv4");
    let port = u16::from_be_bytes([request[8], request[9]]);
    let target = SocketAddr::from(([request[4], request[5], request[6], request[7]], port)).to_string();
    near.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    lead_on(near, target.clone()).await;
    target
}

async fn lead_on(mut near: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, target: String) {
    let mut far = TcpStream::connect(target).await.unwrap();
    tokio::spawn(async move { drop(copy_bidirectional(&mut near, &mut far).await) });
}
