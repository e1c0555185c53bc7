//! May they?

mod paths;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use paths::Paths;

use crate::authentication::User;
use crate::review::{AccessReview, AccessVerdict, AuthorizationApi, ReviewError};
use crate::review_cache::ReviewCache;

/// The flags of the authorization section (`k8s.io/apiserver/pkg/server/options/authorization.go`), with their defaults.
/// `--authorization-kubeconfig` is not among them: it becomes the [`AuthorizationApi`] of the [`Authorizer`].
#[derive(Clone, Debug)]
pub struct AuthorizationOptions {
    /// `--authorization-always-allow-paths`: paths that anybody may use, or prefixes of them if they end in `*`.
    pub always_allow_paths: Vec<String>,
    /// `--authorization-webhook-cache-authorized-ttl`: how long a yes is believed; 0 asks every time.
    pub authorized_ttl: Duration,
    /// `--authorization-webhook-cache-unauthorized-ttl`: how long a no is believed; 0 asks every time.
    pub unauthorized_ttl: Duration,
}

impl Default for AuthorizationOptions {
    fn default() -> Self {
        Self {
            always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec(),
            authorized_ttl: Duration::from_secs(10),
            unauthorized_ttl: Duration::from_secs(10),
        }
    }
}

impl AuthorizationOptions {
    /// Everything that is wrong with the values, each naming its flag.
    pub fn validate(&self) -> Vec<String> {
        Paths::new(&self.always_allow_paths).err().into_iter().collect()
    }
}

/// Those who may do anything.
const PRIVILEGED_GROUP: &str = "system:masters";
/// Answers to longer questions are not believed for long (`shouldCache`).
const LONGEST_REMEMBERED: usize = 10_000;

/// Tells what a user may do: members of `system:masters` everything, anybody the paths that are always allowed, and for
/// the rest the API server is asked. Without it, the rest is forbidden.
pub struct Authorizer<Z> {
    paths: Paths,
    options: AuthorizationOptions,
    api: Option<Arc<Z>>,
    known: ReviewCache<AccessReview, AccessVerdict>,
}

/// Whether a request may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// No.
    Forbid {
        /// Why, in words that the user may see; often empty.
        reason: String,
    },
}

impl<Z: AuthorizationApi> Authorizer<Z> {
    /// Fails if the options do; see [`AuthorizationOptions::validate`].
    pub fn new(options: AuthorizationOptions, api: Option<Z>) -> Result<Self, String> {
        let paths = Paths::new(&options.always_allow_paths)?;
        Ok(Self { paths, options, api: api.map(Arc::new), known: ReviewCache::new() })
    }

    /// Decides about a method (in lower case) on a decoded path, for a request from this address.
    ///
    /// May ask the API server; takes 10 s at most. An error is no decision.
    pub async fn authorize(
        &self,
        from: IpAddr,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Result<Decision, ReviewError> {
        if user.is_in(PRIVILEGED_GROUP) || self.paths.contain(path) {
            return Ok(Decision::Allow);
        }
        let Some(api) = &self.api else { return Ok(Decision::Forbid { reason: String::new() }) };
        let question = AccessReview { user: user.clone(), verb: verb.to_owned(), path: path.to_owned() };
        let verdict =
            self.known.answer(question.clone(), from, || self.review(Arc::clone(api), question)).await?;
        let AccessVerdict { allowed, reason } = verdict;
        Ok(if allowed { Decision::Allow } else { Decision::Forbid { reason } })
    }

    /// The API server's opinion, and for how long it is to be believed.
    fn review(
        &self,
        api: Arc<Z>,
        question: AccessReview,
    ) -> impl Future<Output = Result<(AccessVerdict, Duration), ReviewError>> + Send + use<Z> {
        let AuthorizationOptions { authorized_ttl, unauthorized_ttl, .. } = self.options;
        async move {
            let verdict = api.review_access(&question).await?;
            let ttl = if verdict.allowed { authorized_ttl } else { unauthorized_ttl };
            let is_endless = question.verb.len() + question.path.len() >= LONGEST_REMEMBERED;
            Ok((verdict, if is_endless { Duration::ZERO } else { ttl }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Allows /metrics, and counts.
    #[derive(Default)]
    struct Fake(Mutex<Vec<String>>);

    impl AuthorizationApi for &'static Fake {
        async fn review_access(&self, access: &AccessReview) -> Result<AccessVerdict, ReviewError> {
            self.0.lock().push(format!("{} {} {}", access.user.name, access.verb, access.path));
            match access.path.as_str() {
                "/error" => Err(ReviewError::Timeout),
                path => Ok(AccessVerdict { allowed: path == "/metrics", reason: "because".to_owned() }),
            }
        }
    }

    fn user(name: &str, group: &str) -> User {
        User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() }
    }

    fn authorizer(options: AuthorizationOptions) -> (&'static Fake, Authorizer<&'static Fake>) {
        let fake: &'static Fake = Box::leak(Box::default());
        (fake, Authorizer::new(options, Some(fake)).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_is_asked_last_and_only_once_a_while() {
        let options = AuthorizationOptions {
            unauthorized_ttl: Duration::from_secs(1),
            ..AuthorizationOptions::default()
        };
        let (asked, authorizer) = authorizer(options);
        let forbidden = Decision::Forbid { reason: "because".to_owned() };
        let ann = user("ann", "devs");
        for _ in 0..2 {
            let root = user("root", "system:masters");
            assert_eq!(authorizer.authorize(HERE, &root, "put", "/x").await.unwrap(), Decision::Allow);
            assert_eq!(authorizer.authorize(HERE, &ann, "get", "/healthz").await.unwrap(), Decision::Allow);
            assert_eq!(authorizer.authorize(HERE, &ann, "get", "/metrics").await.unwrap(), Decision::Allow);
            assert_eq!(authorizer.authorize(HERE, &ann, "get", "/configz").await.unwrap(), forbidden);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // A no is believed for one second here, a yes for ten.
        assert_eq!(*asked.0.lock(), ["ann get /metrics", "ann get /configz", "ann get /configz"]);
    }

    #[tokio::test(start_paused = true)]
    async fn user_verb_and_path_make_the_question() {
        let (asked, authorizer) = authorizer(AuthorizationOptions::default());
        for (name, group, verb) in
            [("ann", "a", "get"), ("ann", "b", "get"), ("bob", "a", "get"), ("ann", "a", "put")]
        {
            authorizer.authorize(HERE, &user(name, group), verb, "/metrics").await.unwrap();
        }
        assert_eq!(asked.0.lock().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn neither_errors_nor_endless_paths_are_remembered() {
        let (asked, authorizer) = authorizer(AuthorizationOptions::default());
        let ann = user("ann", "a");
        for _ in 0..2 {
            assert!(authorizer.authorize(HERE, &ann, "get", "/error").await.is_err());
            authorizer.authorize(HERE, &ann, "get", &"/".repeat(10_000)).await.unwrap();
        }
        assert_eq!(asked.0.lock().len(), 4);
    }

    #[tokio::test]
    async fn without_an_api_server_the_rest_is_forbidden() {
        let authorizer = Authorizer::<&'static Fake>::new(AuthorizationOptions::default(), None).unwrap();
        let decision = authorizer.authorize(HERE, &user("ann", "a"), "get", "/metrics").await.unwrap();
        assert_eq!(decision, Decision::Forbid { reason: String::new() });
    }
}
