//! The tokens of `exec` plugins.

use std::future::{Ready, ready};
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use kube::client::Body;
use kube::client::middleware::AuthLayer;
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service};

/// Adds the token of a plugin to requests.
///
/// kube runs the plugin in the future of the request that finds the token expired, for one request at a time. Here that future is
/// in a task of its own, which goes on if the request ends: the next one waits for the token, and runs no other plugin.
pub(crate) struct PluginLayer(pub(crate) AuthLayer);

impl<S> Layer<S> for PluginLayer {
    type Service = WithToken<S>;

    fn layer(&self, inner: S) -> WithToken<S> {
        WithToken { tokens: self.0.layer(Echo), turn: Arc::default(), inner }
    }
}

/// Answers a request with its headers.
#[derive(Clone)]
struct Echo;

impl Service<Request<Body>> for Echo {
    type Response = Response<()>;
    type Error = BoxError;
    type Future = Ready<Result<Response<()>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut response = Response::new(());
        *response.headers_mut() = request.into_parts().0.headers;
        ready(Ok(response))
    }
}

/// kube's service, which adds a token and runs the plugin for it.
type Tokens = <AuthLayer as Layer<Echo>>::Service;

/// The headers with a token.
async fn headers(mut tokens: Tokens) -> Result<HeaderMap, BoxError> {
    // It is ready whenever the echo is.
    Ok(tokens.call(Request::new(Body::empty())).await?.into_parts().0.headers)
}

/// A service with the token of a plugin.
#[derive(Clone)]
pub(crate) struct WithToken<S> {
    tokens: Tokens,
    /// Held by the task that may run the plugin.
    turn: Arc<Mutex<()>>,
    inner: S,
}

impl<S> Service<Request<Body>> for WithToken<S>
where
    S: Service<Request<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let next = self.inner.clone();
        // The one that is ready.
        let mut inner = mem::replace(&mut self.inner, next);
        let (tokens, turn) = (self.tokens.clone(), Arc::clone(&self.turn));
        async move {
            // Requests wait here, and leave if they end: only the one that runs the plugin has a task.
            let turn = turn.lock_owned().await;
            let task = tokio::spawn(async move {
                let headers = headers(tokens).await;
                drop(turn);
                headers
            });
            let headers = task.await??;
            request.headers_mut().extend(headers);
            inner.call(request).await
        }
        .boxed()
    }
}
