//! Serving over the network: HTTP/1.1 and HTTP/2, with and without TLS.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use futures::FutureExt as _;
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

use super::{ApiServer, Tls};
use crate::http::Body;
use crate::http::response::error;
use crate::status::Status;

/// Time that connections get to finish their requests after the end of watches.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between attempts to accept when the system has no sockets left.
const PAUSE: Duration = Duration::from_millis(50);

impl ApiServer {
    /// Serves over HTTP/1.1 and HTTP/2 until `shutdown` is ready, with TLS if given. Then it ends the watches that came by
    /// this listener, finishes the other requests, and returns. The state stays.
    ///
    /// Runs until it is dropped at the latest; dropping it cuts all connections.
    pub async fn serve(&self, listener: TcpListener, tls: Option<Tls>, shutdown: impl Future<Output = ()>) {
        let acceptor = tls.map(|tls| TlsAcceptor::from(tls.config));
        let (stop, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown.fuse());
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
            _ = stream.set_nodelay(true);
            let (server, acceptor, stopped) = (self.clone(), acceptor.clone(), stopped.clone());
            connections.spawn(async move {
                match acceptor {
                    None => connection(server, stream, stopped).await,
                    Some(acceptor) => {
                        // A client that does not speak TLS is gone.
                        if let Ok(stream) = acceptor.accept(stream).await {
                            connection(server, stream, stopped).await;
                        }
                    }
                }
            });
        }
        stop.send_replace(true);
        _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
    }
}

async fn connection<S>(server: ApiServer, stream: S, stopped: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut stop = stopped.clone();
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (mut server, stopped) = (server.clone(), stopped.clone());
        async move {
            let response = match refusal(&server, &request) {
                None => server.call(request).await?,
                Some(refusal) => refusal,
            };
            Ok::<_, Infallible>(until_stopped(response, stopped))
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        // Clients leave as they like.
        _ = &mut served => return,
        _ = stop.wait_for(|stopped| *stopped) => served.as_mut().graceful_shutdown(),
    }
    _ = served.await;
}

/// The response to a client that must name itself and does not.
fn refusal<B>(server: &ApiServer, request: &Request<B>) -> Option<Response<Body>> {
    let headers = request.headers();
    if server.core.users.admit(request.uri().path(), headers) {
        return None;
    }
    Some(error(&Status::new(401, "Unauthorized", "Unauthorized"), headers))
}

/// Ends a watch when the server stops.
pub(super) fn until_stopped(response: Response<Body>, mut stopped: watch::Receiver<bool>) -> Response<Body> {
    response.map(|body| body.until(async move { _ = stopped.wait_for(|stopped| *stopped).await }))
}
