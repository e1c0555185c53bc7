//! A bearer token that is replaced before it expires.

use std::time::Duration;

use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::InvalidHeaderValue;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use tracing::warn;

use crate::connector::NEW_CONNECTION_TIMEOUT;
use crate::deadline::within;
use crate::error::ApiError;
use crate::error_chain::error_chain;

/// The shortest lifetime that is believed: the API server's own minimum.
const MIN_LIFETIME: Duration = Duration::from_secs(600);
/// The longest lifetime that is believed.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// The part of its lifetime after which a token is replaced (upstream: 80 %).
const RENEW_AFTER: f64 = 0.8;
/// The bound on replacing a token, retries included. The request that needs the token waits meanwhile, and must have
/// time left to be sent with the old one.
const RENEW_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between a failed fetch, after which the old token is used, and the next one.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// A token as the value of the `Authorization` header.
#[derive(Clone)]
pub(crate) struct Token {
    authorization: HeaderValue,
    renew_at: Instant,
}

impl Token {
    /// A token with this lifetime, counted from now.
    pub(crate) fn new(token: &str, lifetime: Duration) -> Result<Self, InvalidHeaderValue> {
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))?;
        authorization.set_sensitive(true);
        let lifetime = lifetime.clamp(MIN_LIFETIME, MAX_LIFETIME);
        Ok(Self { authorization, renew_at: Instant::now() + lifetime.mul_f64(RENEW_AFTER) })
    }
}

/// A token, and the way to fetch the next one.
///
/// The first request fetches a token, and so does the first one after four fifths of its lifetime; concurrent requests
/// wait for that fetch. If it fails or takes longer than 10 s, the old token is used on; a fetch without an old token may
/// take as long as a new connection.
///
/// Lifetimes are counted on our own monotonic clock: that of the API server may differ.
pub(crate) struct TokenCache {
    /// The account, for the log.
    account: String,
    fetch: Box<dyn Fn() -> BoxFuture<'static, Result<Token, ApiError>> + Send + Sync>,
    token: Mutex<Option<Token>>,
    /// Held during a fetch, so that there is one at a time.
    fetching: AsyncMutex<()>,
}

impl TokenCache {
    pub(crate) fn new(
        account: String,
        fetch: impl Fn() -> BoxFuture<'static, Result<Token, ApiError>> + Send + Sync + 'static,
    ) -> Self {
        Self { account, fetch: Box::new(fetch), token: Mutex::default(), fetching: AsyncMutex::default() }
    }

    /// The value of the `Authorization` header. Waits for a new token if there is none or it is old.
    pub(crate) async fn authorization(&self) -> Result<HeaderValue, ApiError> {
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        let _fetching = self.fetching.lock().await;
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        let limit = if self.token.lock().is_some() { RENEW_TIMEOUT } else { NEW_CONNECTION_TIMEOUT };
        match within(limit, (self.fetch)()).await {
            Ok(token) => Ok(self.token.lock().insert(token).authorization.clone()),
            Err(error) => self.use_old(error),
        }
    }

    /// Discards a token that the API server has not accepted, unless it was replaced already.
    pub(crate) fn reject(&self, authorization: &HeaderValue) {
        self.token.lock().take_if(|token| token.authorization == *authorization);
    }

    fn fresh(&self) -> Option<HeaderValue> {
        let token = self.token.lock();
        token
            .as_ref()
            .filter(|token| Instant::now() < token.renew_at)
            .map(|token| token.authorization.clone())
    }

    /// Returns the old token, if there is one: it is valid for a while, perhaps for longer than the outage lasts.
    fn use_old(&self, error: ApiError) -> Result<HeaderValue, ApiError> {
        let mut token = self.token.lock();
        let Some(token) = token.as_mut() else { return Err(error) };
        let account = &self.account;
        warn!(account, err = error_chain(&error), "Failed to renew service account token, will retry");
        token.renew_at = Instant::now() + RETRY_DELAY;
        Ok(token.authorization.clone())
    }
}
