//! One connection: TLS, then HTTP, each within its time.

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
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, trace};

use super::activity::Activity;
use crate::authentication::Peer;
use crate::connections::Place;
use crate::filter::Filter;
use crate::options::{Limits, ServingOptions};
use crate::review::{AuthenticationApi, AuthorizationApi};

/// hyper refuses smaller buffers.
const SMALLEST_BUFFER: u32 = 8 << 10;
/// As many as a client is told if no flag says otherwise; rarely will it need two.
const DEFAULT_STREAMS: u32 = 100;
/// Streams that a client may have reset, and that are not looked at yet or cannot be forgotten yet. One more ends the
/// connection.
const RESET_STREAMS: usize = 20;

/// What all connections share.
pub(super) struct Server<A, Z> {
    pub(super) filter: Filter<A, Z>,
    pub(super) tls: watch::Receiver<Arc<ServerConfig>>,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) http: Http,
    pub(super) limits: Limits,
}

/// The two versions of HTTP. Which one is settled by TLS, so neither has to be guessed from the first bytes.
pub(super) struct Http {
    one: auto::Builder<TokioExecutor>,
    two: auto::Builder<TokioExecutor>,
}

impl Http {
    pub(super) fn new(options: &ServingOptions) -> Self {
        let limits = &options.limits;
        let header_bytes = limits.header_bytes.max(SMALLEST_BUFFER);
        let streams = match options.http2_max_streams_per_connection {
            0 => DEFAULT_STREAMS,
            streams => streams,
        };
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .max_buf_size(usize::try_from(header_bytes).unwrap_or(usize::MAX));
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(streams)
            .max_header_list_size(header_bytes)
            .max_pending_accept_reset_streams(RESET_STREAMS)
            .max_local_error_reset_streams(RESET_STREAMS)
            // A client that vanished without a word is found out by a ping.
            .keep_alive_interval(limits.header)
            .keep_alive_timeout(limits.handshake);
        Self { one: builder.clone().http1_only(), two: builder.http2_only() }
    }
}

impl<A: AuthenticationApi, Z: AuthorizationApi> Server<A, Z> {
    /// Serves a connection to its end.
    pub(super) async fn talk(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, place: &Arc<Place>) {
        let mut stopping = self.stopping.clone();
        let handshake = tokio::select! {
            handshake = timeout(self.limits.handshake, self.handshake(stream)) => handshake,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        match handshake {
            Ok(Ok(Some(stream))) => self.http(stream, peer, place).await,
            Ok(Ok(None)) => trace!(%peer, "Client sent an HTTP request to an HTTPS server"),
            Ok(Err(error)) => trace!(%peer, err = %error, "TLS handshake error"),
            Err(_) => trace!(%peer, "TLS handshake timeout"),
        }
    }

    /// None if the client does not even try to speak TLS; then it has been told so, as Go tells it.
    async fn handshake(&self, mut stream: TcpStream) -> std::io::Result<Option<TlsStream<TcpStream>>> {
        stream.set_nodelay(true)?;
        let mut first = [0];
        stream.peek(&mut first).await?;
        if first.iter().any(u8::is_ascii_uppercase) {
            let answer = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
            stream.write_all(answer).await?;
            stream.shutdown().await?;
            return Ok(None);
        }
        let config = Arc::clone(&self.tls.borrow());
        TlsAcceptor::from(config).accept(stream).await.map(Some)
    }

    async fn http(self: &Arc<Self>, stream: TlsStream<TcpStream>, peer: SocketAddr, place: &Arc<Place>) {
        let (_, session) = stream.get_ref();
        let chain = session.peer_certificates().unwrap_or_default().to_vec();
        let client = Arc::new(Peer::new(peer.ip(), chain));
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let http = if is_http2 { &self.http.two } else { &self.http.one };
        let activity = Activity::default();
        let service = service_fn(|request: Request<Incoming>| {
            let (server, client, place) = (Arc::clone(self), Arc::clone(&client), Arc::clone(place));
            // From here on, and not only once it is polled: a request that is dropped before that counts, too.
            let in_progress = activity.begin();
            async move {
                place.touch();
                let outcome = server.filter.answer(&client, request.map(Body::new)).await;
                place.touch();
                if outcome.is_known || !is_http2 {
                    in_progress.keep_connection();
                }
                Ok::<Response, Infallible>(outcome.response)
            }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let result = tokio::select! {
            result = connection.as_mut() => Ok(result),
            () = activity.end(self.limits.idle, self.stopping.clone()) => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    result = timeout(self.limits.grace, connection) => result,
                    () = activity.overrun() => return debug!(%peer, "Connection cut: the client would not leave"),
                }
            }
        };
        if let Ok(Err(error)) = result {
            debug!(%peer, err = %error, "Connection ended early");
        }
    }
}
