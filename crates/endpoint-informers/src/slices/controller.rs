//! The parts that every controller of EndpointSlices needs, and the sync of one that writes slices of Services.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, WorkQueue};
use controller_kit::recorder::Recorder;
use controller_kit::worker::SyncContext;
use controller_kit::write_order::WriteOrder;
use endpointslice::model::endpoints_of;
use endpointslice::urgency::prioritize;
use endpointslice::{DesiredEndpoints, PlanOptions, SlicePlan, SliceTemplate, Urgency, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_api::{ApiClient, error_chain};
use tracing::debug;

use super::budget::MAX_WRITES;
use super::expectations::SliceExpectations;
use super::snapshot::Snapshot;
use super::sync_error::SyncError;
use super::writer::SliceWriter;
use super::writes::{Applied, Written};
use crate::cache::Cache;
use crate::controller::Parts;
use crate::pending::{PendingWrite, pending_slices};

/// The most endpoints of a plan whose writes overlap with the syncs of other Services, beyond the controller's number of
/// workers. A planned endpoint takes about a kilobyte, so that fifty such plans take 50 MB.
const MAX_OVERLAPPING: usize = 1000;

/// The parts that every controller of EndpointSlices needs. A controller adds the handlers and the plan.
pub struct SliceController {
    /// The cache that syncs read.
    pub cache: Arc<Cache>,
    /// The queue of Services.
    pub queue: WorkQueue<ObjectKey>,
    /// The recorder of events.
    pub recorder: Recorder,
    /// The expectations of slices; handlers of slices tell them each change.
    pub expectations: SliceExpectations,
    /// The order of the writes under the client's rate limit, if it has one.
    pub order: Option<WriteOrder>,
    writer: SliceWriter,
}

impl SliceController {
    /// The parts of a controller that reads `cache` and writes with `client` the slices whose label
    /// `endpointslice.kubernetes.io/managed-by` is `managed_by`. Services whose slices another client changed are added to
    /// `queue` after `delay`, or later if that happens often.
    pub fn new(
        managed_by: &str,
        cache: Arc<Cache>,
        client: ApiClient,
        recorder: Recorder,
        queue: WorkQueue<ObjectKey>,
        delay: Duration,
    ) -> Self {
        let expectations = SliceExpectations::new(managed_by, queue.clone(), delay)
            .with_field_manager(client.field_manager());
        let order = client.limiter().map(|limiter| WriteOrder::new(queue.clone(), Arc::clone(limiter)));
        Self { cache, queue, recorder, expectations, order, writer: SliceWriter::new(client) }
    }

    /// The same with these metrics about writes that wait for the client's rate limit.
    #[must_use]
    pub fn with_metrics(self, controller: &str, metrics: &QueueMetrics) -> Self {
        let with_metrics = |order: WriteOrder| order.with_metrics(controller, Urgency::NAMES, metrics);
        Self { order: self.order.map(with_metrics), ..self }
    }

    /// The client for the next request of a sync ([`ObjectWriter::client`](controller_kit::write::ObjectWriter::client)).
    pub fn client(&self, sync: &SyncContext) -> &ApiClient {
        self.writer.client(sync)
    }

    /// The same for a controller whose plans leave annotations of slices as they are, as those for Services do: no sync
    /// follows if another client changes only annotations.
    #[must_use]
    pub fn ignoring_annotations(self) -> Self {
        Self { expectations: self.expectations.ignoring_annotations(), ..self }
    }

    /// Syncs one Service: reads the cache, plans the slices that `desired` returns, and writes them. If that is `None`, the
    /// slices that the Service has are deleted. A Service that was deleted leaves them to the garbage collector.
    ///
    /// # Errors
    ///
    /// The cache is stale, a write failed, an object in the cache can't be decoded, or an endpoint was skipped for a reason
    /// that is [retryable](endpointslice::desired::Skipped::is_retryable).
    pub(crate) async fn sync(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        desired: impl FnOnce(&Snapshot) -> Option<(DesiredEndpoints, SliceTemplate, PlanOptions)> + Send,
    ) -> Result<(), SyncError> {
        let mut writes = 0;
        let result = self.try_sync(sync, key, desired, &mut writes).await;
        let message = if sync.waits() { "Waits for the rate limit of its writes" } else { "Synced" };
        debug!(key = %key, writes, result = described(&result), "{message}");
        result
    }

    /// The same; `writes` becomes the number of slices written.
    async fn try_sync(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        desired: impl FnOnce(&Snapshot) -> Option<(DesiredEndpoints, SliceTemplate, PlanOptions)> + Send,
        writes: &mut usize,
    ) -> Result<(), SyncError> {
        let _running = self.expectations.begin_sync(key);
        let read = self.cache.read(|state| Snapshot::read(key, &self.expectations, state));
        let Some(found) = read? else { return Ok(()) };
        // The snapshot and the slices read are dropped before the writes.
        let (plan, urgency, skipped) = {
            let snapshot = found.sorted();
            let existing = snapshot.existing()?;
            match desired(&snapshot) {
                Some((desired, template, options)) => {
                    let skipped = desired.skipped().to_vec();
                    snapshot.check_skipped(&skipped, &existing)?;
                    let mut plan = plan(&existing, desired, &template, &options);
                    let is_local = snapshot.service.has_local_policy;
                    let urgency = prioritize(&mut plan, &existing, is_local, |_| []);
                    (plan, urgency, skipped)
                }
                None => (SlicePlan::delete_all(existing), Urgency::Soft, Vec::new()),
            }
        };
        let applied = self.apply(sync, key, &plan, urgency).await;
        *writes = applied.created + applied.updated + applied.deleted;
        if applied.waits {
            return Ok(());
        }
        let result = applied.into_result().and_then(|()| SyncError::unless_complete(&skipped));
        self.sync_ended(key, &result);
        result
    }

    /// Carries out the plan of a Service, up to the number of writes that one sync may make, and expects every write in the
    /// cache. A plan that is not finished is continued by the next sync, which
    /// [`begin_sync`](SliceExpectations::begin_sync) requeues. If the client's rate limit makes it wait, nothing is written, and
    /// the sync comes again [when its turn has come](controller_kit::write_order).
    ///
    /// A retry after a failed sync leaves out the updates that changed nothing when they were made last, because an admission
    /// policy undid them. Address types are independent: the first failure ends the plan of its type, and the others
    /// still run, as do the deletes after them.
    pub async fn apply(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        plan: &SlicePlan,
        urgency: Urgency,
    ) -> Applied {
        let plan = self.expectations.without_undone(key, plan);
        let plan = self.expectations.rest_of(key, plan);
        let plan = &*plan;
        let writes = plan.writes();
        let admitted = if writes == 0 { 0 } else { sync.admit(urgency.level(), writes.min(MAX_WRITES)) };
        if admitted == 0 && writes > 0 {
            return Applied { waits: true, ..Applied::default() };
        }
        if endpoints(plan) <= MAX_OVERLAPPING {
            sync.end_planning();
        }
        let mut budget = self.expectations.budget(key, admitted);
        let (mut unchanged, mut updated) = (Vec::new(), Vec::<String>::new());
        let on_write = |written: Written<'_>| {
            if let Written::Updated(metadata) = written {
                updated.extend(metadata.name.clone());
                if self.expectations.is_as_before(key, metadata) {
                    unchanged.push(metadata.clone());
                }
            }
            self.expectations.written(key, &written);
        };
        let applied = self.writer.apply_within(sync, &mut budget, plan, on_write).await;
        self.expectations.undone.record(key, plan, &unchanged);
        self.expectations.keep_unfinished(key, plan, &applied, &updated);
        for slice in self.expectations.applied(key, plan, &applied) {
            self.writer.discard(sync, &key.namespace, &slice).await;
        }
        if plan.types.is_empty() && applied.is_complete() {
            // The Service has no slices any more.
            self.expectations.forget_losses(key);
        }
        applied
    }

    /// The writes of a plan for this Service, which was made for the slices `existing`, and the deletions of slices that
    /// admission took, which may follow.
    ///
    /// Cost: that of [`pending_slices`].
    pub fn pending(&self, key: &ObjectKey, plan: SlicePlan, existing: &[EndpointSlice]) -> Vec<PendingWrite> {
        let mut pending = pending_slices(plan, existing);
        let taken = self.expectations.taken(key).into_iter();
        pending.extend(taken.map(|slice| PendingWrite::Delete(slice.into_slice(key).into())));
        pending
    }

    /// Records the end of a sync of this Service, which made all its writes if it succeeded or only left out endpoints.
    pub fn sync_ended(&self, key: &ObjectKey, result: &Result<(), SyncError>) {
        if result.is_ok() {
            self.expectations.undone.forget(key);
        }
        if matches!(result, Ok(()) | Err(SyncError::Skipped(_))) {
            self.sync_succeeded(key);
        }
    }

    /// Records that the sync of this Service made all its writes. If other clients change its slices so often that the next
    /// repair has to wait, the Service gets an event.
    fn sync_succeeded(&self, key: &ObjectKey) {
        self.expectations.sync_succeeded(key, &self.cache, &self.recorder);
    }
}

impl<'a> From<&'a SliceController> for Parts<'a> {
    fn from(slices: &'a SliceController) -> Self {
        let (order, repairs) = (slices.order.as_ref(), Some(slices.expectations.repairs()));
        Self { cache: &slices.cache, queue: &slices.queue, order, repairs }
    }
}

/// The result of a sync as text.
fn described(result: &Result<(), SyncError>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(error) => error_chain(error),
    }
}

/// The endpoints that a plan holds.
fn endpoints(plan: &SlicePlan) -> usize {
    let types = plan.types.iter().flat_map(|plan| plan.create.iter().chain(&plan.update).chain(&plan.delete));
    types.chain(&plan.delete_if_unchanged).map(|slice| endpoints_of(slice).len()).sum()
}
