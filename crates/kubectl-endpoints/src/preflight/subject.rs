//! The user whose permissions and priority are checked.

/// The prefix of the names of service accounts (`k8s.io/apiserver` `pkg/authentication/serviceaccount`).
const ACCOUNT: &str = "system:serviceaccount:";

/// The user whose permissions and priority are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The user of the kubeconfig.
    Caller,
    /// A user by its name.
    User(String),
}

impl Subject {
    /// A service account, from `NAMESPACE:NAME`.
    ///
    /// # Errors
    /// The expected form.
    pub(crate) fn service_account(text: &str) -> Result<Self, String> {
        match text.split(':').collect::<Vec<_>>().as_slice() {
            [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                Ok(Self::User(account(namespace, name)))
            }
            _ => Err("must be NAMESPACE:NAME, such as kube-system:endpoint-controller-manager".to_owned()),
        }
    }

    /// The name for messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Caller => "the user of the kubeconfig",
            Self::User(name) => name,
        }
    }
}

/// The user name of a service account.
pub(super) fn account(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// The groups that the API server gives to a user whom it authenticates, as far as its name shows them.
pub(super) fn groups(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    if let Some((namespace, _)) = user.strip_prefix(ACCOUNT).and_then(|rest| rest.split_once(':')) {
        groups.extend(["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_are_users_with_groups() {
        let subject = Subject::service_account("kube-system:web").unwrap();
        assert_eq!(subject, Subject::User("system:serviceaccount:kube-system:web".to_owned()));
        assert_eq!(
            groups(subject.name()),
            ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:kube-system"]
        );
        assert_eq!(groups("endpoint-controller-manager"), ["system:authenticated"]);
        for wrong in ["web", "a:b:c", ":web", "kube-system:"] {
            assert!(Subject::service_account(wrong).is_err(), "{wrong}");
        }
    }
}
