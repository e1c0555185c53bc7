//! Requests with the credentials of a service account, after upstream's `k8s.io/controller-manager` `pkg/clientbuilder`
//! (`--use-service-account-credentials`).

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tracing::info;

use crate::client::ApiClient;
use crate::error::ApiError;
use crate::token_cache::{Token, TokenCache};

/// The lifetime of a token that is requested (upstream: 3600 s).
const LIFETIME: Duration = Duration::from_secs(3600);

/// A service account of the cluster, whose tokens the API server issues.
///
/// The account is created if it is missing. The [`ApiClient`] that uses the account requests a token when it needs one,
/// and a new one after four fifths of its lifetime; see [`ApiClient::with_service_account`].
pub struct ServiceAccount {
    /// May request tokens for service accounts, and create these.
    client: ApiClient,
    namespace: String,
    name: String,
}

impl ApiClient {
    /// The same client with the permissions of a service account. Its connection must be of a configuration without
    /// `auth_info`; otherwise requests carry two credentials.
    ///
    /// A request waits up to 10 s for a token. If none comes, the old token is used on, and the next try is 10 s later;
    /// without an old token it waits up to 25 s, and fails with the error of the token request.
    #[must_use]
    pub fn with_service_account(self, account: ServiceAccount) -> Self {
        let name = format!("{}/{}", account.namespace, account.name);
        let account = Arc::new(account);
        self.with_tokens(TokenCache::new(name, move || {
            let account = Arc::clone(&account);
            async move { account.token().await }.boxed()
        }))
    }
}

impl ServiceAccount {
    /// A service account whose tokens are requested with `client`.
    pub fn new(client: ApiClient, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    async fn token(&self) -> Result<Token, ApiError> {
        match self.try_token().await {
            Err(error) if error.is_not_found() => {
                self.create().await?;
                self.try_token().await
            }
            outcome => outcome,
        }
    }

    async fn try_token(&self) -> Result<Token, ApiError> {
        let seconds = i64::try_from(LIFETIME.as_secs()).unwrap_or(i64::MAX);
        let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: spec.into(), ..TokenRequest::default() };
        let path = format!("{}/{}/token", self.collection(), self.name);
        read(self.client.create_json(&path, &request).await?)
    }

    async fn create(&self) -> Result<(), ApiError> {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            ..ObjectMeta::default()
        };
        let account = core::ServiceAccount { metadata, ..core::ServiceAccount::default() };
        match self.client.create_json(&self.collection(), &account).await {
            Ok(_) => info!(namespace = self.namespace, name = self.name, "Created service account"),
            // Created concurrently by another client.
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/serviceaccounts", self.namespace)
    }
}

/// Reads the token and its lifetime, which may be shorter than requested.
fn read(answer: TokenRequest) -> Result<Token, ApiError> {
    let token = answer.status.and_then(|status| optional::<String>(status.token)).filter(|it| !it.is_empty());
    let granted = optional::<TokenRequestSpec>(answer.spec).and_then(|spec| spec.expiration_seconds);
    let (token, granted) = token.zip(granted).ok_or(Incomplete).map_err(ApiError::malformed)?;
    let lifetime = Duration::from_secs(u64::try_from(granted).map_err(ApiError::malformed)?);
    Token::new(&token, lifetime).map_err(ApiError::malformed)
}

/// A field that is required in `k8s-openapi` before Kubernetes 1.36, and optional since.
fn optional<T>(field: impl Into<Option<T>>) -> Option<T> {
    field.into()
}

/// A response without a token or its expiration.
#[derive(Debug, thiserror::Error)]
#[error("TokenRequest response lacks a token or its expiration")]
struct Incomplete;
