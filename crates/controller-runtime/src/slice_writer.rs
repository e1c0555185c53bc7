//! Applies a plan: the only place that writes EndpointSlices.

use endpointslice::{AddressType, AddressTypePlan, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::api::{ApiClient, ApiError, Preconditions};

/// Writes slices with one client.
#[derive(Clone)]
pub struct SliceWriter {
    client: ApiClient,
}

/// A write that succeeded.
#[derive(Debug)]
pub enum Written<'a> {
    /// Created; as the API server returned it.
    Created(&'a EndpointSlice),
    /// Replaced; as the API server returned it.
    Updated(&'a EndpointSlice),
    /// Deleted; as it was known.
    Deleted(&'a EndpointSlice),
}

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} EndpointSlice {slice}")]
pub struct WriteError {
    verb: &'static str,
    slice: String,
    address_type: Option<AddressType>,
    #[source]
    source: ApiError,
}

impl WriteError {
    fn new(verb: &'static str, target: &EndpointSlice, source: ApiError) -> Self {
        let metadata = &target.metadata;
        let name = metadata.name.as_ref().or(metadata.generate_name.as_ref()).map_or("", String::as_str);
        let slice = format!("{}/{name}", metadata.namespace.as_deref().unwrap_or_default());
        Self { verb, slice, address_type: AddressType::parse(&target.address_type), source }
    }

    /// The address type whose plan this failure ended; none for a slice of a type that nobody supports.
    pub fn address_type(&self) -> Option<AddressType> {
        self.address_type
    }

    /// True if the object has changed since the plan was made.
    pub fn is_conflict(&self) -> bool {
        self.source.is_conflict()
    }
}

impl SliceWriter {
    /// A writer over this client.
    pub fn new(client: ApiClient) -> Self {
        Self { client }
    }

    /// Makes the writes of a plan and reports each success to `written`.
    ///
    /// Address types are independent: the first failure ends its type, the others still run, and so do the deletes of
    /// unsupported slices. A namespace that is being deleted refuses new slices; then there is nothing left to do for
    /// the type. A slice that is already gone counts as deleted (`reconciler.go` `Reconcile`, `finalize`).
    pub async fn apply(
        &self,
        plan: &SlicePlan,
        mut written: impl FnMut(Written<'_>),
    ) -> Result<(), Vec<WriteError>> {
        let mut errors = Vec::new();
        for plan in &plan.types {
            errors.extend(self.apply_type(plan, &mut written).await.err());
        }
        for slice in &plan.unsupported {
            errors.extend(self.delete(slice, &mut written).await.err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    async fn apply_type(
        &self,
        plan: &AddressTypePlan,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), WriteError> {
        let create = if plan.creates_suppressed { &[][..] } else { &plan.create };
        for slice in create {
            match self.client.create(&collection(slice), slice).await {
                Ok(created) => written(Written::Created(&created)),
                Err(error) if error.is_namespace_terminating() => return Ok(()),
                Err(error) => return Err(WriteError::new("create", slice, error)),
            }
        }
        for slice in &plan.update {
            let updated = self.client.update(&path(slice), slice).await;
            let updated = updated.map_err(|error| WriteError::new("update", slice, error))?;
            written(Written::Updated(&updated));
        }
        for slice in &plan.delete {
            self.delete(slice, written).await?;
        }
        Ok(())
    }

    /// The uid goes along as a precondition: a new slice of the same name is somebody else's.
    async fn delete(
        &self,
        slice: &EndpointSlice,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), WriteError> {
        let preconditions = Preconditions { uid: slice.metadata.uid.clone(), resource_version: None };
        match self.client.delete(&path(slice), &preconditions).await {
            Err(error) if !error.is_not_found() => return Err(WriteError::new("delete", slice, error)),
            _ => written(Written::Deleted(slice)),
        }
        Ok(())
    }
}

fn collection(slice: &EndpointSlice) -> String {
    let namespace = slice.metadata.namespace.as_deref().unwrap_or_default();
    format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices")
}

fn path(slice: &EndpointSlice) -> String {
    format!("{}/{}", collection(slice), slice.metadata.name.as_deref().unwrap_or_default())
}
