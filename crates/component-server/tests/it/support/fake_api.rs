//! Fake reviews by token.

use std::collections::BTreeMap;
use std::sync::Arc;

use component_server::{
    AccessReview, AccessReviewStatus, AuthenticationApi, AuthorizationApi, ReviewError, User,
};
use parking_lot::Mutex;

/// Accepts the tokens `admin-token` (of a member of system:masters), `monitor-token` (may read /metrics) and
/// `user-token`. The review of `broken-token` fails, that of `hanging-token` never completes. Records all reviews; clones
/// share them.
#[derive(Clone, Default)]
pub(crate) struct FakeApi(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    reviews: Vec<String>,
    config: Option<BTreeMap<String, String>>,
    is_down: bool,
    /// One more reference for each review that hangs.
    hanging: Arc<()>,
}

impl FakeApi {
    /// Takes the reviews since the last call.
    pub(crate) fn reviews(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().reviews)
    }

    pub(crate) fn set_config(&self, config: &[(&str, &str)]) {
        let owned = config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.0.lock().config = Some(owned.collect());
    }

    /// Returns the number of reviews in progress that hang.
    pub(crate) fn hanging(&self) -> usize {
        Arc::strong_count(&self.0.lock().hanging) - 1
    }

    /// Lets all reviews fail or succeed again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().is_down = is_down;
    }

    fn record(&self, review: String) -> Result<(), ReviewError> {
        let mut state = self.0.lock();
        state.reviews.push(review);
        if state.is_down {
            Err(ReviewError::Invalid("the API server is unavailable".to_owned()))
        } else {
            Ok(())
        }
    }
}

impl AuthenticationApi for FakeApi {
    async fn review_token(&self, token: &str) -> Result<Option<User>, ReviewError> {
        self.record(format!("token {token}"))?;
        let user = |name: &str, group: &str| {
            Some(User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() })
        };
        match token {
            "admin-token" => Ok(user("admin", "system:masters")),
            "monitor-token" => Ok(user("mona", "system:monitoring")),
            "user-token" => Ok(user("jane", "devs")),
            "hanging-token" => {
                let _in_progress = Arc::clone(&self.0.lock().hanging);
                std::future::pending().await
            }
            "broken-token" => Err(ReviewError::Invalid("undecided".to_owned())),
            _ => Ok(None),
        }
    }

    async fn cluster_config(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        self.record("config".to_owned())?;
        Ok(self.0.lock().config.clone())
    }
}

impl AuthorizationApi for FakeApi {
    async fn review_access(&self, access: &AccessReview) -> Result<AccessReviewStatus, ReviewError> {
        let AccessReview { user, verb, path } = access;
        self.record(format!("{} of {} may {verb} {path}", user.name, user.groups.join("+")))?;
        let allowed = user.groups.iter().any(|group| group == "system:monitoring")
            && verb == "get"
            && path.starts_with("/metrics");
        let reason = if user.name == "jane" { "not <you>".to_owned() } else { String::new() };
        Ok(AccessReviewStatus { allowed, reason })
    }
}
