//! Applies a plan: the only place that writes EndpointSlices.

use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use endpointslice::{AddressType, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::cache::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::write::{ObjectWriter, WriteError};
use kube_api::{ApiClient, Preconditions};

/// Writes slices with one client.
#[derive(Clone)]
pub struct SliceWriter {
    writer: ObjectWriter,
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

/// How much of a plan was carried out.
#[derive(Debug, Default)]
pub struct Applied {
    /// The writes that failed.
    pub errors: Vec<WriteError>,
    /// The address types whose plan was not carried out in full: such a write ended it, the turn was over, or nothing can
    /// be created any more because the namespace is being deleted.
    pub incomplete: Vec<AddressType>,
    /// The turn was over before the plan was.
    pub unfinished: bool,
    /// The writes that succeeded.
    pub writes: usize,
    /// The writes made of the address type that the end of the turn cut off.
    pub cut_after: Option<usize>,
}

/// How much of a plan one sync may carry out: [`MAX_WRITES`], and nothing more once the queue is shut down.
///
/// Without this, five Services that need hundreds of slices each take all workers for minutes. A sync that is not through
/// adds its key again, so that it goes on behind all other keys that wait. It plans anew then, from a cache that must show
/// what was written so far; so nothing is written twice.
#[derive(Debug)]
pub struct Turn<'a> {
    queue: Option<&'a WorkQueue<ObjectKey>>,
    left: usize,
}

/// The most writes of one sync: two and a half seconds at client-go's default of 20 a second.
pub const MAX_WRITES: usize = 50;

impl<'a> Turn<'a> {
    /// The turn of a key of this queue.
    pub fn of(queue: &'a WorkQueue<ObjectKey>) -> Self {
        Self { queue: Some(queue), left: MAX_WRITES }
    }

    /// The whole plan, unless the queue is shut down: for a Service whose turns don't bring it nearer to its end, because
    /// the API server stores something other than what is sent, or refuses it.
    pub fn to_the_end(queue: &'a WorkQueue<ObjectKey>) -> Self {
        Self { queue: Some(queue), left: usize::MAX }
    }

    /// Whatever it takes.
    pub const fn unlimited() -> Self {
        Self { queue: None, left: usize::MAX }
    }

    /// Fails unless one more write may be made.
    fn take(&mut self) -> Result<(), Stop> {
        if self.left == 0 || self.queue.is_some_and(WorkQueue::is_shut_down) {
            return Err(Stop::TurnOver);
        }
        self.left -= 1;
        Ok(())
    }
}

impl Applied {
    /// True if a write met a slice that is newer than the cache shows, or gone.
    pub fn met_newer(&self) -> bool {
        self.errors.iter().any(WriteError::is_transient)
    }

    /// Fails if a write did.
    pub fn into_result(self) -> Result<(), Failed> {
        let Self { errors, incomplete, .. } = self;
        if errors.is_empty() { Ok(()) } else { Err(Failed { writes: errors, types: incomplete }) }
    }
}

/// Why a plan was not carried out in full.
enum Stop {
    TurnOver,
    NamespaceTerminating,
    Failed(WriteError),
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        Self::Failed(error)
    }
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
        Self { writer: ObjectWriter::new(client).ignoring_annotations(&[LAST_CHANGE_TRIGGER_TIME]) }
    }

    /// [`Self::apply_within`] an unlimited turn.
    pub async fn apply(&self, plan: &SlicePlan, written: impl FnMut(Written<'_>)) -> Result<(), Failed> {
        self.apply_within(&mut Turn::unlimited(), plan, written).await.into_result()
    }

    /// Makes the writes of a plan, as far as the turn goes, and reports each success to `written`.
    ///
    /// Address types are independent: the first failure ends its type, the others still run, and so do the deletes after
    /// them. A namespace that is being deleted refuses new slices; then there is nothing left to do for
    /// the type. A slice that is already gone counts as deleted (`reconciler.go` `Reconcile`, `finalize`).
    ///
    /// Deletes give the uid along, and those of [`SlicePlan::delete_if_unchanged`] the resourceVersion. The others don't
    /// insist on that, because our own last write could be in the way: it may be newer than what the
    /// plan was made of.
    pub async fn apply_within(
        &self,
        turn: &mut Turn<'_>,
        plan: &SlicePlan,
        mut written: impl FnMut(Written<'_>),
    ) -> Applied {
        let (mut applied, mut writes) = (Applied::default(), 0);
        let mut written = |write: Written<'_>| {
            writes += 1;
            written(write);
        };
        for plan in &plan.types {
            let before = turn.left;
            match self.apply_type(turn, plan, &mut written).await {
                Ok(()) => continue,
                Err(Stop::TurnOver) => {
                    applied.unfinished = true;
                    applied.cut_after.get_or_insert(before - turn.left);
                }
                Err(Stop::NamespaceTerminating) => {}
                Err(Stop::Failed(error)) => {
                    applied.errors.push(error.with_fingerprint(self.fingerprint(plan)))
                }
            }
            applied.incomplete.push(plan.address_type);
        }
        for slice in &plan.delete_if_unchanged {
            let unchanged = slice.metadata.resource_version.clone();
            match self.delete(turn, slice, unchanged, &mut written).await {
                Ok(()) | Err(Stop::NamespaceTerminating) => {}
                Err(Stop::TurnOver) => {
                    applied.unfinished = true;
                    break;
                }
                Err(Stop::Failed(error)) => applied.errors.push(error),
            }
        }
        applied.writes = writes;
        applied
    }

    async fn apply_type(
        &self,
        turn: &mut Turn<'_>,
        plan: &AddressTypePlan,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        let create = if plan.creates_suppressed { &[][..] } else { &plan.create };
        for slice in create {
            turn.take()?;
            match self.writer.create(&key(slice), slice).await? {
                Some(created) => written(Written::Created(&created)),
                None => return Err(Stop::NamespaceTerminating),
            }
        }
        for slice in &plan.update {
            turn.take()?;
            written(Written::Updated(&self.writer.update(&key(slice), slice).await?));
        }
        for slice in &plan.delete {
            self.delete(turn, slice, None, written).await?;
        }
        Ok(())
    }

    /// The uid goes along as a precondition: a new slice of the same name is somebody else's.
    async fn delete(
        &self,
        turn: &mut Turn<'_>,
        slice: &EndpointSlice,
        resource_version: Option<String>,
        written: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        turn.take()?;
        let preconditions = Preconditions { uid: slice.metadata.uid.clone(), resource_version };
        self.writer.delete::<EndpointSlice>(&key(slice), &preconditions).await?;
        written(Written::Deleted(slice));
        Ok(())
    }

    /// What one address type was to become.
    fn fingerprint(&self, plan: &AddressTypePlan) -> u64 {
        self.writer.fingerprint(plan.create.iter().chain(&plan.update).chain(&plan.delete))
    }
}

/// A new slice has only the prefix of a name.
fn key(slice: &EndpointSlice) -> ObjectKey {
    let metadata = &slice.metadata;
    let name = metadata.name.as_deref().or(metadata.generate_name.as_deref()).unwrap_or_default();
    ObjectKey::new(metadata.namespace.as_deref().unwrap_or_default(), name)
}
