//! What a request goes through before it is served.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body::Body as _;
use percent_encoding::percent_decode_str;
use tower::ServiceExt;
use tracing::{debug, error};

use crate::authentication::{Authenticator, Peer, User};
use crate::authorization::{Authorizer, Decision};
use crate::log_limit::LogLimit;
use crate::refusal::{self, Asked};
use crate::review::{AuthenticationApi, AuthorizationApi};

/// Authentication, authorization, and what is behind them.
pub(crate) struct Filter<A, Z> {
    pub(crate) authenticator: Authenticator<A>,
    pub(crate) authorizer: Authorizer<Z>,
    pub(crate) router: Router,
    pub(crate) log_limit: LogLimit,
}

/// What a request came to.
pub(crate) struct Outcome {
    pub(crate) response: Response,
    /// True if the client is somebody; strangers are not worth an HTTP/2 connection that lasts
    /// (`UnauthenticatedHTTP2DOSMitigation`).
    pub(crate) is_known: bool,
}

impl<A: AuthenticationApi, Z: AuthorizationApi> Filter<A, Z> {
    /// Answers a request of this client.
    pub(crate) async fn answer(&self, peer: &Peer, request: Request<Body>) -> Outcome {
        let start = Instant::now();
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut outcome = self.decide(peer, request).await;
        if method == Method::HEAD {
            outcome.response = without_body(outcome.response);
        }
        let headers = outcome.response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        let (status, latency) = (outcome.response.status().as_u16(), start.elapsed());
        debug!(verb = %method, path = uri.path(), resp = status, latency = ?latency, "HTTP");
        outcome
    }

    async fn decide(&self, peer: &Peer, request: Request<Body>) -> Outcome {
        let asked = Asked { headers: request.headers(), uri: request.uri() };
        let user = match self.authenticator.authenticate(peer, request.headers()).await {
            Ok(user) => user,
            Err(rejected) => {
                if self.log_limit.admits() {
                    error!(err = %rejected, "Unable to authenticate the request");
                }
                let unauthorized = || refusal::unauthorized(&asked);
                let response = rejected.retry_status().map_or_else(unauthorized, refusal::try_again);
                return Outcome { response, is_known: false };
            }
        };
        let is_known = !user.is_anonymous();
        let response = match self.refusal(peer, &user, request.method(), &asked).await {
            Some(refusal) => refusal,
            // A router without state cannot fail.
            None => self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {}),
        };
        Outcome { response, is_known }
    }

    /// The refusal of a request that must not go on.
    async fn refusal(
        &self,
        peer: &Peer,
        user: &User,
        method: &Method,
        asked: &Asked<'_>,
    ) -> Option<Response> {
        let Ok(path) = percent_decode_str(asked.uri.path()).decode_utf8() else {
            return Some(refusal::plain(StatusCode::BAD_REQUEST, "400 Bad Request".to_owned()));
        };
        let verb = method.as_str().to_lowercase();
        match self.authorizer.authorize(peer.address(), user, &verb, &path).await {
            Ok(Decision::Allow) => None,
            Ok(Decision::Forbid { reason }) => {
                Some(refusal::forbidden(asked, &user.name, &verb, &path, &reason))
            }
            Err(error) => {
                let text = kube_api::error_chain(&error);
                if self.log_limit.admits() {
                    error!(err = %text, "Unable to authorize the request");
                }
                let internal_error = || refusal::internal_error(asked.uri, &text);
                Some(error.retry_status().map_or_else(internal_error, refusal::try_again))
            }
        }
    }
}

/// The answer to HEAD: as long as the other, but empty. HTTP/2 clients take a body for a broken connection.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}
