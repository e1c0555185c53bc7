//! Applies a plan: the only place that writes EndpointSlices.

use endpointslice::{AddressType, AddressTypePlan, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::api::{ApiClient, Preconditions};
use crate::cache::ObjectKey;
use crate::write::{self, WriteError};

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

/// What failed of a plan.
#[derive(Debug, Default)]
pub struct Failed {
    /// The writes that failed.
    pub writes: Vec<WriteError>,
    /// The address types whose plan such a write ended.
    pub types: Vec<AddressType>,
}

impl SliceWriter {
    /// A writer over this client.
    pub fn new(client: ApiClient) -> Self {
        Self { client }
    }

    /// Makes the writes of a plan and reports each success to `written`.
    ///
    /// Address types are independent: the first failure ends its type, the others still run, and so do the deletes after
    /// them. A namespace that is being deleted refuses new slices; then there is nothing left to do for
    /// the type. A slice that is already gone counts as deleted (`reconciler.go` `Reconcile`, `finalize`).
    ///
    /// Deletes give the uid along, and those of [`SlicePlan::delete_if_unchanged`] the resourceVersion. The others don't
    /// insist on that, because our own last write could be in the way: the tracker goes by generations, and mirrored
    /// annotations don't change those.
    pub async fn apply(&self, plan: &SlicePlan, mut written: impl FnMut(Written<'_>)) -> Result<(), Failed> {
        let mut failed = Failed::default();
        for plan in &plan.types {
            if let Err(error) = self.apply_type(plan, &mut written).await {
                failed.writes.push(error);
                failed.types.push(plan.address_type);
            }
        }
        for slice in &plan.delete_if_unchanged {
            let unchanged = slice.metadata.resource_version.clone();
            failed.writes.extend(self.delete(slice, unchanged, &mut written).await.err());
        }
        if failed.writes.is_empty() { Ok(()) } else { Err(failed) }
    }

    async fn apply_type(
        &self,
        plan: &AddressTypePlan,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), WriteError> {
        let create = if plan.creates_suppressed { &[][..] } else { &plan.create };
        for slice in create {
            match write::create(&self.client, &key(slice), slice).await? {
                Some(created) => written(Written::Created(&created)),
                None => return Ok(()),
            }
        }
        for slice in &plan.update {
            written(Written::Updated(&write::update(&self.client, &key(slice), slice).await?));
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
        write::delete::<EndpointSlice>(&self.client, &key(slice), &preconditions).await?;
        written(Written::Deleted(slice));
        Ok(())
    }
}

/// A new slice has only the prefix of a name.
fn key(slice: &EndpointSlice) -> ObjectKey {
    let metadata = &slice.metadata;
    let name = metadata.name.as_deref().or(metadata.generate_name.as_deref()).unwrap_or_default();
    ObjectKey::new(metadata.namespace.as_deref().unwrap_or_default(), name)
}
