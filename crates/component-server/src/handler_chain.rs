//! The handler chain: authentication, authorization, then the routes.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body::Body as _;
use kube_api::error_chain;
use percent_encoding::percent_decode_str;
use tower::ServiceExt;
use tracing::{debug, error};

use crate::authentication::{Authenticator, Peer};
use crate::authorization::Authorizer;
use crate::error_response::{self, RequestHead};
use crate::go_text::beginning;
use crate::log_limit::LogLimit;
use crate::review::{AccessReviewStatus, AuthenticationApi, AuthorizationApi};
use crate::user::User;

/// Authenticates and authorizes a request, then routes it (`DefaultBuildHandlerChain`).
pub(crate) struct HandlerChain<A, Z> {
    pub(crate) authenticator: Authenticator<A>,
    pub(crate) authorizer: Authorizer<Z>,
    pub(crate) router: Router,
    pub(crate) log_limit: LogLimit,
}

/// Result of a request.
pub(crate) struct Outcome {
    pub(crate) response: Response,
    /// True if the client is authenticated. Others may not keep an HTTP/2 connection
    /// (`UnauthenticatedHTTP2DOSMitigation`).
    pub(crate) is_authenticated: bool,
}

/// Serves requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Serves a request of this client.
    fn serve(&self, peer: &Peer, request: Request<Body>) -> impl Future<Output = Outcome> + Send;
}

/// Every client counts as authenticated.
impl Handler for Router {
    async fn serve(&self, _: &Peer, request: Request<Body>) -> Outcome {
        Outcome { response: route(self, request).await, is_authenticated: true }
    }
}

impl<A: AuthenticationApi, Z: AuthorizationApi> Handler for HandlerChain<A, Z> {
    async fn serve(&self, peer: &Peer, request: Request<Body>) -> Outcome {
        let start = Instant::now();
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut outcome = self.respond(peer, request).await;
        if method == Method::HEAD {
            outcome.response = without_body(outcome.response);
        }
        let headers = outcome.response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        let (status, latency) = (outcome.response.status().as_u16(), start.elapsed());
        debug!(verb = %method, path = uri.path(), resp = status, latency = ?latency, "HTTP");
        outcome
    }
}

impl<A: AuthenticationApi, Z: AuthorizationApi> HandlerChain<A, Z> {
    async fn respond(&self, peer: &Peer, request: Request<Body>) -> Outcome {
        let head = RequestHead { headers: request.headers(), uri: request.uri() };
        let user = match self.authenticator.authenticate(peer, request.headers()).await {
            Ok(user) => user,
            Err(rejected) => {
                if self.log_limit.allows() {
                    let (peer, certificate) = (peer.address(), peer.certificate());
                    let certificate = certificate.as_deref();
                    error!(%peer, certificate, err = %rejected, "Unable to authenticate the request");
                }
                let unauthorized = || error_response::unauthorized(&head);
                let response =
                    rejected.retry_status().map_or_else(unauthorized, error_response::too_many_requests);
                return Outcome { response, is_authenticated: false };
            }
        };
        let is_authenticated = !user.is_anonymous();
        let response = match self.denial(peer, &user, request.method(), &head).await {
            Some(denial) => denial,
            None => route(&self.router, request).await,
        };
        Outcome { response, is_authenticated }
    }

    /// Returns the response to a request that is not authorized; none if it is.
    async fn denial(
        &self,
        peer: &Peer,
        user: &User,
        method: &Method,
        head: &RequestHead<'_>,
    ) -> Option<Response> {
        let Ok(path) = percent_decode_str(head.uri.path()).decode_utf8() else {
            return Some(error_response::plain(StatusCode::BAD_REQUEST, "400 Bad Request".to_owned()));
        };
        let verb = method.as_str().to_lowercase();
        match self.authorizer.authorize(peer.address(), user, &verb, &path).await {
            Ok(AccessReviewStatus { allowed: true, .. }) => None,
            Ok(AccessReviewStatus { reason, .. }) => {
                Some(error_response::forbidden(head, &user.name, &verb, &path, &reason))
            }
            Err(error) => {
                let text = error_chain(&error);
                if self.log_limit.allows() {
                    let (peer, user) = (peer.address(), beginning(&user.name));
                    error!(%peer, %user, err = %text, "Unable to authorize the request");
                }
                let internal_error = || error_response::internal_error(head.uri, &text);
                Some(error.retry_status().map_or_else(internal_error, error_response::too_many_requests))
            }
        }
    }
}

async fn route(router: &Router, request: Request<Body>) -> Response {
    // The error type of a router has no values.
    router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
}

/// Drops the body of a response to HEAD and keeps its length. HTTP/2 clients treat such a body as a protocol error.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}
