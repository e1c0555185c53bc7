//! Requests as a service account of the cluster, with tokens that the API server issues.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::client::{ApiClient, within};
use crate::error::ApiError;
use crate::error_chain;

/// For how long a token is asked for (upstream: 3600 s).
const LIFETIME: Duration = Duration::from_secs(3600);
/// What no token lives shorter than, whatever the answer says: the API server's own least.
const LEAST_LIFETIME: Duration = Duration::from_secs(600);
/// The part of its life after which a token is replaced (upstream: 80 %).
const RENEW_AFTER: f64 = 0.8;
/// How long a token is waited for, repetitions and the creation of the account included. The request that needs the token
/// waits meanwhile, and must have time left to be sent with the old one.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a token is used on before the next try to replace it.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Whose rights requests have (`--use-service-account-credentials`), after upstream's
/// `k8s.io/controller-manager` `pkg/clientbuilder`.
///
/// The first request asks for a token, and so does the first one after four fifths of its life; the others meanwhile wait
/// for the answer. If there is none within 10 s, the old token is used on. The account is created if it is missing.
///
/// Times are counted from the answer on our own monotonic clock: that of the API server may differ.
pub struct ServiceAccount {
    /// May ask for tokens of service accounts, and create these.
    client: ApiClient,
    namespace: String,
    name: String,
    token: Mutex<Option<Token>>,
    /// Held while a token is asked for, so that nobody asks for the same one.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Token {
    /// The value of the `Authorization` header.
    authorization: HeaderValue,
    renew_at: Instant,
}

impl ServiceAccount {
    /// A service account for whose tokens `client` asks.
    pub fn new(client: ApiClient, namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { client, namespace, name, token: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The value of the `Authorization` header. Waits for a new token if there is none or it is old.
    pub(crate) async fn authorization(&self) -> Result<HeaderValue, ApiError> {
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        let _turn = self.turn.lock().await;
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        match within(TOKEN_TIMEOUT, self.request()).await {
            Ok(token) => Ok(self.token.lock().insert(token).authorization.clone()),
            Err(error) => self.use_on(error),
        }
    }

    /// The API server does not accept this: ask for another one next time, unless that has happened already.
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

    /// The old token, if there is one: it is still good for a while, and may be so for longer than the server is away.
    fn use_on(&self, error: ApiError) -> Result<HeaderValue, ApiError> {
        let mut token = self.token.lock();
        let Some(token) = token.as_mut() else { return Err(error) };
        let (namespace, name) = (&self.namespace, &self.name);
        warn!(namespace, name, err = error_chain(&error), "No new token for the service account, will retry");
        token.renew_at = Instant::now() + RETRY_DELAY;
        Ok(token.authorization.clone())
    }

    /// Asks for a token. In a box, because a request may ask for a token, which is a request.
    fn request(&self) -> BoxFuture<'_, Result<Token, ApiError>> {
        async move {
            match self.try_request().await {
                Err(error) if error.is_not_found() => {
                    self.create().await?;
                    self.try_request().await
                }
                outcome => outcome,
            }
        }
        .boxed()
    }

    async fn try_request(&self) -> Result<Token, ApiError> {
        let seconds = i64::try_from(LIFETIME.as_secs()).unwrap_or(i64::MAX);
        let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let path = format!("{}/{}/token", self.collection(), self.name);
        let answer = self.client.create_json(&path, &request).await?;
        Token::read(answer)
    }

    async fn create(&self) -> Result<(), ApiError> {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            ..ObjectMeta::default()
        };
        let account = core::ServiceAccount { metadata, ..core::ServiceAccount::default() };
        match self.client.create_json(&self.collection(), &account).await {
            Ok(_) => info!(namespace = self.namespace, name = self.name, "Created a service account"),
            // Somebody else was quicker.
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/serviceaccounts", self.namespace)
    }
}

impl Token {
    fn read(answer: TokenRequest) -> Result<Self, ApiError> {
        let token =
            answer.status.and_then(|status| status.token).ok_or(NoToken).map_err(ApiError::malformed)?;
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(ApiError::malformed)?;
        authorization.set_sensitive(true);
        // The server writes here what it granted, which may be less than what was asked for.
        let granted = answer.spec.and_then(|spec| spec.expiration_seconds).ok_or(NoToken);
        let granted = u64::try_from(granted.map_err(ApiError::malformed)?).map_err(ApiError::malformed)?;
        let lifetime = Duration::from_secs(granted).clamp(LEAST_LIFETIME, 24 * LIFETIME);
        Ok(Self { authorization, renew_at: Instant::now() + lifetime.mul_f64(RENEW_AFTER) })
    }
}

/// An answer to a `TokenRequest` without what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("no token, or no word about how long it lives")]
struct NoToken;
