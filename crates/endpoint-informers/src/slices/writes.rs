//! The writes of a plan, and their outcome.

use controller_kit::write::WriteError;
use endpointslice::AddressType;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::expectations::Taken;
use super::sync_error::SyncError;

/// A write that succeeded, with the metadata of the slice.
#[derive(Debug)]
pub(crate) enum Written<'a> {
    /// The slice was created; as the API server returned it, perhaps without owners, finalizers and times.
    Created(&'a ObjectMeta),
    /// The slice was replaced; as the API server returned it, perhaps without owners, finalizers and times.
    Updated(&'a ObjectMeta),
    /// The slice was deleted; in its last known state.
    Deleted(&'a ObjectMeta),
}

/// The outcome of a plan.
#[derive(Debug, Default)]
#[must_use]
pub struct Applied {
    /// The address types whose plan was carried out in full. A plan is incomplete after a failed write, at the end of
    /// the budget, and when nothing can be created because the namespace is being deleted.
    pub complete: Vec<AddressType>,
    /// The address types of which something was written, or nothing was to be.
    pub(super) advanced: Vec<AddressType>,
    /// The address types of which nothing was written, because the first write was refused.
    pub(super) blocked: Vec<AddressType>,
    /// The writes that failed.
    pub errors: Vec<WriteError>,
    /// Slices created.
    pub created: usize,
    /// Slices replaced.
    pub updated: usize,
    /// Slices deleted.
    pub deleted: usize,
    /// True if nothing was written, because the rate limit makes the plan wait for its turn.
    pub waits: bool,
    /// True if the budget ended before the plan.
    pub unfinished: bool,
    /// The new slices that admission gave to another manager or Service.
    pub(super) taken: Vec<Taken>,
    /// True if slices were not created, because admission gives new ones to another manager or Service.
    pub creates_withheld: bool,
    /// The writes made for each address type whose plan the end of the budget cut off.
    pub cut_after: Vec<usize>,
}

impl Applied {
    /// True if every write of the plan was made, but those that admission keeps from lasting.
    pub fn is_complete(&self) -> bool {
        self.errors.is_empty() && !self.unfinished && !self.waits
    }

    /// Fails with all errors, if there are any.
    pub fn into_result(self) -> Result<(), SyncError> {
        if self.errors.is_empty() { Ok(()) } else { Err(SyncError::Write(self.errors)) }
    }
}
