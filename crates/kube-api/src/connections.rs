//! The open connections of one client.

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

/// When a connection over HTTP/2 is thought dead.
///
/// A ping goes to the other end of the HTTP/2 connection, while probes of TCP are answered by any proxy in between. Sent
/// while there are requests and while there are none, so that no request meets a connection that has been dead for long.
///
/// The default notices a dead peer within 25 s (client-go: 30 s and 15 s, `k8s.io/apimachinery` `pkg/util/net`).
/// Cost: a frame of 17 bytes each way for a connection on which nothing came for the interval.
#[derive(Clone, Copy, Debug)]
pub struct KeepAlive {
    /// After this time without a frame from the server it is pinged.
    pub interval: Duration,
    /// How long the answer to a ping may take.
    pub timeout: Duration,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(15), timeout: Duration::from_secs(10) }
    }
}

/// How long a connection may be without requests. API servers close one after 90 s: a request that is sent at that moment
/// would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// What of one answer may be on its way or unread: at 10 ms to the server, 100 MB/s.
const STREAM_WINDOW: u32 = 1 << 20;
/// The same for all answers of a connection. Sixteen watches that nobody reads leave room for the others, and there are
/// fewer. Memory is used only for what came and was not read.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// A request that is given up after this time without the header of an answer casts doubt on its connection.
/// Below the shortest time that an election gives a request (1 s, counted from a moment before this).
const DOUBTFUL_AFTER: Duration = Duration::from_millis(900);

type Pool = legacy::Client<Connector, Body>;

/// The connections that requests go over. They are replaced by new ones as a whole once a request on them was given up
/// without an answer: others of them may lead to the same dead server. The old ones end with the requests that are under
/// way.
pub(crate) struct Connections {
    connector: Connector,
    keep_alive: KeepAlive,
    pool: Mutex<Arc<Pool>>,
}

impl Connections {
    /// None is open yet.
    pub(crate) fn new(connector: Connector, keep_alive: KeepAlive) -> Arc<Self> {
        let pool = Mutex::new(Arc::new(pool(connector.clone(), keep_alive)));
        Arc::new(Self { connector, keep_alive, pool })
    }

    /// Sends a request. The header of its answer may be waited for as long as the caller likes: dropping this is to give up.
    pub(crate) async fn send(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        let pool = Arc::clone(&self.pool.lock());
        let origin = Origin { pool: Arc::downgrade(&pool), connections: self };
        let mut wait = Wait { since: Instant::now(), origin: Some(origin) };
        let answer = pool.request(request).await;
        let origin = wait.origin.take();
        let mut answer = answer?;
        if let Some(origin) = origin {
            answer.extensions_mut().insert(origin);
        }
        Ok(answer)
    }

    /// New connections instead of these, unless that has happened already.
    fn replace(&self, distrusted: &Weak<Pool>) {
        let mut pool = self.pool.lock();
        if Arc::downgrade(&pool).ptr_eq(distrusted) {
            info!("No answer from the API server, opening new connections");
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

/// Where an answer came from; an extension of responses.
#[derive(Clone)]
pub struct Origin {
    connections: Arc<Connections>,
    /// Does not keep idle connections of replaced ones open.
    pool: Weak<Pool>,
}

impl Origin {
    /// The rest of an answer does not come: the next requests go over new connections.
    pub fn distrust(&self) {
        self.connections.replace(&self.pool);
    }
}

/// The wait for the header of an answer.
struct Wait {
    since: Instant,
    /// None once there is an answer, or a failure, which the connection itself has noticed.
    origin: Option<Origin>,
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(origin) = self.origin.take().filter(|_| self.since.elapsed() >= DOUBTFUL_AFTER) {
            origin.distrust();
        }
    }
}
