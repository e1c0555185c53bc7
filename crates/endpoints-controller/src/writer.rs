//! The only place that writes Endpoints, and asks about them.

use std::fmt;

use controller_runtime::api::{ApiClient, ApiError, Preconditions};
use controller_runtime::cache::{CachedEndpoints, ObjectKey};
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Endpoints, Service};

/// Writes Endpoints with one client.
pub(crate) struct EndpointsWriter {
    client: ApiClient,
}

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} Endpoints {key}")]
pub struct WriteError {
    pub(crate) verb: Verb,
    key: ObjectKey,
    #[source]
    pub(crate) source: ApiError,
}

/// The kinds of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Delete,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        })
    }
}

impl WriteError {
    /// True if the API server holds something else than the cache showed: a newer cache is all it takes.
    pub(crate) fn heals_by_itself(&self) -> bool {
        self.source.is_conflict()
            || match self.verb {
                Verb::Create => self.source.is_already_exists(),
                Verb::Update => self.source.is_not_found(),
                Verb::Delete => false,
            }
    }
}

impl EndpointsWriter {
    pub(crate) fn new(client: ApiClient) -> Self {
        Self { client }
    }

    /// Whether there is a Service of this name, with whatever labels.
    ///
    /// Asked as a list of one: lists are all that this program otherwise needs the right for.
    pub(crate) async fn service_exists(&self, key: &ObjectKey) -> Result<bool, ApiError> {
        let ObjectKey { namespace, name } = key;
        let path = format!("/api/v1/namespaces/{namespace}/services?fieldSelector=metadata.name={name}");
        let found: List<Service> = self.client.get_json(&path).await?;
        Ok(!found.items.is_empty())
    }

    /// Creates the object; `None` if the namespace is being deleted, where nothing can be created any more.
    pub(crate) async fn create(
        &self,
        key: &ObjectKey,
        endpoints: &Endpoints,
    ) -> Result<Option<Endpoints>, WriteError> {
        match self.client.create(&collection(key), endpoints).await {
            Err(error) if error.is_namespace_terminating() => Ok(None),
            result => result.map(Some).map_err(|source| failed(Verb::Create, key, source)),
        }
    }

    /// Replaces the object, if it has not changed since it was read.
    pub(crate) async fn update(
        &self,
        key: &ObjectKey,
        endpoints: &Endpoints,
    ) -> Result<Endpoints, WriteError> {
        let updated = self.client.update(&path(key), endpoints).await;
        updated.map_err(|source| failed(Verb::Update, key, source))
    }

    /// Deletes this very object, in this very version; one that is gone already counts as deleted.
    pub(crate) async fn delete(
        &self,
        key: &ObjectKey,
        endpoints: &CachedEndpoints,
    ) -> Result<(), WriteError> {
        let preconditions = Preconditions {
            uid: Some(endpoints.uid.to_string()),
            resource_version: endpoints.version.number().map(|version| version.to_string()),
        };
        match self.client.delete(&path(key), &preconditions).await {
            Err(error) if !error.is_not_found() => Err(failed(Verb::Delete, key, error)),
            _ => Ok(()),
        }
    }
}

fn failed(verb: Verb, key: &ObjectKey, source: ApiError) -> WriteError {
    WriteError { verb, key: key.clone(), source }
}

fn collection(key: &ObjectKey) -> String {
    format!("/api/v1/namespaces/{}/endpoints", key.namespace)
}

fn path(key: &ObjectKey) -> String {
    format!("{}/{}", collection(key), key.name)
}
