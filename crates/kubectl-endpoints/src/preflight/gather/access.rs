//! Access reviews.

use endpoint_controller_manager::config::Config;
use futures::future::join_all;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::lease::SYSTEM;
use crate::preflight::facts::Answer;
use crate::preflight::permissions::{Need, Present, needs};
use crate::preflight::subject::{Subject, account, groups};
use crate::preflight::unknown::Fact;

/// Asks for each permission that the program needs. `lease` tells whether its Lease exists.
pub(super) async fn permissions(
    cluster: &Cluster,
    config: &Config,
    lease: bool,
    subject: &Subject,
) -> Vec<Answer> {
    let present = Present { openshift: is_openshift(cluster).await, lease };
    let answer = async |need: Need| Answer { allowed: allowed(cluster, &need, subject).await, need };
    join_all(needs(config, present).into_iter().map(answer)).await
}

/// True if the API server serves the configuration of `OpenShift`. Every authenticated user may ask.
async fn is_openshift(cluster: &Cluster) -> bool {
    let head = cluster.head("/apis/config.openshift.io", &HeaderMap::new()).await;
    head.is_ok_and(|head| head.status.is_success())
}

async fn allowed(cluster: &Cluster, need: &Need, subject: &Subject) -> Fact<bool> {
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
    let status = cluster.review(resource, &review).await?;
    Ok(status.get("allowed").and_then(Value::as_bool).unwrap_or(false))
}
