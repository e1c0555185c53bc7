//! Users, as authenticators report them and authorizers see them.

use std::collections::BTreeMap;

/// The sender of a request (`k8s.io/apiserver/pkg/authentication/user`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The name, such as `system:anonymous`.
    pub name: String,
    /// Distinguishes users of the same name over time; may be empty.
    pub uid: String,
    /// The groups, in the order in which the authenticator listed them.
    pub groups: Vec<String>,
    /// Further attributes that the authenticator reports.
    pub extra: BTreeMap<String, Vec<String>>,
}

const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl User {
    /// Returns the user of a request without credentials.
    pub fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        Self { name: ANONYMOUS.to_owned(), groups, ..Self::default() }
    }

    /// True for a request without credentials.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    /// True if the user belongs to this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Returns the heap memory that the user takes, in bytes, roughly.
    pub(crate) fn heap_bytes(&self) -> usize {
        let Self { name, uid, groups, extra } = self;
        let of = |texts: &[String]| texts.iter().map(|text| size_of::<String>() + text.len()).sum::<usize>();
        let extra: usize =
            extra.iter().map(|(key, values)| size_of::<String>() + key.len() + of(values)).sum();
        name.len() + uid.len() + of(groups) + extra
    }

    /// Adds the group of all authenticated users (`authenticated_group_adder.go`).
    pub(crate) fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}
