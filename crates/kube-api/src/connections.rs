//! The connection pool of a client.

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::info;

use crate::connector::Connector;

/// The pings that detect a dead HTTP/2 connection.
///
/// Pings reach the other end of the HTTP/2 connection, while TCP probes are answered by any proxy in between. They are
/// sent with and without requests in progress, so that no request meets a connection that has been dead for long.
///
/// The default notices a dead peer within 25 s (client-go: 30 s and 15 s, `k8s.io/apimachinery` `pkg/util/net`).
/// Cost: a frame of 17 bytes each way for a connection on which nothing came for the interval.
#[derive(Clone, Copy, Debug)]
pub struct KeepAlive {
    /// The time without a frame from the server after which a ping is sent.
    pub interval: Duration,
    /// The time limit of the response to a ping.
    pub timeout: Duration,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(15), timeout: Duration::from_secs(10) }
    }
}

/// The time after which an idle connection is closed. API servers close it after 90 s: a request sent at that moment
/// would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The flow-control window of one response: with 10 ms to the server, 100 MB/s.
const STREAM_WINDOW: u32 = 1 << 20;
/// The flow-control window of a connection. It holds sixteen unread watches, and there are fewer. Memory is used only
/// for received bytes that are not read yet.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// A request cancelled after this time without the header of a response makes its connection doubtful. Less than the
/// shortest time limit of a request of an election (1 s, counted from slightly earlier).
const DOUBTFUL_AFTER: Duration = Duration::from_millis(900);

type Pool = legacy::Client<Connector, Body>;

/// The connections of a client. All are replaced after a request on one of them was cancelled without a response,
/// because others may lead to the same dead server. The old ones close after the requests in progress.
pub(crate) struct Connections {
    connector: Connector,
    keep_alive: KeepAlive,
    pool: Mutex<Arc<Pool>>,
}

impl Connections {
    /// An empty pool.
    pub(crate) fn new(connector: Connector, keep_alive: KeepAlive) -> Arc<Self> {
        let pool = Mutex::new(Arc::new(pool(connector.clone(), keep_alive)));
        Arc::new(Self { connector, keep_alive, pool })
    }

    /// Sends a request and waits for the header of its response. The caller bounds the wait by dropping the future.
    pub(crate) async fn send(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        let pool = Arc::clone(&self.pool.lock());
        let origin = Origin { pool: Arc::downgrade(&pool), connections: self };
        let mut wait = HeaderWait { since: Instant::now(), origin: Some(origin) };
        let response = pool.request(request).await;
        let origin = wait.origin.take();
        let mut response = response?;
        if let Some(origin) = origin {
            response.extensions_mut().insert(origin);
        }
        Ok(response)
    }

    /// Replaces the pool, unless that has happened already.
    fn replace(&self, distrusted: &Weak<Pool>) {
        let mut pool = self.pool.lock();
        if Arc::downgrade(&pool).ptr_eq(distrusted) {
            info!("No response from the API server, opening new connections");
            *pool = Arc::new(self::pool(self.connector.clone(), self.keep_alive));
        }
    }
}

fn pool(connector: Connector, keep_alive: KeepAlive) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http2_keep_alive_interval(keep_alive.interval)
        .http2_keep_alive_timeout(keep_alive.timeout)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .build(connector)
}

/// The connections of a response; an extension of responses.
#[derive(Clone)]
pub struct Origin {
    connections: Arc<Connections>,
    /// Weak, so that the idle connections of a replaced pool close.
    pool: Weak<Pool>,
}

impl Origin {
    /// Reports that the rest of the response does not come: the next requests use new connections.
    pub fn distrust(&self) {
        self.connections.replace(&self.pool);
    }
}

/// The wait for the header of a response.
struct HeaderWait {
    since: Instant,
    /// None after a response, or after an error, which the connection itself has noticed.
    origin: Option<Origin>,
}

impl Drop for HeaderWait {
    fn drop(&mut self) {
        if let Some(origin) = self.origin.take().filter(|_| self.since.elapsed() >= DOUBTFUL_AFTER) {
            origin.distrust();
        }
    }
}
