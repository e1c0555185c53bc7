//! Malicious and broken clients.

use std::io::ErrorKind;

use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::Manager;
use tests::wait::LIMIT;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::certificates::serving_with;
use super::tls::Authority;

/// More than the program accepts at once.
const MORE_CONNECTIONS_THAN_KEPT: usize = 300;

/// Bytes that are not TLS: noise, another protocol, a record longer than allowed.
const GARBAGE: [&[u8]; 4] = [
    &[0xff; 4096],
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    &[0x16, 0x03, 0x01, 0xff, 0xff, 0x01],
    &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28],
];

/// Bytes that are not HTTP, or too many of them.
fn nonsense() -> [Vec<u8>; 4] {
    let header = |size: usize| format!("GET /healthz HTTP/1.1\r\nX-Large: {}\r\n\r\n", "a".repeat(size));
    [
        vec![0; 4096],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthese are no frames of HTTP/2 at all".to_vec(),
        header(200_000).into_bytes(),
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_vec(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_survives_hostile_clients() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("authority");
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = serving_with(&authority.server(folder.path(), "serving"));
    let mut manager = Manager::ours(&cluster, &options).await;
    let port = manager.port();

    for bytes in GARBAGE {
        let mut stream = connect(port).await;
        let _ = stream.write_all(bytes).await; // it may hang up before the end
        assert_is_over(&mut stream, "garbage").await;
    }
    for bytes in nonsense() {
        let mut stream = authority.connect(port).await.unwrap();
        let _ = stream.write_all(&bytes).await;
        let answer = assert_is_over(&mut stream, "nonsense").await;
        assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    }
    assert_healthy(&manager).await;

    // Connections held open meanwhile: silent ones, and those that begin a handshake or a request, and never complete
    // it.
    let mut held: Vec<Box<dyn Send>> = Vec::new();
    for _ in 0..MORE_CONNECTIONS_THAN_KEPT {
        held.push(Box::new(connect(port).await));
    }
    assert_healthy(&manager).await;
    for _ in 0..20 {
        let mut handshake = connect(port).await;
        handshake.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
        held.push(Box::new(handshake));
        let mut request = authority.connect(port).await.unwrap();
        request.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.unwrap();
        held.push(Box::new(request));
        let mut body = authority.connect(port).await.unwrap();
        let unfinished = b"PUT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n1";
        body.write_all(unfinished).await.unwrap();
        held.push(Box::new(body));
    }
    assert_healthy(&manager).await;
    drop(held);
    assert_healthy(&manager).await;
    manager.process().alive().unwrap();
    assert_eq!(manager.stop().await.code(), Some(0));
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

async fn assert_healthy(manager: &Manager) {
    for path in ["/healthz", "/readyz"] {
        assert_eq!(manager.get(path).await, (200, "ok".to_owned()), "{path}");
    }
}

/// The server's output until it closes the connection, which it must.
async fn assert_is_over(stream: &mut (impl AsyncRead + Unpin), after: &str) -> String {
    let mut answer = Vec::new();
    let end = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await;
    if let Err(error) =
        end.unwrap_or_else(|elapsed| panic!("the server still listens after {after}: {elapsed}"))
    {
        let is_hang_up = matches!(
            error.kind(),
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe
        );
        assert!(is_hang_up, "after {after}: {error}");
    }
    String::from_utf8_lossy(&answer).into_owned()
}
