//! The list that a watch continues.

use std::time::Duration;

use endpoint_diagnostics::Object;
use endpointslice::well_known::SERVICE_NAME;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_api::{ApiClient, ApiError};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::kinds::Resource;

/// Objects in one response, as many as client-go requests.
const PAGE: u32 = 500;
/// The longest wait for the beginning of a response.
const HEADER: Duration = Duration::from_secs(30);
/// The same for a whole list, for which an API server takes up to 60 s (`--request-timeout`).
const WHOLE_LIST_HEADER: Duration = Duration::from_secs(68);

/// The most times that a request is repeated because of `Retry-After` (client-go: 10).
const MAX_RETRIES: u32 = 10;
/// The longest `Retry-After` that is obeyed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);

/// All objects of a resource at one moment.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) objects: Vec<Object>,
    /// The version from which a watch continues.
    pub(crate) version: String,
}

/// The objects of a collection to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    /// The object of this name.
    Named(String),
    /// The slices whose label names this Service.
    OfService(String),
}

impl Selection {
    /// The parameter of a list, if there is one.
    fn query(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Named(name) => format!("&fieldSelector={}", escaped(&format!("metadata.name={name}"))),
            Self::OfService(name) => format!("&labelSelector={}", escaped(&format!("{SERVICE_NAME}={name}"))),
        }
    }
}

/// A part of a list.
pub(crate) enum Part<'a> {
    /// An object as JSON, without its kind.
    Object(&'a str),
    /// The list begins again: the objects before are of another moment.
    Restart,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads objects, in pages.
pub(crate) async fn list(
    client: &ApiClient,
    resource: &Resource,
    selection: &Selection,
) -> Result<List, ApiError> {
    let mut objects = Vec::new();
    let take = |part: Part<'_>| match part {
        Part::Object(json) => objects.extend(resource.readable(json)),
        Part::Restart => objects.clear(),
    };
    let version = each(client, resource, selection, take).await?;
    Ok(List { objects, version })
}

/// Reads objects, in pages, and gives each to `take`. Returns the version from which a watch continues. As kubectl, it obeys an
/// overloaded API server that says when to try again.
///
/// All pages are of the moment of the first one, which the API server may forget while they are read. Then the whole list is
/// requested at once, as client-go does (`tools/pager`).
pub(crate) async fn each(
    client: &ApiClient,
    resource: &Resource,
    selection: &Selection,
    mut take: impl FnMut(Part<'_>),
) -> Result<String, ApiError> {
    let (mut token, mut limit, mut wait, mut retries) = (String::new(), PAGE, HEADER, 0);
    loop {
        let selector = selection.query();
        let path = format!("{}?limit={limit}{selector}&continue={}", resource.path(), escaped(&token));
        let body = match client.page(&path, wait).await {
            Err(error) if error.is_expired() && !token.is_empty() => {
                take(Part::Restart);
                // No limit.
                (limit, wait) = (0, WHOLE_LIST_HEADER);
                token.clear();
                continue;
            }
            Err(error) if retries < MAX_RETRIES && error.retry_after().is_some() => {
                retries += 1;
                sleep(error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER)).await;
                continue;
            }
            page => page?.1,
        };
        retries = 0;
        // Parameters of drivers need not be UTF-8.
        let body = String::from_utf8_lossy(&body);
        let page: Page<'_> = serde_json::from_str(&body).map_err(ApiError::malformed)?;
        page.items.unwrap_or_default().into_iter().for_each(|item| take(Part::Object(item.get())));
        token = page.metadata.continue_.unwrap_or_default();
        if token.is_empty() {
            return Ok(page.metadata.resource_version.unwrap_or_default());
        }
    }
}

/// The version of the storage, by a list of at most one object.
pub(super) async fn current_version(client: &ApiClient, resource: &Resource) -> Result<String, ApiError> {
    let (_, body) = client.page(&format!("{}?limit=1", resource.path()), HEADER).await?;
    let body = String::from_utf8_lossy(&body);
    let page: Page<'_> = serde_json::from_str(&body).map_err(ApiError::malformed)?;
    Ok(page.metadata.resource_version.unwrap_or_default())
}

/// Tokens and versions for a query: letters and digits as they are.
pub(super) fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use embedded_apiserver::ApiServer;
    use endpoint_diagnostics::snapshot::Kind;
    use http::Method;
    use kube_api::Encoding;
    use scripted_api::script::{Answer, Script, Step};
    use serde_json::json;

    use super::*;

    fn of_nodes(client: kube::Client) -> (ApiClient, Resource) {
        (ApiClient::new(client, Encoding::Json, "test"), Resource { kind: Kind::Nodes, namespace: None })
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_api_server_is_asked_again() {
        let get = |answer| Step::new(Method::GET, "/api/v1/nodes", answer);
        let full = || get(Answer::new(429, "application/json", "{}").header("retry-after", "1"));
        let list = Answer::new(200, "application/json", r#"{"metadata": {"resourceVersion": "7"}}"#);
        let script = Script::new([full(), full(), get(list)]);
        let (client, nodes) = of_nodes(script.client());
        assert_eq!(super::list(&client, &nodes, &Selection::All).await.unwrap().version, "7");
        assert_eq!(script.gaps(), [1.0, 1.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_expires_between_its_pages_is_read_at_once() {
        let server = ApiServer::new();
        let load = |number: u32| {
            server
                .load(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": number.to_string()}}))
        };
        (0..=PAGE).for_each(|number| load(number).unwrap());
        let (client, nodes) = of_nodes(kube::Client::new(server.clone(), "default"));
        let mut taken = 0;
        let take = |part: Part<'_>| match part {
            Part::Restart => taken = 0,
            Part::Object(_) => {
                taken += 1;
                if taken == PAGE && load(PAGE + 1).is_ok() {
                    server.compact();
                }
            }
        };
        let version = each(&client, &nodes, &Selection::All, take).await.unwrap();
        assert_eq!((taken, version), (PAGE + 2, server.version().to_string()));
    }
}
