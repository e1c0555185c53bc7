//! One connection: TLS if there is any, then HTTP, each with its time limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, trace};

use super::activity::Activity;
use super::streamed::Streamed;
use crate::authentication::Peer;
use crate::connection_limit::ConnectionSlot;
use crate::handler_chain::Handler;
use crate::options::{Limits, ServingOptions};

/// The smallest buffer that hyper accepts, in bytes.
const MIN_BUFFER: u32 = 8 << 10;
/// Bytes of requests' bodies that a connection may keep waiting: the smallest window that HTTP/2 has. hyper's default is a
/// mebibyte, which each of the connections of strangers could fill; no request to these pages has a body of note.
const WINDOW: u32 = (64 << 10) - 1;
/// Lines of a request header in HTTP/1.1. Go bounds only their bytes, and a front proxy sends a line for each group of a user;
/// hyper's default is 100. It reserves room for each before it reads them.
const HEADER_LINES: usize = 1_000;
/// Concurrent streams of a connection if no flag configures them.
const DEFAULT_STREAMS: u32 = 100;
/// Streams that the client has reset and the server has not yet processed or forgotten. A further one ends the
/// connection.
const RESET_STREAMS: usize = 20;

/// State that all connections share.
pub(super) struct Server<H> {
    pub(super) handler: H,
    /// None without TLS.
    pub(super) tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) http: HttpVersions,
    pub(super) limits: Limits,
}

/// Both versions of HTTP. ALPN chooses one, so neither has to be detected from the first bytes.
pub(super) struct HttpVersions {
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
}

impl HttpVersions {
    pub(super) fn new(options: &ServingOptions) -> Self {
        let limits = &options.limits;
        let header_bytes = limits.header_bytes.max(MIN_BUFFER);
        let streams = match options.http2_max_streams_per_connection {
            0 => DEFAULT_STREAMS,
            streams => streams,
        };
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .max_headers(HEADER_LINES)
            .max_buf_size(usize::try_from(header_bytes).unwrap_or(usize::MAX));
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(streams)
            .max_header_list_size(header_bytes)
            .initial_connection_window_size(WINDOW)
            .initial_stream_window_size(WINDOW)
            .max_pending_accept_reset_streams(RESET_STREAMS)
            .max_local_error_reset_streams(RESET_STREAMS)
            // Pings detect a client that disappeared without closing the connection.
            .keep_alive_interval(limits.header)
            .keep_alive_timeout(limits.handshake);
        Self { http1: builder.clone().http1_only(), http2: builder.http2_only() }
    }
}

impl<H: Handler> Server<H> {
    /// Serves a connection until it is closed.
    pub(super) async fn serve(
        self: &Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        slot: &Arc<ConnectionSlot>,
    ) {
        let mut stopping = self.stopping.clone();
        let Some(tls) = &self.tls else {
            _ = stream.set_nodelay(true);
            return self.serve_http(stream, Peer::new(address.ip(), vec![]), false, slot).await;
        };
        let config = Arc::clone(&tls.borrow());
        let handshake = tokio::select! {
            handshake = timeout(self.limits.handshake, handshake(stream, config)) => handshake,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        match handshake {
            Ok(Ok(Some(stream))) => {
                let (_, session) = stream.get_ref();
                let chain = session.peer_certificates().unwrap_or_default().to_vec();
                let is_http2 = session.alpn_protocol() == Some(b"h2");
                self.serve_http(stream, Peer::new(address.ip(), chain), is_http2, slot).await;
            }
            Ok(Ok(None)) => trace!(peer = %address, "Client sent an HTTP request to an HTTPS server"),
            Ok(Err(error)) => trace!(peer = %address, err = %error, "TLS handshake error"),
            Err(_) => trace!(peer = %address, "TLS handshake timeout"),
        }
    }

    async fn serve_http(
        self: &Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
        is_http2: bool,
        slot: &Arc<ConnectionSlot>,
    ) {
        let (address, peer) = (peer.address(), Arc::new(peer));
        let http = if is_http2 { &self.http.http2 } else { &self.http.http1 };
        let activity = Activity::default();
        let service = service_fn(|request: Request<Incoming>| {
            let (server, peer, slot) = (Arc::clone(self), Arc::clone(&peer), Arc::clone(slot));
            let activity = activity.clone();
            // Outside of the future: a request that is dropped before its first poll counts, too.
            let mut in_progress = activity.start_request();
            async move {
                slot.touch();
                let outcome = server.handler.serve(&peer, request.map(Body::new)).await;
                slot.touch();
                if outcome.is_authenticated || !is_http2 {
                    in_progress.keep_connection();
                }
                // A stranger's stream must not keep a connection.
                Ok::<Response, Infallible>(if outcome.is_authenticated {
                    let streamed = |body| Body::new(Streamed { body, slot, activity, wait: None });
                    outcome.response.map(streamed)
                } else {
                    outcome.response
                })
            }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let result = tokio::select! {
            result = connection.as_mut() => Ok(result),
            () = activity.closing(self.limits.idle, self.stopping.clone()) => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    result = timeout(self.limits.grace, connection) => result,
                    () = activity.too_many_late_requests() => {
                        return debug!(peer = %address, "Connection aborted: the client kept sending requests after GOAWAY");
                    }
                }
            }
        };
        if let Ok(Err(error)) = result {
            debug!(peer = %address, err = %error, "Connection ended early");
        }
    }
}

/// Performs the TLS handshake. Returns none after responding as Go does to a client that sent plain HTTP.
async fn handshake(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
) -> std::io::Result<Option<TlsStream<TcpStream>>> {
    stream.set_nodelay(true)?;
    let mut first = [0];
    stream.peek(&mut first).await?;
    if first.iter().any(u8::is_ascii_uppercase) {
        let answer = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        return Ok(None);
    }
    TlsAcceptor::from(config).accept(stream).await.map(Some)
}
