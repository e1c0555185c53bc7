//! Reviews by a real API server.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_api::{ApiClient, ApiError, RateLimiter};
use tokio::time::sleep;

use super::api::{AccessReview, AccessReviewStatus, AuthenticationApi, AuthorizationApi};
use super::error::ReviewError;
use crate::user::User;

/// Requests a second, and at once (`k8s.io/apiserver` `server/options`).
const QPS: f64 = 200.0;
const BURST: u32 = 400;
/// Attempts at one review (`DefaultAuthWebhookRetryBackoff`).
const ATTEMPTS: i32 = 5;

/// Reviews by a real API server.
///
/// Requests that fail for a transient reason are retried: five attempts in all, with back-off from half a second. At most 200
/// requests are sent a second, with a burst of 400, as upstream.
pub struct ApiReviews {
    client: ApiClient,
}

impl ApiReviews {
    /// Sends reviews through this client, with a rate limit of their own. Any sender of requests causes them: a client that shares
    /// no connection with others delays no write.
    ///
    /// It needs permission to `create` `tokenreviews` and `subjectaccessreviews`, and the role
    /// `extension-apiserver-authentication-reader` in kube-system.
    pub fn new(client: ApiClient) -> Self {
        Self { client: client.with_limit(RateLimiter::new(QPS, BURST)) }
    }
}

async fn with_retries<T, F: Future<Output = Result<T, ApiError>>>(
    attempt: impl Fn() -> F,
) -> Result<T, ReviewError> {
    for attempts in 0..ATTEMPTS - 1 {
        match attempt().await {
            Err(error) if is_transient(&error) => sleep(back_off(attempts)).await,
            result => return Ok(result?),
        }
    }
    Ok(attempt().await?)
}

/// Returns half a second, growing by half with each attempt, plus up to 20% of jitter.
fn back_off(attempts: i32) -> Duration {
    Duration::from_millis(500).mul_f64(1.5_f64.powi(attempts) * (1.0 + 0.2 * fastrand::f64()))
}

/// True if a retry may succeed (`webhook.DefaultShouldRetry`).
fn is_transient(error: &ApiError) -> bool {
    match error {
        ApiError::Refused(status) => matches!(status.code, 429 | 500 | 504) || status.retry_after.is_some(),
        ApiError::Transport(_) => true,
        _ => false,
    }
}

impl AuthenticationApi for ApiReviews {
    async fn review_token(&self, token: &str) -> Result<Option<User>, ReviewError> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let request = TokenReview { spec, ..TokenReview::default() };
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let review = with_retries(|| self.client.create_json(path, &request)).await?;
        let status = review.status.unwrap_or_default();
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
            (_, Some(error)) if !error.is_empty() => Err(ReviewError::Invalid(error)),
            _ => Ok(None),
        }
    }

    async fn cluster_config(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
        match with_retries(|| self.client.get_json::<ConfigMap>(path)).await {
            Ok(config) => Ok(Some(config.data.unwrap_or_default())),
            Err(ReviewError::Api(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AuthorizationApi for ApiReviews {
    async fn review_access(&self, access: &AccessReview) -> Result<AccessReviewStatus, ReviewError> {
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
        let request = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let review = with_retries(|| self.client.create_json(path, &request)).await?;
        let status = review.status.unwrap_or_default();
        let denied = status.denied.unwrap_or_default();
        if denied && status.allowed {
            let contradiction = "webhook subject access review returned both allow and deny response";
            return Err(ReviewError::Invalid(contradiction.to_owned()));
        }
        Ok(AccessReviewStatus { allowed: status.allowed, reason: status.reason.unwrap_or_default() })
    }
}
