//! The list that a watch continues.

use std::time::Duration;

use endpoint_diagnostics::Object;
use endpointslice::well_known::SERVICE_NAME;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_api::{ApiClient, ApiError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::kinds::Resource;

/// Objects in one response, as many as client-go requests.
const PAGE: u32 = 500;
/// The longest wait for the beginning of a response.
const HEADER: Duration = Duration::from_secs(30);

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
    let version = each(client, resource, selection, |json| objects.extend(resource.readable(json))).await?;
    Ok(List { objects, version })
}

/// Reads objects, in pages, and gives each to `take` as JSON, without its kind. Returns the version from which a watch
/// continues.
pub(crate) async fn each(
    client: &ApiClient,
    resource: &Resource,
    selection: &Selection,
    mut take: impl FnMut(&str),
) -> Result<String, ApiError> {
    let mut token = String::new();
    loop {
        let selector = selection.query();
        let path = format!("{}?limit={PAGE}{selector}&continue={}", resource.path(), escaped(&token));
        let (_, body) = client.page(&path, HEADER).await?;
        // Parameters of drivers need not be UTF-8.
        let body = String::from_utf8_lossy(&body);
        let page: Page<'_> = serde_json::from_str(&body).map_err(ApiError::malformed)?;
        page.items.unwrap_or_default().into_iter().for_each(|item| take(item.get()));
        token = page.metadata.continue_.unwrap_or_default();
        if token.is_empty() {
            return Ok(page.metadata.resource_version.unwrap_or_default());
        }
    }
}

/// Tokens and versions for a query: letters and digits as they are.
pub(super) fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
