//! A user, as authorizers see them.

use std::collections::BTreeMap;

use crate::review_cache::{Answer, Weight};

/// Whoever sent a request (`k8s.io/apiserver/pkg/authentication/user`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The name, such as `system:anonymous`.
    pub name: String,
    /// Distinguishes users of the same name over time; may be empty.
    pub uid: String,
    /// The groups, in the order in which the authenticator gave them.
    pub groups: Vec<String>,
    /// Whatever else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl User {
    /// Somebody who showed no credentials.
    pub fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        Self { name: ANONYMOUS.to_owned(), groups, ..Self::default() }
    }

    /// True if nothing is known about them.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    /// True if they belong to this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Returns the bytes that it takes in memory beside itself, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let Self { name, uid, groups, extra } = self;
        let of = |texts: &[String]| texts.iter().map(Weight::bytes).sum::<usize>();
        let extra: usize = extra.iter().map(|(key, values)| Weight::bytes(key) + of(values)).sum();
        name.len() + uid.len() + of(groups) + extra
    }

    /// Adds the group of all who showed credentials (`authenticated_group_adder.go`).
    pub(super) fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// The owner of a token, if it has one.
impl Weight for Option<User> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.as_ref().map_or(0, User::bytes)
    }
}

impl Answer for Option<User> {
    fn is_good(&self) -> bool {
        self.is_some()
    }
}
