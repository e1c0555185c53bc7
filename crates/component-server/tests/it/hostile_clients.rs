//! Malicious and broken clients. Whatever they send, `/healthz` responds.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use crate::support::client::{Client, Options, fetch, request, tls};
use crate::support::{LIMIT, Setup, TestServer, eventually};
use component_server::Limits;
use http::Method;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_millis(100);

/// A server with other limits. Of the time limits, only those of the test's subject should be short: a busy machine exceeds them.
fn with_limits(change: impl FnOnce(&mut Limits)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.serving.limits);
    setup
}

async fn assert_healthy(server: &TestServer) {
    let response = fetch(server.address, &Options::default(), Method::GET, "/healthz", &[]).await;
    assert_eq!((response.status.as_u16(), response.body.as_str()), (200, "ok"));
}

/// Waits until a probe is answered by a server with a short time limit, which may rightly close the connection of a slow
/// client.
async fn eventually_healthy(server: &TestServer) {
    let probe = async || {
        let mut client = Client::connect(server.address, &Options::default()).await.ok()?;
        client.get("/healthz").await.ok()
    };
    eventually(async || {
        probe().await.is_some_and(|response| response.status == 200 && response.body == "ok")
    })
    .await;
}

/// Reads until the server closes the connection.
async fn read_to_close(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    match tokio::time::timeout(LIMIT, stream.read_to_end(&mut rest))
        .await
        .expect("the server closes the connection")
    {
        Ok(_) => rest,
        Err(error) if is_close(&error) => rest,
        Err(error) => panic!("{error}"),
    }
}

/// True if the connection was closed, with or without a TLS alert.
fn is_close(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe)
}

#[tokio::test]
async fn invalid_bytes_close_only_their_own_connection() {
    let server = with_limits(|limits| limits.handshake = SOON).start().await;
    let mut random = fastrand::Rng::with_seed(1);
    for length in [1, 5, 6, 100, 20_000] {
        let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        for first in [0x16, 0x80, 0x00] {
            bytes[0] = first;
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            read_to_close(&mut stream).await;
        }
    }
    eventually_healthy(&server).await;
}

