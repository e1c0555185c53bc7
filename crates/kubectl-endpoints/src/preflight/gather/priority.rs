//! The `FlowSchema`s and priority levels that requests get, by the headers of their responses.

use std::collections::HashMap;

use cli_runtime::input::object::text;
use futures::future::join;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::cluster::Cluster;
use crate::lease;
use crate::preflight::facts::Priority;
use crate::preflight::subject::Subject;
use crate::preflight::unknown::{Fact, Unknown};

const FLOW_SCHEMA: &str = "x-kubernetes-pf-flowschema-uid";
const LEVEL: &str = "x-kubernetes-pf-prioritylevel-uid";
const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

/// The priorities of a read of Services, and of one of the Lease. None if the API server has no priority and fairness.
pub(super) async fn priorities(
    cluster: &Cluster,
    subject: &Subject,
    (namespace, name): (&str, &str),
) -> (Fact<Option<Priority>>, Fact<Option<Priority>>) {
    let names = match names(cluster).await {
        Ok(names) => names,
        Err(unknown) => return (Err(unknown.clone()), Err(unknown)),
    };
    let lease = lease::path(&[namespace, name]);
    let of = async |path: &str| priority(cluster, subject, path, &names).await;
    join(of("/api/v1/services?limit=1"), of(&lease)).await
}

/// The names of `FlowSchema`s and priority levels by their uids.
async fn names(cluster: &Cluster) -> Fact<HashMap<String, String>> {
    let mut names = HashMap::new();
    for resource in ["flowschemas", "prioritylevelconfigurations"] {
        let items = cluster.items(&format!("{GROUP}/{resource}"), &format!("list {resource}")).await?;
        let field = |item, field| text(item, &["metadata", field]).to_owned();
        names.extend(items.iter().map(|item| (field(item, "uid"), field(item, "name"))));
    }
    Ok(names)
}

async fn priority(
    cluster: &Cluster,
    subject: &Subject,
    path: &str,
    names: &HashMap<String, String>,
) -> Fact<Option<Priority>> {
    let mut headers = HeaderMap::new();
    let mut action = "send a request".to_owned();
    if let Subject::User(user) = subject {
        action = format!("impersonate {user}");
        if let Some(other) = &cluster.impersonates {
            // The API server would read the header of either.
            let message = format!("Cannot {action}: requests impersonate {other}");
            let remedy = format!("Run this without impersonation, as a user who may {action}");
            return Err(Unknown { message, remedy });
        }
        let value =
            HeaderValue::from_str(user).map_err(|error| Unknown::failed(&action, &error.to_string()))?;
        headers.insert(HeaderName::from_static("impersonate-user"), value);
    }
    let head = cluster.head(path, &headers).await.map_err(|reason| Unknown::failed(&action, &reason))?;
    let uid = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(flow_schema), Some(level)) = (uid(FLOW_SCHEMA), uid(LEVEL)) else {
        // A refusal to impersonate comes before the classification; one of the request itself after it.
        let is_refused = head.status == StatusCode::FORBIDDEN;
        return if is_refused { Err(Unknown::forbidden(&action)) } else { Ok(None) };
    };
    let name = |uid: &str| names.get(uid).cloned().unwrap_or_else(|| format!("of uid {uid}"));
    Ok(Some(Priority { flow_schema: name(flow_schema), level: name(level) }))
}

#[cfg(test)]
mod tests {
    use scripted_api::script::Script;

    use super::*;

    #[tokio::test]
    async fn a_request_impersonates_one_user() {
        let script = Script::new([]);
        let mut cluster = Cluster::new(script.client(), String::new(), None, "test");
        cluster.impersonates = Some("me".to_owned());
        let other = Subject::User("ecm".to_owned());
        let unknown = priority(&cluster, &other, "/", &HashMap::new()).await.map(drop).unwrap_err();
        assert_eq!(unknown.message, "Cannot impersonate ecm: requests impersonate me");
        script.check();
    }
}
