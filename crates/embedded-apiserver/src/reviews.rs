//! Kinds that are answered and never stored: reviews of tokens and of access. Every access is allowed.

use serde_json::{Value, json};

use crate::status::Status;
use crate::token;
use crate::users::{ANYONE, Users};

/// A kind that can only be created.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// The name of its Go type in the schema.
    pub(crate) type_name: &'static str,
}

impl Review {
    /// The singular of the resource.
    pub(crate) fn singular(&self) -> &'static str {
        self.plural.strip_suffix('s').unwrap_or(self.plural)
    }
}

const fn review(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    type_name: &'static str,
) -> Review {
    Review { group, version: "v1", kind, plural, type_name }
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// All of them, in the order of discovery.
pub(crate) static REVIEWS: &[Review] = &[
    review(AUTHENTICATION, "TokenReview", "tokenreviews", "k8s.io/api/authentication/v1.TokenReview"),
    review(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "k8s.io/api/authorization/v1.SelfSubjectAccessReview",
    ),
    review(
        AUTHORIZATION,
        "SubjectAccessReview",
        "subjectaccessreviews",
        "k8s.io/api/authorization/v1.SubjectAccessReview",
    ),
];

/// The review with its status.
pub(crate) fn answer(review: &Review, mut object: Value, users: &Users) -> Result<Value, Status> {
    let status = match review.kind {
        "TokenReview" => token_status(&object, users)?,
        _ => json!({ "allowed": true }),
    };
    if let Value::Object(fields) = &mut object {
        fields.insert("status".to_owned(), status);
    }
    Ok(object)
}

fn user_info(name: &str) -> Value {
    json!({ "username": name, "groups": ["system:masters", "system:authenticated"] })
}

/// The status of a `TokenReview`. Tokens are those of service accounts, and those that the server was built with; if it was
/// built without, every token is good.
fn token_status(object: &Value, users: &Users) -> Result<Value, Status> {
    let token = object.pointer("/spec/token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let user = match (token::account_of(token), users.by_token(token)) {
        (Some(account), _) => {
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
        }
        (None, Some(user)) => user_info(user),
        (None, None) if users.is_empty() => user_info(ANYONE),
        (None, None) => return Ok(json!({ "user": {}, "error": "invalid bearer token" })),
    };
    let audiences = object.pointer("/spec/audiences").filter(|audiences| audiences.is_array());
    let audiences = audiences.cloned().unwrap_or_else(|| json!([token::ISSUER]));
    Ok(json!({ "authenticated": true, "user": user, "audiences": audiences }))
}