/// Noise, no frames of HTTP/2, a request with two lengths, alongside one whose body never ends.
#[tokio::test]
async fn what_is_no_http_gets_no_page() {
    let server = Setup::default().start().await;
    let mut unfinished = tls(server.address, &Options::default()).await.unwrap();
    unfinished.write_all(b"PUT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n1").await.unwrap();
    let nonsense: [&[u8]; 3] = [
        &[0; 4096],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthese are not frames of HTTP/2 at all",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ];
    for bytes in nonsense {
        let mut stream = tls(server.address, &Options::default()).await.unwrap();
        // Fails if the server was faster.
        let _ = stream.write_all(bytes).await;
        let answer = String::from_utf8_lossy(&read_to_close(&mut stream).await).into_owned();
        assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    }
    assert_healthy(&server).await;
}

#[tokio::test]
async fn plain_http_gets_an_error_response() {
    let server = Setup::default().start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let response = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    let got = read_to_close(&mut stream).await;
    // A reset may overtake the response, because the request was not read.
    assert!(got.is_empty() || got == response, "{}", String::from_utf8_lossy(&got));
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let server = with_limits(|limits| limits.handshake = SOON).start().await;
    let mut nothing = TcpStream::connect(server.address).await.unwrap();
    let mut half_a_hello = TcpStream::connect(server.address).await.unwrap();
    // Fails if the server was faster.
    let _ = half_a_hello.write_all(&[0x16, 3, 1, 0, 200, 1]).await;
    eventually_healthy(&server).await;
    read_to_close(&mut nothing).await;
    read_to_close(&mut half_a_hello).await;

    let server = with_limits(|limits| (limits.idle, limits.grace) = (SOON, SOON)).start().await;
    let mut only_tls = tls(server.address, &Options::default()).await.unwrap();
    let mut only_tls_2 = tls(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
    eventually_healthy(&server).await;
    read_to_close(&mut only_tls).await;
    read_to_close(&mut only_tls_2).await;
}

/// A page's stream of events: what is sent counts as activity.
#[tokio::test]
async fn a_response_that_takes_longer_than_the_idle_time_arrives_whole() {
    let idle = Duration::from_millis(500);
    let server = with_limits(|limits| (limits.idle, limits.grace) = (idle, SOON)).start().await;
    for http2 in [false, true] {
        let options = Options { http2, ..Options::default() };
        eventually(async || {
            // A slow machine may send the request too late.
            let Ok(mut client) = Client::connect(server.address, &options).await else { return false };
            let token = [("authorization", "Bearer admin-token")];
            let response = client.send(request(Method::GET, "/debug/stream", &token)).await;
            response.is_ok_and(|response| response.body == "stream")
        })
        .await;
    }
}

/// A window that is full from the start, and one that a stream fills.
#[tokio::test]
async fn an_unread_response_does_not_keep_a_connection_open() {
    let server = with_limits(|limits| (limits.idle, limits.grace) = (SOON, SOON)).start().await;
    for (window, path) in [(0, "/healthz"), (1, "/debug/stream")] {
        let mut stream = tls(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0";
        // HEADERS that end the stream, of GET https://x with this path.
        let length = u8::try_from(path.len()).unwrap();
        let path = [&b"\x82\x87\x41\x01x\x44"[..], &[length][..], path.as_bytes()].concat();
        let header = [&path[..], &b"\x0f\x08\x12Bearer admin-token"[..]].concat();
        let head = [0, 0, u8::try_from(header.len()).unwrap(), 1, 5, 0, 0, 0, 1];
        let request = [&preface[..], &[window][..], &head[..], &header[..]].concat();
        // Fails if the server was faster.
        let _ = stream.write_all(&request).await;
        let _ = stream.flush().await;
        read_to_close(&mut stream).await;
    }
}

/// A client that sends nothing, and one that sends requests and does not read.
#[tokio::test]
async fn a_plain_server_has_the_same_limits() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().route("/", axum::routing::get(async || "a".repeat(1 << 20)));
    let limits = Limits { idle: SOON, grace: SOON, ..Limits::default() };
    tokio::spawn(component_server::serve_plain(listener, router, limits, std::future::pending()));
    let mut silent = TcpStream::connect(address).await.unwrap();
    read_to_close(&mut silent).await;
    let mut unread = TcpStream::connect(address).await.unwrap();
    let send = async { while unread.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.is_ok() {} };
    tokio::time::timeout(LIMIT, send).await.expect("the server closes the connection");
}

/// A header that arrives byte by byte and never ends: each byte is activity, and yet the time limit applies.
#[tokio::test]
async fn a_slow_header_does_not_keep_a_connection_open() {
    let server = with_limits(|limits| limits.header = SOON).start().await;
    let stream = tls(server.address, &Options::default()).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let send = async {
        // Fails if the server was faster.
        let _ = writer.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await;
        while writer.write_all(b"a").await.is_ok() && writer.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(send, read_to_close(&mut reader));
    eventually_healthy(&server).await;
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let server = Setup::default().start().await;
    let (small, large) = ("a".repeat(30_000), "a".repeat(200_000));
    for http2 in [false, true] {
        let options = Options { http2, ..Options::default() };
        let response = fetch(server.address, &options, Method::GET, "/healthz", &[("x-big", &small)]).await;
        assert_eq!(response.status, 200);
        let mut client = Client::connect(server.address, &options).await.unwrap();
        let response = client.send(request(Method::GET, "/healthz", &[("x-big", &large)])).await;
        // The server may have closed the connection before all of it was sent.
        assert!(response.as_ref().map_or(true, |response| response.status == 431), "{response:?}");
    }
    let many = vec![("x-many", &small[..200]); 900];
    let mut client = Client::connect(server.address, &Options::default()).await.unwrap();
    let response = client.send(request(Method::GET, "/healthz", &many)).await;
    assert!(response.as_ref().map_or(true, |response| response.status == 431), "{response:?}");
    assert_healthy(&server).await;
}

/// A front proxy sends one for each group of its user.
#[tokio::test]
async fn many_short_header_lines_are_read() {
    let server = Setup::default().start().await;
    for http2 in [false, true] {
        let options = Options { http2, ..Options::default() };
        let groups = [("x-remote-group", "team"); 150];
        let response = fetch(server.address, &options, Method::GET, "/healthz", &groups).await;
        assert_eq!((response.status.as_u16(), response.body.as_str()), (200, "ok"), "HTTP/2: {http2}");
    }
}

#[tokio::test]
async fn a_hundred_idle_connections_do_not_block_a_probe() {
    let server = with_limits(|limits| limits.connections = 10).start().await;
    let mut held = Vec::new();
    for _ in 0..100 {
        held.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_healthy(&server).await;
    let open = 10 - 1;
    for stream in &mut held[..100 - open - 1] {
        read_to_close(stream).await;
    }
}

#[tokio::test]
async fn the_idlest_connection_is_evicted() {
    let server = with_limits(|limits| limits.connections = 2).start().await;
    let options = Options::default();
    let mut older = Client::connect(server.address, &options).await.unwrap();
    let mut newer = Client::connect(server.address, &options).await.unwrap();
    assert_eq!(older.get("/healthz").await.unwrap().status, 200);
    assert_healthy(&server).await;
    newer.closed().await;
    assert_eq!(older.get("/healthz").await.unwrap().status, 200);
}

/// Of an evicted client only the review remains, for which other requests may wait.
#[tokio::test]
async fn an_evicted_connection_cancels_its_requests() {
    for http2 in [false, true] {
        let server = with_limits(|limits| limits.connections = 1).start().await;
        let options = Options { http2, ..Options::default() };
        for _ in 0..3 {
            let mut client = Client::connect(server.address, &options).await.unwrap();
            let headers = [("authorization", "Bearer hanging-token")];
            let hanging =
                tokio::spawn(async move { client.send(request(Method::GET, "/healthz", &headers)).await });
            eventually(async || server.api.hanging() == 1).await;
            assert_healthy(&server).await;
            assert!(hanging.await.unwrap().is_err());
        }
        assert!(server.api.hanging() <= 1, "the requests share a review");
    }
}

/// GOAWAY after the first request (CVE-2023-44487), but only for unauthenticated clients, and only with HTTP/2.
#[tokio::test]
async fn unauthenticated_clients_cannot_keep_an_http2_connection() {
    let server = Setup::default().start().await;
    let http2 = Options { http2: true, ..Options::default() };
    for (headers, status) in [(&[][..], 200), (&[("authorization", "Bearer bad-token")], 401)] {
        let mut client = Client::connect(server.address, &http2).await.unwrap();
        let response = client.send(request(Method::GET, "/healthz", headers)).await.unwrap();
        assert_eq!(response.status, status);
        client.closed().await;
    }
    let headers = [("authorization", "Bearer user-token")];
    let mut known = Client::connect(server.address, &http2).await.unwrap();
    let mut anonymous_http1 = Client::connect(server.address, &Options::default()).await.unwrap();
    assert_eq!(known.send(request(Method::GET, "/healthz", &headers)).await.unwrap().status, 200);
    assert_eq!(anonymous_http1.get("/healthz").await.unwrap().status, 200);
    assert!(known.stays_open().await && anonymous_http1.stays_open().await);
    assert_eq!(known.send(request(Method::GET, "/healthz", &headers)).await.unwrap().status, 200);
    assert_eq!(anonymous_http1.get("/healthz").await.unwrap().status, 200);
}

/// The rapid reset of CVE-2023-44487: resetting a request before its response costs a client nothing.
#[tokio::test]
async fn a_client_that_resets_a_request_loses_its_connection() {
    let server = Setup::default().start().await;
    let mut client =
        Client::connect(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
    let headers = [("authorization", "Bearer hanging-token")];
    tokio::select! {
        response = client.send(request(Method::GET, "/healthz", &headers)) => panic!("{response:?}"),
        () = eventually(async || server.api.hanging() == 1) => (), // drops the request
    }
    client.closed().await;
    assert_healthy(&server).await;
}

/// A client that ignores GOAWAY and acknowledges nothing.
#[tokio::test]
async fn a_client_that_ignores_goaway_is_disconnected() {
    let server = with_limits(|limits| (limits.grace, limits.idle) = (2 * LIMIT, 2 * LIMIT)).start().await;
    let mut stream = tls(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    for index in 0..200_u32 {
        // HEADERS that end the stream, of GET https://x/healthz.
        let id = (2 * index + 1).to_be_bytes();
        let header = b"\x82\x87\x44\x08/healthz\x41\x01x";
        let frame = [&[0, 0, u8::try_from(header.len()).unwrap(), 1, 5], &id[..], header].concat();
        let is_sent = stream.write_all(&frame).await.is_ok() && stream.flush().await.is_ok();
        if !is_sent || !is_complete(&mut stream, id).await {
            assert!(index > 100, "{index} requests may have been in transit");
            return assert_healthy(&server).await;
        }
    }
    panic!("the connection was never closed");
}

/// The kind, flags, stream and payload of the next frame of HTTP/2.
async fn frame(stream: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<(u8, u8, [u8; 4], Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await?;
    let [high, middle, low, kind, flags, of @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]).try_into().unwrap()];
    stream.read_exact(&mut payload).await?;
    Ok((kind, flags, of, payload))
}

/// Reads frames until the end of this stream; false if the connection is closed before.
async fn is_complete(stream: &mut (impl AsyncReadExt + Unpin), id: [u8; 4]) -> bool {
    let read = async {
        // DATA or HEADERS with the flag END_STREAM.
        while !matches!(frame(stream).await?, (0 | 1, flags, of, _) if of == id && flags & 1 == 1) {}
        Ok::<_, std::io::Error>(())
    };
    tokio::time::timeout(LIMIT, read).await.expect("a response or a closed connection").is_ok()
}

/// Strangers may send that much on each connection without a response.
#[tokio::test]
async fn a_connection_offers_the_smallest_window() {
    let server = Setup::default().start().await;
    let mut stream = tls(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
    let request = b"\0\0\x0f\x01\x05\0\0\0\x01\x82\x87\x44\x08/healthz\x41\x01x";
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stream.write_all(&[&preface[..], request].concat()).await.unwrap();
    let (mut of_connection, mut of_stream) = (65_535, 65_535);
    loop {
        let (kind, flags, of, payload) = frame(&mut stream).await.unwrap();
        match (kind, of) {
            // DATA or HEADERS that end the stream, SETTINGS, WINDOW_UPDATE.
            (0 | 1, _) if flags & 1 == 1 => break,
            (4, _) => {
                let initial = payload.chunks_exact(6).find(|setting| setting[..2] == [0, 4]);
                of_stream = initial.map_or(of_stream, |it| u32::from_be_bytes(it[2..].try_into().unwrap()));
            }
            (8, [0, 0, 0, 0]) => of_connection += u32::from_be_bytes(payload.try_into().unwrap()),
            _ => {}
        }
    }
    assert_eq!((of_connection, of_stream), (65_535, 65_535));
}

/// Not 401, which means that the token is invalid, and no wait for the API server.
#[tokio::test]
async fn an_address_with_too_many_waiting_requests_gets_429() {
    let mut setup = Setup::default();
    setup.serving.http2_max_streams_per_connection = 1000;
    let server = setup.start().await;
    let stream = tls(server.address, &Options { http2: true, ..Options::default() }).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut requests = JoinSet::new();
    for _ in 0..300 {
        let mut sender = sender.clone();
        requests.spawn(async move {
            let headers = [("authorization", "Bearer hanging-token")];
            sender.send_request(request(Method::GET, "/healthz", &headers)).await
        });
    }
    let first = tokio::time::timeout(LIMIT, requests.join_next()).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!((first.status().as_u16(), first.headers()["retry-after"].to_str().unwrap()), (429, "1"));
}

#[tokio::test]
async fn a_path_that_cannot_be_decoded_is_a_bad_request() {
    let server = Setup::default().start().await;
    let response = fetch(server.address, &Options::default(), Method::GET, "/%ff", &[]).await;
    assert_eq!((response.status.as_u16(), response.body.as_str()), (400, "400 Bad Request\n"));
}

/// The decision concerns the decoded path.
#[tokio::test]
async fn an_encoded_path_does_not_bypass_authorization() {
    let mut setup = Setup::default();
    setup.authorization.always_allow_paths = vec!["/healthz".into(), "/debug/*".into()];
    let server = setup.start().await;
    let status = |path: &'static str| status(server.address, path);
    assert_eq!(status("/%6detrics").await, 403);
    assert_eq!(status("/debug/..%2fmetrics").await, 404);
    assert_eq!(status("/debug/%2e%2e/metrics").await, 404);
    assert_eq!(status("/debug/../metrics").await, 404);
    assert_eq!(status("/metrics?/healthz").await, 403);
    assert_eq!(status("/healthz%3f").await, 403);
}

async fn status(address: SocketAddr, path: &str) -> u16 {
    fetch(address, &Options::default(), Method::GET, path, &[]).await.status.as_u16()
}

#[tokio::test]
async fn shutdown_finishes_requests_in_progress_and_closes_idle_connections() {
    let server = with_limits(|limits| limits.grace = LIMIT).start().await;
    let headers = [("authorization", "Bearer admin-token")];
    let options = Options::default();
    let mut idle = Client::connect(server.address, &options).await.unwrap();
    assert_eq!(idle.get("/healthz").await.unwrap().status, 200);
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut busy = Client::connect(server.address, &options).await.unwrap();
    let slow = tokio::spawn(async move { busy.send(request(Method::GET, "/debug/slow", &headers)).await });
    // The review shows that the request has arrived.
    eventually(async || server.api.reviews().iter().any(|review| review == "token admin-token")).await;
    let address = server.address;
    server.stop().await;
    assert_eq!(slow.await.unwrap().unwrap().body, "slow");
    idle.closed().await;
    read_to_close(&mut silent).await;
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn shutdown_has_a_time_limit() {
    let server = with_limits(|limits| limits.grace = SOON).start().await;
    let headers = [("authorization", "Bearer admin-token")];
    let mut client = Client::connect(server.address, &Options::default()).await.unwrap();
    let endless =
        tokio::spawn(async move { client.send(request(Method::GET, "/debug/endless", &headers)).await });
    eventually(async || server.api.reviews().iter().any(|review| review == "token admin-token")).await;
    server.stop().await;
    assert!(endless.await.unwrap().is_err());
}
