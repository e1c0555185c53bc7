//! Applies a plan: the only place that writes EndpointSlices.

use std::fmt;

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
    verb: Verb,
    slice: String,
    address_type: Option<AddressType>,
    #[source]
    source: ApiError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
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
    fn new(verb: Verb, target: &EndpointSlice, source: ApiError) -> Self {
        let metadata = &target.metadata;
        let name = metadata.name.as_ref().or(metadata.generate_name.as_ref()).map_or("", String::as_str);
        let slice = format!("{}/{name}", metadata.namespace.as_deref().unwrap_or_default());
        Self { verb, slice, address_type: AddressType::parse(&target.address_type), source }
    }

    /// The address type whose plan this failure ended; none for a slice of a type that nobody supports.
    pub fn address_type(&self) -> Option<AddressType> {
        self.address_type
    }

    /// True if the slice has changed, or is gone, since the cache showed it: a newer cache is all it takes.
    pub fn heals_by_itself(&self) -> bool {
        self.source.is_conflict() || self.verb == Verb::Update && self.source.is_not_found()
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
    ///
    /// Unsupported slices go only if nobody has changed them: when an owner changes hands, a slice may have as well, and
    /// its new label `managed-by` may not be in the cache yet. Other deletes don't insist on that, because our own last
    /// write could be in the way: the tracker goes by generations, and mirrored annotations don't change those.
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
            let unchanged = slice.metadata.resource_version.clone();
            errors.extend(self.delete(slice, unchanged, &mut written).await.err());
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
                Err(error) => return Err(WriteError::new(Verb::Create, slice, error)),
            }
        }
        for slice in &plan.update {
            let updated = self.client.update(&path(slice), slice).await;
            let updated = updated.map_err(|error| WriteError::new(Verb::Update, slice, error))?;
            written(Written::Updated(&updated));
        }
        for slice in &plan.delete {
            self.delete(slice, None, written).await?;
        }
        Ok(())
    }

    /// The uid goes along as a precondition: a new slice of the same name is somebody else's.
    async fn delete(
        &self,
        slice: &EndpointSlice,
        resource_version: Option<String>,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), WriteError> {
        let preconditions = Preconditions { uid: slice.metadata.uid.clone(), resource_version };
        match self.client.delete(&path(slice), &preconditions).await {
            Err(error) if !error.is_not_found() => return Err(WriteError::new(Verb::Delete, slice, error)),
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
