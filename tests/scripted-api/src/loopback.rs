//! The script over a real socket: a minimal HTTP/1.1 server that can break the protocol at any point.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::script::{Piece, Script};

/// A server on a loopback port. Dropping it breaks every connection and closes the port.
pub struct Loopback {
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Loopback {
    /// Serves on a free port.
    pub fn start(script: &Arc<Script>) -> Self {
        let [socket, _] = reserve();
        Self::listen(socket, script)
    }

    /// Serves on a reserved port.
    pub fn listen(socket: TcpSocket, script: &Arc<Script>) -> Self {
        let listener = socket.listen(128).unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::clone(script);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&script)));
            }
        });
        Self { address, accepting }
    }

    /// The configuration of a client for an address.
    pub fn config(address: SocketAddr) -> kube::Config {
        kube::Config::new(format!("http://{address}").parse().unwrap())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A free port, twice: for a server, and for its successor. Until either listens, connections are refused, and no other
/// process can take the port.
pub fn reserve() -> [TcpSocket; 2] {
    let bind = |port| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind(([127, 0, 0, 1], port).into()).unwrap();
        socket
    };
    let first = bind(0);
    let port = first.local_addr().unwrap().port();
    [first, bind(port)]
}

/// One request and its answer; then the connection closes, so that every request is a connection of its own.
async fn serve(mut stream: TcpStream, script: Arc<Script>) -> Option<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut body = bytes.split_off(end + 4);
    let mut lines = head.lines();
    let mut request_line = lines.next()?.split(' ');
    let (method, uri): (Method, &str) = (request_line.next()?.parse().unwrap(), request_line.next()?);
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        headers.insert(name.parse::<HeaderName>().unwrap(), value.trim().parse().unwrap());
    }
    let length = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let mut reply = script.reply(method, uri, headers, Bytes::from(body));
    let Some((code, headers)) = &reply.header else {
        reply.given();
        return std::future::pending().await;
    };
    let mut head = format!("HTTP/1.1 {code}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {}\r\n", value.to_str().unwrap()).unwrap();
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    for piece in reply.body.by_ref().collect::<Vec<_>>() {
        match piece {
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            Piece::Bytes(bytes) => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                stream.write_all(&chunk).await.ok()?;
            }
            Piece::Pause(pause) => sleep(pause).await,
            Piece::Hang => {
                reply.given();
                std::future::pending::<()>().await;
            }
            Piece::Cut => {
                reply.given();
                return None;
            }
        }
    }
    stream.write_all(b"0\r\n\r\n").await.ok()?;
    reply.given();
    Some(())
}
