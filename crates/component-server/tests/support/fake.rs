//! An API server that answers reviews from a list, and counts them.

use std::collections::BTreeMap;
use std::sync::Arc;

use component_server::{AccessReview, AccessVerdict, AuthenticationApi, AuthorizationApi, ReviewError, User};
use parking_lot::Mutex;

/// Knows the tokens `admin-token` (of a member of system:masters), `monitor-token` (may read /metrics), `user-token`,
/// `broken-token`, about which it cannot make up its mind, and `endless-token`, which it never stops thinking about. Clones share what was asked.
#[derive(Clone, Default)]
pub struct FakeApi(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    asked: Vec<String>,
    config: Option<BTreeMap<String, String>>,
    is_down: bool,
    /// One more reference for each review that never ends.
    endless: Arc<()>,
}

impl FakeApi {
    /// What was asked since the last time.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().asked)
    }

    pub fn set_config(&self, config: &[(&str, &str)]) {
        let owned = config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.0.lock().config = Some(owned.collect());
    }

    /// How many reviews are under way that never end.
    pub fn endless(&self) -> usize {
        Arc::strong_count(&self.0.lock().endless) - 1
    }

    /// Whether questions get an answer at all.
    pub fn set_down(&self, is_down: bool) {
        self.0.lock().is_down = is_down;
    }

    fn note(&self, question: String) -> Result<(), ReviewError> {
        let mut state = self.0.lock();
        state.asked.push(question);
        if state.is_down { Err(ReviewError::Answer("the API server is away".to_owned())) } else { Ok(()) }
    }
}

impl AuthenticationApi for FakeApi {
    async fn review_token(&self, token: &str) -> Result<Option<User>, ReviewError> {
        self.note(format!("token {token}"))?;
        let user = |name: &str, group: &str| {
            Some(User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() })
        };
        match token {
            "admin-token" => Ok(user("admin", "system:masters")),
            "monitor-token" => Ok(user("mona", "system:monitoring")),
            "user-token" => Ok(user("jane", "devs")),
            "endless-token" => {
                let _under_way = Arc::clone(&self.0.lock().endless);
                std::future::pending().await
            }
            "broken-token" => Err(ReviewError::Answer("undecided".to_owned())),
            _ => Ok(None),
        }
    }

    async fn cluster_config(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        self.note("config".to_owned())?;
        Ok(self.0.lock().config.clone())
    }
}

impl AuthorizationApi for FakeApi {
    async fn review_access(&self, access: &AccessReview) -> Result<AccessVerdict, ReviewError> {
        let AccessReview { user, verb, path } = access;
        self.note(format!("{} of {} may {verb} {path}", user.name, user.groups.join("+")))?;
        let allowed = user.groups.iter().any(|group| group == "system:monitoring")
            && verb == "get"
            && path.starts_with("/metrics");
        let reason = if user.name == "jane" { "not <you>".to_owned() } else { String::new() };
        Ok(AccessVerdict { allowed, reason })
    }
}
