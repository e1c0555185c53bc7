//! Asking the API server: whose token is it, and may they?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_api::{ApiClient, ApiError};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::authentication::User;
use crate::review_cache::{Answer, Weight};

/// How long an answer is waited for, repetitions included. Upstream gives each attempt as long.
const LIMIT: Duration = Duration::from_secs(10);
/// Reviews at once; more wait for their turn, in order. As many as `review_cache` has turns for strangers and known.
const CONCURRENT_REVIEWS: usize = 64;
/// Attempts at one review (`DefaultAuthWebhookRetryBackoff`).
const ATTEMPTS: i32 = 5;

/// No answer to a review.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReviewError {
    /// The API server did not answer, or refused to. Shared by all requests that asked the same.
    #[error(transparent)]
    Api(Arc<ApiError>),
    /// Not within the time that a request may take.
    #[error("no review within {} s", LIMIT.as_secs())]
    Timeout,
    /// Too many requests wait for a review already.
    #[error("too many requests wait for a review")]
    Busy,
    /// The answer contradicts itself or says nothing.
    #[error("{0}")]
    Answer(String),
}

impl From<ApiError> for ReviewError {
    fn from(error: ApiError) -> Self {
        Self::Api(Arc::new(error))
    }
}

impl ReviewError {
    /// The status code for a client that has done nothing wrong, and had better try again; none for other errors.
    pub(crate) fn retry_status(&self) -> Option<StatusCode> {
        match self {
            Self::Busy => Some(StatusCode::TOO_MANY_REQUESTS),
            Self::Timeout => Some(StatusCode::SERVICE_UNAVAILABLE),
            Self::Api(_) | Self::Answer(_) => None,
        }
    }
}

/// What the authentication side asks the API server.
pub trait AuthenticationApi: Send + Sync + 'static {
    /// Whose token it is; none if it is nobody's.
    fn review_token(&self, token: &str) -> impl Future<Output = Result<Option<User>, ReviewError>> + Send;

    /// The data of the `ConfigMap` kube-system/extension-apiserver-authentication; none if there is none.
    fn cluster_config(
        &self,
    ) -> impl Future<Output = Result<Option<BTreeMap<String, String>>, ReviewError>> + Send;
}

/// What the authorization side asks the API server.
pub trait AuthorizationApi: Send + Sync + 'static {
    /// Whether a user may do something.
    fn review_access(
        &self,
        access: &AccessReview,
    ) -> impl Future<Output = Result<AccessVerdict, ReviewError>> + Send;
}

/// Who wants to do what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessReview {
    /// Who.
    pub user: User,
    /// The method of the request in lower case.
    pub verb: String,
    /// The path of the request, decoded.
    pub path: String,
}

/// The API server's opinion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessVerdict {
    /// Allowed.
    pub allowed: bool,
    /// Why, in words that the user may see; often empty.
    pub reason: String,
}

/// Puts an end to the wait for an answer.
pub(crate) async fn within_limit<T>(
    answer: impl Future<Output = Result<T, ReviewError>>,
) -> Result<T, ReviewError> {
    timeout(LIMIT, answer).await.unwrap_or(Err(ReviewError::Timeout))
}

impl Weight for AccessReview {
    fn bytes(&self) -> usize {
        let Self { user, verb, path } = self;
        size_of::<Self>() + user.bytes() + verb.len() + path.len()
    }
}

impl Weight for AccessVerdict {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.reason.len()
    }
}

impl Answer for AccessVerdict {
    fn is_good(&self) -> bool {
        self.allowed
    }
}

/// Asks a real API server.
///
/// Requests that fail for a passing reason are repeated, up to five times from half a second on.
pub struct ApiReviews {
    client: ApiClient,
    turns: Semaphore,
}

impl ApiReviews {
    /// With the rights of this client: `create` on `tokenreviews` and `subjectaccessreviews`, and the role
    /// `extension-apiserver-authentication-reader` in kube-system. Upstream limits it to 200 requests a second, 400 at
    /// once.
    pub fn new(client: ApiClient) -> Self {
        Self { client, turns: Semaphore::new(CONCURRENT_REVIEWS) }
    }

    async fn patiently<T, F: Future<Output = Result<T, ApiError>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, ReviewError> {
        let _turn = self.turns.acquire().await.map_err(|error| ReviewError::Answer(error.to_string()))?;
        for attempts in 0..ATTEMPTS - 1 {
            match attempt().await {
                Err(error) if is_passing(&error) => sleep(back_off(attempts)).await,
                answer => return Ok(answer?),
            }
        }
        Ok(attempt().await?)
    }
}

/// Half a second, half as much again each time, and up to a fifth more by chance.
fn back_off(attempts: i32) -> Duration {
    Duration::from_millis(500).mul_f64(1.5_f64.powi(attempts) * (1.0 + 0.2 * fastrand::f64()))
}

/// True if the same request may well succeed in a moment (`webhook.DefaultShouldRetry`).
fn is_passing(error: &ApiError) -> bool {
    match error {
        ApiError::Refused(status) => matches!(status.code, 429 | 500 | 504) || status.retry_after.is_some(),
        ApiError::Transport(_) => true,
        _ => false,
    }
}

impl AuthenticationApi for ApiReviews {
    async fn review_token(&self, token: &str) -> Result<Option<User>, ReviewError> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer = self.patiently(|| self.client.create_json(path, &review)).await?;
        let status = answer.status.unwrap_or_default();
        match (status.authenticated, status.error) {
            (Some(true), _) => {
                let user = status.user.unwrap_or_default();
                let extra = user.extra.into_iter().flatten();
                Ok(Some(User {
                    name: user.username.unwrap_or_default(),
                    uid: user.uid.unwrap_or_default(),
                    groups: user.groups.unwrap_or_default(),
                    extra: extra.collect(),
                }))
            }
            (_, Some(error)) if !error.is_empty() => Err(ReviewError::Answer(error)),
            _ => Ok(None),
        }
    }

    async fn cluster_config(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
        match self.patiently(|| self.client.get_json::<ConfigMap>(path)).await {
            Ok(config) => Ok(Some(config.data.unwrap_or_default())),
            Err(ReviewError::Api(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AuthorizationApi for ApiReviews {
    async fn review_access(&self, access: &AccessReview) -> Result<AccessVerdict, ReviewError> {
        let AccessReview { user, verb, path } = access;
        let non_resource_attributes =
            NonResourceAttributes { path: Some(path.clone()), verb: Some(verb.clone()) };
        let spec = SubjectAccessReviewSpec {
            user: Some(user.name.clone()),
            uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone().into_iter().collect()),
            non_resource_attributes: Some(non_resource_attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.patiently(|| self.client.create_json(path, &review)).await?;
        let status = answer.status.unwrap_or_default();
        let denied = status.denied.unwrap_or_default();
        if denied && status.allowed {
            let contradiction = "webhook subject access review returned both allow and deny response";
            return Err(ReviewError::Answer(contradiction.to_owned()));
        }
        Ok(AccessVerdict { allowed: status.allowed, reason: status.reason.unwrap_or_default() })
    }
}
