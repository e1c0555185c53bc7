//! The requests of this controller.

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::{ObjectWriter, WriteError};
use endpoint_controllers_common::stored_service;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::{ApiClient, ApiError, Preconditions};

/// Writes Endpoints with one client. Its requests overlap with the syncs of other Services: a plan is one object of at most
/// 1,000 addresses.
pub(crate) struct EndpointsWriter {
    writer: ObjectWriter,
}

impl EndpointsWriter {
    pub(crate) fn new(client: ApiClient) -> Self {
        Self { writer: ObjectWriter::new(client).ignoring_annotations(&[LAST_CHANGE_TRIGGER_TIME]) }
    }

    /// The Service of this name as it is stored, with whatever labels.
    pub(crate) async fn service(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
    ) -> Result<Option<Service>, ApiError> {
        sync.end_planning();
        stored_service(self.writer.client(sync), key).await
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
        let found: List<Endpoints> = self.writer.client(sync).get_json(&path).await?;
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
