//! Kinds that are answered and never stored: reviews of tokens and of access. Everybody may do everything.

use serde_json::{Value, json};

/// A kind that can only be created.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
    /// The name of its Go type in the schema.
    pub(crate) type_name: &'static str,
}

const fn review(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    type_name: &'static str,
) -> Review {
    Review { group, version: "v1", kind, plural, namespaced, type_name }
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// All of them, in the order of discovery.
pub(crate) static REVIEWS: &[Review] = &[
    review(
        AUTHENTICATION,
        "SelfSubjectReview",
        "selfsubjectreviews",
        false,
        "k8s.io/api/authentication/v1.SelfSubjectReview",
    ),
    review(AUTHENTICATION, "TokenReview", "tokenreviews", false, "k8s.io/api/authentication/v1.TokenReview"),
    review(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        true,
        "k8s.io/api/authorization/v1.LocalSubjectAccessReview",
    ),
    review(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        false,
        "k8s.io/api/authorization/v1.SelfSubjectAccessReview",
    ),
    review(
        AUTHORIZATION,
        "SubjectAccessReview",
        "subjectaccessreviews",
        false,
        "k8s.io/api/authorization/v1.SubjectAccessReview",
    ),
];

/// The user that requests without a client certificate are made by.
pub(crate) const ANYONE: &str = "system:admin";

/// The review with its status.
pub(crate) fn answer(review: &Review, mut object: Value, user: &str) -> Value {
    let status = match review.kind {
        "TokenReview" => token_status(&object),
        "SelfSubjectReview" => json!({ "userInfo": user_info(user) }),
        _ => json!({ "allowed": true, "reason": "embedded-apiserver allows everything" }),
    };
    if let Value::Object(fields) = &mut object {
        fields.insert("status".to_owned(), status);
    }
    object
}

fn user_info(name: &str) -> Value {
    json!({ "username": name, "groups": ["system:masters", "system:authenticated"] })
}

/// Every token is good: those of service accounts belong to them.
fn token_status(object: &Value) -> Value {
    let token = object.pointer("/spec/token").and_then(Value::as_str).unwrap_or_default();
    let user = crate::token::account_of(token).map_or_else(
        || user_info(ANYONE),
        |account| {
            let (namespace, name) = (&account.namespace, &account.name);
            let groups = [
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ];
            json!({
                "username": format!("system:serviceaccount:{namespace}:{name}"),
                "uid": account.uid,
                "groups": groups,
            })
        },
    );
    json!({ "authenticated": true, "user": user })
}
