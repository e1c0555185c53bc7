//! Access reviews.

use futures::future::join_all;
use serde_json::{Value, json};

use super::requests::Requests;
use crate::config::Config;
use crate::diagnostics::preflight::facts::{Answer, Fact};
use crate::diagnostics::preflight::lease::SYSTEM;
use crate::diagnostics::preflight::rights::{Need, needs};
use crate::diagnostics::preflight::subject::{Subject, account, groups};

/// Asks for each right that the program needs.
pub(super) async fn rights(requests: &Requests<'_>, config: &Config, subject: &Subject) -> Vec<Answer> {
    let answer = async |need: Need| Answer { allowed: allowed(requests, &need, subject).await, need };
    join_all(needs(config).into_iter().map(answer)).await
}

async fn allowed(requests: &Requests<'_>, need: &Need, subject: &Subject) -> Fact<bool> {
    let user = need.account.map(|name| account(SYSTEM, name)).or_else(|| match subject {
        Subject::Caller => None,
        Subject::User(name) => Some(name.clone()),
    });
    let (resource, kind) = match user {
        None => ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        Some(_) => ("subjectaccessreviews", "SubjectAccessReview"),
    };
    let attributes = json!({"group": need.group, "resource": need.resource, "subresource": need.subresource,
        "verb": need.verb, "namespace": need.namespace, "name": need.name});
    let mut spec = json!({ "resourceAttributes": attributes });
    if let (Some(user), Some(fields)) = (user, spec.as_object_mut()) {
        fields.insert("groups".to_owned(), json!(groups(&user)));
        fields.insert("user".to_owned(), user.into());
    }
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
    let status = requests.review(resource, &review).await?;
    Ok(status.get("allowed").and_then(Value::as_bool).unwrap_or(false))
}
