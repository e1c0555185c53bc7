//! Sending a request: its tries, and the bound on each.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::time::{Instant, sleep, sleep_until};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use kube::client::Body;
use tokio::sync::watch;

use super::response::{read_all, refusal, retry_after};
use crate::adaptive_rate::Outcome;
use crate::deadline::within;
use crate::encoding::Encoding;
use crate::error::ApiError;
use crate::metrics::{ClientMetrics, ServerMetrics};
use crate::rate_limit::RateLimiter;
use crate::token_cache::TokenCache;

/// The longest a try of a read may take, its response included.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest a try of a write may take, its response included: more than the 60 s after which the API server gives up.
/// A webhook that is dead and may be ignored costs up to 30 s of them, and only then the write is done.
const WRITE_TIMEOUT: Duration = Duration::from_secs(68);
/// The most times a request that has not reached the server is sent again.
const MAX_RESENDS: u32 = 3;
/// The pause before a request is sent again.
const RESEND_DELAY: Duration = Duration::from_millis(100);
/// A request is not sent again after this time: the caller's own back-off is the better place.
const RESEND_WITHIN: Duration = Duration::from_secs(10);
/// The most times a request is repeated because of `Retry-After` (client-go: 10).
const MAX_RETRIES: u32 = 10;
/// The longest `Retry-After` that is obeyed; beyond it the caller's own back-off is the better place.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);

/// Sends the requests of one client.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) client: kube::Client,
    pub(super) encoding: Encoding,
    pub(super) user_agent: HeaderValue,
    pub(super) limiter: Option<Arc<RateLimiter>>,
    /// The caller has taken the token of the first try.
    pub(super) is_prepaid: bool,
    pub(super) shutdown: Option<watch::Receiver<bool>>,
    pub(super) tokens: Option<Arc<TokenCache>>,
    pub(super) metrics: Arc<ServerMetrics>,
    /// Nothing but GET is sent.
    pub(super) read_only: bool,
}

impl Sender {
    /// A sender without rate limit, shutdown and tokens, whose metrics are not registered anywhere.
    pub(super) fn new(client: kube::Client, encoding: Encoding, user_agent: HeaderValue) -> Self {
        let metrics = Arc::new(ClientMetrics::default().of_server(&Uri::default()));
        Self {
            client,
            encoding,
            user_agent,
            limiter: None,
            is_prepaid: false,
            shutdown: None,
            tokens: None,
            metrics,
            read_only: false,
        }
    }

