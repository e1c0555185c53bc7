//! The requests of this controller.

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::{ObjectWriter, WriteError};
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::{ApiClient, ApiError, Preconditions};

/// Writes Endpoints with one client. Its requests overlap with the syncs of other Services: a plan is one object of at most
/// 1,000 addresses.
pub(crate) struct EndpointsWriter {
    client: ApiClient,
    writer: ObjectWriter,
}

impl EndpointsWriter {
    pub(crate) fn new(client: ApiClient) -> Self {
        let writer = ObjectWriter::new(client.clone()).ignoring_annotations(&[LAST_CHANGE_TRIGGER_TIME]);
        Self { client, writer }
    }

    /// The Service of this name as it is stored, with whatever labels.
    ///
    /// Read as a list of one, because this program has no permission to get Services.
    pub(crate) async fn service(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
    ) -> Result<Option<Service>, ApiError> {
        sync.end_planning();
        let ObjectKey { namespace, name } = key;
        let path = format!("/api/v1/namespaces/{namespace}/services?fieldSelector=metadata.name={name}");
        let found: List<Service> = self.client.get_json(&path).await?;
        Ok(found.items.into_iter().next())
    }

    /// The metadata of the Endpoints of this name that were stored at a resourceVersion; `None` if there were none.
    pub(crate) async fn endpoints_at(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        version: u64,
    ) -> Result<Option<ObjectMeta>, ApiError> {
        sync.end_planning();
        let ObjectKey { namespace, name } = key;
        let path = format!(
            "/api/v1/namespaces/{namespace}/endpoints?fieldSelector=metadata.name={name}\
             &resourceVersion={version}&resourceVersionMatch=Exact"
        );
        let found: List<Endpoints> = self.client.get_json(&path).await?;
        Ok(found.items.into_iter().next().map(|endpoints| endpoints.metadata))
    }

    /// Creates the object; `None` if the namespace is terminating, in which nothing can be created.
    pub(crate) async fn create(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        endpoints: &Endpoints,
    ) -> Result<Option<ObjectMeta>, WriteError> {
        sync.end_planning();
        self.writer.create(sync, key, endpoints).await
    }

    /// Replaces the object, if it has not changed since it was read.
    pub(crate) async fn update(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        endpoints: &Endpoints,
    ) -> Result<ObjectMeta, WriteError> {
        sync.end_planning();
        self.writer.update(sync, key, endpoints).await
    }

    /// Deletes the object if the preconditions hold; one that was deleted already counts as deleted.
    pub(crate) async fn delete(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        preconditions: &Preconditions,
    ) -> Result<(), WriteError> {
        sync.end_planning();
        self.writer.delete::<Endpoints>(sync, key, preconditions).await
    }
}
