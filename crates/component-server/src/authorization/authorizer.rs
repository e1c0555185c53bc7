//! Decisions about requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::options::AuthorizationOptions;
use super::paths::Paths;
use crate::review::{AccessReview, AccessReviewStatus, AuthorizationApi, ReviewCache, ReviewError};
use crate::user::User;

/// Members may do anything.
const PRIVILEGED_GROUP: &str = "system:masters";
/// Reviews of a longer verb and path are not cached (`shouldCache`).
const MAX_CACHED_LENGTH: usize = 10_000;

/// Decides about requests: members of `system:masters` may send any, every user those to paths that are always allowed.
/// The API server decides about all others; without a connection to it, they are forbidden.
pub struct Authorizer<Z> {
    paths: Paths,
    options: AuthorizationOptions,
    api: Option<Arc<Z>>,
    cache: ReviewCache<AccessReview, AccessReviewStatus>,
}

impl<Z: AuthorizationApi> Authorizer<Z> {
    /// Creates an authorizer. Without an `api`, only the privileged group and the always-allowed paths are allowed.
    ///
    /// # Errors
    ///
    /// Those of [`AuthorizationOptions::validate`].
    pub fn new(options: AuthorizationOptions, api: Option<Z>) -> Result<Self, String> {
        let paths = Paths::new(&options.always_allow_paths)?;
        Ok(Self { paths, options, api: api.map(Arc::new), cache: ReviewCache::new() })
    }

    /// Decides about a request from this address: its method in lower case and its decoded path.
    ///
    /// Cost: a request to the API server if the decision is not cached. Takes 10 s at most.
    ///
    /// # Errors
    ///
    /// The API server did not decide.
    pub async fn authorize(
        &self,
        from: IpAddr,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Result<AccessReviewStatus, ReviewError> {
        if user.is_in(PRIVILEGED_GROUP) || self.paths.contain(path) {
            return Ok(AccessReviewStatus { allowed: true, reason: String::new() });
        }
        let Some(api) = &self.api else { return Ok(AccessReviewStatus::default()) };
        let access = AccessReview { user: user.clone(), verb: verb.to_owned(), path: path.to_owned() };
        self.cache.get(access.clone(), from, || self.review(Arc::clone(api), access)).await
    }

    /// Returns the decision of the API server, and its lifetime in the cache.
    fn review(
        &self,
        api: Arc<Z>,
        access: AccessReview,
    ) -> impl Future<Output = Result<(AccessReviewStatus, Duration), ReviewError>> + Send + use<Z> {
        let AuthorizationOptions { authorized_ttl, unauthorized_ttl, .. } = self.options;
        async move {
            let status = api.review_access(&access).await?;
            let ttl = if status.allowed { authorized_ttl } else { unauthorized_ttl };
            let is_too_long = access.verb.len() + access.path.len() >= MAX_CACHED_LENGTH;
            Ok((status, if is_too_long { Duration::ZERO } else { ttl }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Allows /metrics, and records the reviews.
    #[derive(Default)]
    struct FakeApi(Mutex<Vec<String>>);

    impl AuthorizationApi for &'static FakeApi {
        async fn review_access(&self, access: &AccessReview) -> Result<AccessReviewStatus, ReviewError> {
            self.0.lock().push(format!("{} {} {}", access.user.name, access.verb, access.path));
            match access.path.as_str() {
                "/error" => Err(ReviewError::Timeout),
                path => Ok(AccessReviewStatus { allowed: path == "/metrics", reason: "because".to_owned() }),
            }
        }
    }

    fn user(name: &str, group: &str) -> User {
        User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() }
    }

    fn authorizer(options: AuthorizationOptions) -> (&'static FakeApi, Authorizer<&'static FakeApi>) {
        let fake: &'static FakeApi = Box::leak(Box::default());
        (fake, Authorizer::new(options, Some(fake)).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_decides_last_and_its_decisions_are_cached() {
        let options = AuthorizationOptions {
            unauthorized_ttl: Duration::from_secs(1),
            ..AuthorizationOptions::default()
        };
        let (api, authorizer) = authorizer(options);
        let forbidden = AccessReviewStatus { allowed: false, reason: "because".to_owned() };
        let (ann, root) = (user("ann", "devs"), user("root", "system:masters"));
        for _ in 0..2 {
            for (user, verb, path) in
                [(&root, "put", "/x"), (&ann, "get", "/healthz"), (&ann, "get", "/metrics")]
            {
                assert!(authorizer.authorize(HERE, user, verb, path).await.unwrap().allowed, "{path}");
            }
            assert_eq!(authorizer.authorize(HERE, &ann, "get", "/configz").await.unwrap(), forbidden);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // A denial is cached for 1 s here, a permission for 10 s.
        assert_eq!(*api.0.lock(), ["ann get /metrics", "ann get /configz", "ann get /configz"]);
    }

    #[tokio::test(start_paused = true)]
    async fn user_verb_and_path_are_the_cache_key() {
        let (api, authorizer) = authorizer(AuthorizationOptions::default());
        for (name, group, verb) in
            [("ann", "a", "get"), ("ann", "b", "get"), ("bob", "a", "get"), ("ann", "a", "put")]
        {
            authorizer.authorize(HERE, &user(name, group), verb, "/metrics").await.unwrap();
        }
        assert_eq!(api.0.lock().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn errors_and_very_long_paths_are_not_cached() {
        let (api, authorizer) = authorizer(AuthorizationOptions::default());
        let ann = user("ann", "a");
        for _ in 0..2 {
            assert!(authorizer.authorize(HERE, &ann, "get", "/error").await.is_err());
            authorizer.authorize(HERE, &ann, "get", &"/".repeat(10_000)).await.unwrap();
        }
        assert_eq!(api.0.lock().len(), 4);
    }

    #[tokio::test]
    async fn without_an_api_server_the_rest_is_forbidden() {
        let authorizer = Authorizer::<&'static FakeApi>::new(AuthorizationOptions::default(), None).unwrap();
        let decision = authorizer.authorize(HERE, &user("ann", "a"), "get", "/metrics").await.unwrap();
        assert_eq!(decision, AccessReviewStatus::default());
    }
}
