//! The server: its options, its life, and direct access for tests.

mod access;
mod builder;
mod first;
mod kubeconfig;
mod serve;
#[cfg(test)]
mod tests;
mod tls;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response};

use crate::core::Core;
use crate::http::Body;
use crate::http::body::read;
use crate::verbs::answer;

pub use access::{KnownObjects, LoadError, Snapshot};
pub use builder::Builder;
pub use kubeconfig::kubeconfig;
pub use tls::{Tls, TlsError};

/// A Kubernetes API server in memory.
///
/// It is a [`tower::Service`] of HTTP requests. Clones share the state. Every client may do everything, unless the
/// server [requires a token](Builder::require_token).
#[derive(Clone)]
pub struct ApiServer {
    core: Arc<Core>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApiServer")
            .field("version", &self.core.store.version())
            .finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let core = Arc::clone(&self.core);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match parts.method {
                Method::GET | Method::HEAD => Ok(Bytes::new()),
                _ => read(body).await,
            };
            Ok(answer(&core, &parts, body).await)
        })
    }
}
