//! The reviews that authenticators and authorizers need, as traits.

use std::collections::BTreeMap;

use super::error::ReviewError;
use crate::user::User;

/// Requests to the API server that authentication needs.
pub trait AuthenticationApi: Send + Sync + 'static {
    /// Returns the owner of a token; none if the token is invalid.
    fn review_token(&self, token: &str) -> impl Future<Output = Result<Option<User>, ReviewError>> + Send;

    /// Returns the data of the `ConfigMap` kube-system/extension-apiserver-authentication; none if it does not exist.
    fn cluster_config(
        &self,
    ) -> impl Future<Output = Result<Option<BTreeMap<String, String>>, ReviewError>> + Send;
}

/// Requests to the API server that authorization needs.
pub trait AuthorizationApi: Send + Sync + 'static {
    /// Returns the API server's decision about a request.
    fn review_access(
        &self,
        access: &AccessReview,
    ) -> impl Future<Output = Result<AccessReviewStatus, ReviewError>> + Send;
}

/// A request to be authorized: the specification of a `SubjectAccessReview`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessReview {
    /// The sender of the request.
    pub user: User,
    /// The method of the request in lower case.
    pub verb: String,
    /// The path of the request, decoded.
    pub path: String,
}

/// The decision about a request: the status of a `SubjectAccessReview`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessReviewStatus {
    /// True if the request is allowed.
    pub allowed: bool,
    /// The reason, which the user may see; often empty.
    pub reason: String,
}