    /// Sends a request and reads the response; again if the server asks for it, or if it was not reached at all. A write
    /// of unknown outcome is not sent again.
    pub(super) async fn request(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(HeaderMap, Bytes), ApiError> {
        let body = Bytes::from(body);
        let observed = self.metrics.request(&method);
        let start = Instant::now();
        let (mut retries, mut resends) = (0, 0);
        loop {
            if let Some(limiter) = &self.limiter {
                let start = Instant::now();
                if !self.is_prepaid || retries + resends > 0 {
                    limiter.acquire().await;
                }
                observed.waited_since(start);
            }
            let exchange = async {
                let is_retry = retries + resends > 0;
                let (parts, response) = self.send(&method, path, &body, is_retry).await?.into_parts();
                Ok((parts, read_all(response).await?))
            };
            observed.sent(body.len());
            let sent = Instant::now();
            let exchanged = self.in_time(&method, exchange).await;
            self.tell_limiter(&method, sent.elapsed(), &exchanged);
            let (parts, response) = match exchanged {
                Err(error)
                    if error.never_sent() && resends < MAX_RESENDS && start.elapsed() < RESEND_WITHIN =>
                {
                    resends += 1;
                    sleep(RESEND_DELAY).await;
                    continue;
                }
                outcome => outcome?,
            };
            let delay = retry_after(parts.status, &parts.headers).filter(|_| retries < MAX_RETRIES);
            if let Some(delay) = delay.filter(|delay| *delay <= MAX_RETRY_AFTER)
                && self.pause(delay).await
            {
                retries += 1;
                continue;
            }
            observed.received(response.len());
            return if parts.status.is_success() {
                Ok((parts.headers, response))
            } else {
                Err(refusal(parts.status, &parts.headers, &response))
            };
        }
    }

    /// Waits before the next try. False if the shutdown begins: the end of the process does not wait for a server that refuses.
    async fn pause(&self, delay: Duration) -> bool {
        tokio::select! {
            biased;
            true = shutdown_begins(self.shutdown.clone()) => false,
            () = sleep(delay) => true,
        }
    }

    /// Tells the rate limiter what the end of a try says about the server.
    fn tell_limiter(
        &self,
        method: &Method,
        latency: Duration,
        exchanged: &Result<(http::response::Parts, Bytes), ApiError>,
    ) {
        let Some(limiter) = &self.limiter else { return };
        let outcome = match exchanged {
            Ok((parts, _)) => match retry_after(parts.status, &parts.headers) {
                Some(pause) => Outcome::Refused(pause),
                None if parts.status == StatusCode::TOO_MANY_REQUESTS => Outcome::Refused(Duration::ZERO),
                // Reads take other times than writes: a mean of both shows which there were.
                None if *method == Method::GET => return,
                None => Outcome::Answered,
            },
            Err(ApiError::Timeout(_)) => Outcome::TimedOut,
            // Nothing is known about the server.
            Err(_) => return,
        };
        limiter.ended(latency, outcome);
    }

    /// Bounds one try: a read by 30 s, a write by 68 s or, during shutdown, by 30 s.
    async fn in_time<T>(
        &self,
        method: &Method,
        exchange: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        if *method == Method::GET {
            return within(REQUEST_TIMEOUT, exchange).await;
        }
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let shutdown_deadline = async {
            if shutdown_begins(self.shutdown.clone()).await {
                sleep_until(deadline).await;
            } else {
                pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            outcome = within(WRITE_TIMEOUT, exchange) => outcome,
            () = shutdown_deadline => Err(ApiError::Timeout(REQUEST_TIMEOUT)),
        }
    }

    /// Makes one try, and counts it; every request of a client goes through here. Adds the credentials of the service account, if there is one.
    pub(super) async fn send(
        &self,
        method: &Method,
        path: &str,
        body: &Bytes,
        is_retry: bool,
    ) -> Result<Response<Body>, ApiError> {
        if self.read_only && *method != Method::GET {
            return Err(ApiError::ReadOnly);
        }
        let authorization = match &self.tokens {
            Some(tokens) => Some((tokens, tokens.authorization().await?)),
            None => None,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, self.encoding.accept())
            .header(USER_AGENT, &self.user_agent);
        if let Some((_, value)) = &authorization {
            request = request.header(AUTHORIZATION, value);
        }
        if *method == Method::PATCH {
            request = request.header(CONTENT_TYPE, "application/strategic-merge-patch+json");
        } else if !body.is_empty() {
            request = request.header(CONTENT_TYPE, self.encoding.content_type());
        }
        let body = Body::from(body.clone());
        let request = request.body(body).map_err(|error| ApiError::Transport(Box::new(error)))?;
        let mut counted = self.metrics.try_of(method, is_retry);
        let response = self.client.send(request).await;
        let response = response.map_err(|error| ApiError::Transport(Box::new(error)))?;
        counted.answered(response.status());
        if let Some((tokens, value)) = authorization.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        {
            tokens.reject(&value);
        }
        Ok(response)
    }
}

/// Waits for the shutdown. False if its sender is gone or there is none.
async fn shutdown_begins(shutdown: Option<watch::Receiver<bool>>) -> bool {
    match shutdown {
        Some(mut shutdown) => shutdown.wait_for(|begun| *begun).await.is_ok(),
        None => false,
    }
}
