//! The server of a page.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::follow::Follower;
use crate::routes::router;

/// Connections at the same time. A browser opens up to six for a page.
const CONNECTIONS: usize = 128;
/// The time in which a client must send the header of a request, and for which a connection may be idle.
const HEADER: Duration = Duration::from_secs(30);
/// The longest header of a request.
const HEADER_BYTES: usize = 16 << 10;
/// Time that requests get to finish after the end of streams.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between attempts to accept when the system has no sockets left.
const PAUSE: Duration = Duration::from_millis(50);

/// Listens at a loopback address.
///
/// # Errors
/// A sentence about the address, also if it is not a loopback address.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    if !address.ip().is_loopback() {
        return Err(format!("cannot listen at {address}: must be a loopback address"));
    }
    TcpListener::bind(address).await.map_err(|error| format!("cannot listen at {address}: {error}"))
}

/// Serves a page until `shutdown` completes. Then it ends streams of events, finishes other requests, and returns.
///
/// Data is for clients with the token. A browser has it from the address of the page: `http://ADDRESS/#token=TOKEN`, where it
/// consists of hexadecimal digits.
pub async fn serve(
    listener: TcpListener,
    source: Arc<Follower>,
    token: &str,
    shutdown: impl Future<Output = ()>,
) {
    let (stop, stopping) = watch::channel(false);
    let router = router(source, token, stopping.clone());
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown.fuse());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // One too many is closed at once.
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
        let (service, stopping) = (TowerToHyperService::new(router.clone()), stopping.clone());
        connections.spawn(async move {
            connection(stream, service, stopping).await;
            drop(slot);
        });
    }
    drop(listener);
    stop.send_replace(true);
    // Clients that don't read their responses are cut off when the tasks are dropped.
    _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
}

async fn connection(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    mut stopping: watch::Receiver<bool>,
) {
    _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER).max_buf_size(HEADER_BYTES);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // Clients leave as they like.
        _ = &mut served => return,
        _ = stopping.wait_for(|stopping| *stopping) => served.as_mut().graceful_shutdown(),
    }
    _ = served.await;
}
