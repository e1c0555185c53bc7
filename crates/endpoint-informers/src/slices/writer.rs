//! Applies plans: the only writer of EndpointSlices.

use std::collections::BTreeMap;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::{ObjectWriter, WriteError};
use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::{LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME};
use endpointslice::{AddressType, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::{ApiClient, Preconditions};
use tracing::debug;

use super::budget::WriteBudget;
use super::expectations::Taken;
use super::writes::{Applied, Written};

/// The withdrawals of one address type that may be refused before the others wait for the next sync.
const MAX_REFUSED: usize = 5;

/// Writes slices with one client.
#[derive(Clone)]
pub(crate) struct SliceWriter {
    writer: ObjectWriter,
}

/// The reason why a plan was not carried out in full.
enum Stop {
    BudgetSpent,
    CreatesWithheld,
    NamespaceTerminating,
    Failed(WriteError),
}

/// The progress of the plan of one address type.
#[derive(Default)]
struct Progress {
    /// The writes that were made.
    made: usize,
    is_refused: bool,
    is_cut: bool,
    has_stopped: bool,
}

impl Progress {
    /// Records the end of a pass over the plan that sent `sent` writes.
    fn record(&mut self, stops: &[Stop], sent: usize) {
        let refused =
            stops.iter().filter(|stop| matches!(stop, Stop::Failed(_) | Stop::NamespaceTerminating));
        let refused = refused.count();
        self.made += sent - refused;
        self.is_refused |= refused > 0;
        self.is_cut |= stops.iter().any(|stop| matches!(stop, Stop::BudgetSpent));
        self.has_stopped |= !stops.is_empty();
    }
}

impl Applied {
    /// Records the progress of all address types.
    fn progressed(&mut self, progress: &BTreeMap<AddressType, Progress>) {
        for (&address_type, Progress { made, is_refused, is_cut, has_stopped }) in progress {
            if !has_stopped {
                self.complete.push(address_type);
            }
            if *made > 0 || !has_stopped {
                self.advanced.push(address_type);
            } else if *is_refused {
                self.blocked.push(address_type);
            }
            if *is_cut && (*made > 0 || self.cut_after.is_empty()) {
                self.cut_after.push(*made);
            }
        }
    }
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        Self::Failed(error)
    }
}

impl SliceWriter {
    /// A writer that uses this client.
    pub(crate) fn new(client: ApiClient) -> Self {
        Self { writer: ObjectWriter::new(client).ignoring_annotations(&[LAST_CHANGE_TRIGGER_TIME]) }
    }

    pub(super) fn client(&self, sync: &SyncContext) -> &ApiClient {
        self.writer.client(sync)
    }

    /// Carries out a plan within a budget, and calls `on_write` after each write that succeeded.
    ///
    /// The withdrawals of all address types come first. Types are independent: the first failure ends the plan of its type (that
    /// of a withdrawal only after its creates), and the others still run, as do the deletes after them. A namespace that is
    /// being deleted rejects new slices, which ends the plan of the type without an error. A slice that is already gone counts
    /// as deleted (`reconciler.go` `Reconcile`, `finalize`).
    ///
    /// No slice is created once admission has given [as many as the budget allows](WriteBudget) to another manager: then
    /// withdrawals and updates still run, and other deletes do not.
    ///
    /// Deletes send the uid as a precondition, and those of [`SlicePlan::delete_if_unchanged`] the resourceVersion. The
    /// others don't send the version, because our own last write may be newer than the slice in the plan.
    pub(crate) async fn apply_within(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        plan: &SlicePlan,
        mut on_write: impl FnMut(Written<'_>),
    ) -> Applied {
        let mut applied = Applied::default();
        let mut on_write = |written: Written<'_>| {
            match written {
                Written::Created(_) => applied.created += 1,
                Written::Updated(_) => applied.updated += 1,
                Written::Deleted(_) => applied.deleted += 1,
            }
            on_write(written);
        };
        let mut progress = BTreeMap::<AddressType, Progress>::new();
        let withdrawals =
            plan.types.iter().filter(|plan| !plan.withdrawals.is_empty()).map(|plan| (plan, true));
        for (plan, withdraws) in withdrawals.chain(plan.types.iter().map(|plan| (plan, false))) {
            let progress = progress.entry(plan.address_type).or_default();
            if progress.is_cut {
                continue;
            }
            let before = budget.left();
            let stops = if withdraws {
                self.withdraw(sync, budget, plan, &mut on_write).await
            } else {
                let taken = &mut applied.taken;
                let rest = if progress.has_stopped {
                    // What is to be deleted may hold an endpoint that a failed withdrawal would have added.
                    self.create_all(sync, budget, plan, taken, &mut on_write).await
                } else {
                    self.apply_type(sync, budget, plan, taken, &mut on_write).await
                };
                Vec::from_iter(rest.err())
            };
            progress.record(&stops, before - budget.left());
            let mut fingerprint = None;
            for stop in stops {
                match stop {
                    Stop::BudgetSpent => applied.unfinished = true,
                    Stop::CreatesWithheld => applied.creates_withheld = true,
                    Stop::NamespaceTerminating => {}
                    Stop::Failed(error) => {
                        let fingerprint = *fingerprint.get_or_insert_with(|| self.fingerprint(plan));
                        applied.errors.push(error.with_fingerprint(fingerprint));
                    }
                }
            }
        }
        for slice in &plan.delete_if_unchanged {
            let unchanged = slice.metadata.resource_version.clone();
            match self.delete(sync, budget, slice, unchanged, &mut on_write).await {
                Ok(()) | Err(Stop::NamespaceTerminating | Stop::CreatesWithheld) => {}
                Err(Stop::BudgetSpent) => {
                    applied.unfinished = true;
                    break;
                }
                Err(Stop::Failed(error)) => applied.errors.push(error),
            }
        }
        applied.progressed(&progress);
        applied
    }

    /// Makes the [withdrawals](AddressTypePlan::withdrawals) of one address type. One that is refused does not keep the others
    /// from being made. Returns the reasons for those that were not.
    async fn withdraw(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        plan: &AddressTypePlan,
        on_write: &mut impl FnMut(Written<'_>),
    ) -> Vec<Stop> {
        let updates = plan.update.iter().map(|slice| (slice, true));
        let all = updates.chain(plan.delete.iter().map(|slice| (slice, false)));
        let mut stops = Vec::new();
        for (slice, is_update) in all.filter(|(slice, _)| plan.withdraws(slice)) {
            let outcome = if is_update {
                self.update(sync, budget, slice, on_write).await
            } else {
                self.delete(sync, budget, slice, None, on_write).await
            };
            let Err(stop) = outcome else { continue };
            let is_refused = matches!(&stop, Stop::Failed(error) if error.is_refused());
            stops.push(stop);
            // A webhook that does not respond costs each write its timeout.
            if !is_refused || stops.len() == MAX_REFUSED {
                break;
            }
        }
        stops
    }

    /// Makes the other writes of one address type.
    async fn apply_type(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        plan: &AddressTypePlan,
        taken: &mut Vec<Taken>,
        on_write: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        let created = self.create_all(sync, budget, plan, taken, on_write).await;
        if !matches!(created, Ok(()) | Err(Stop::CreatesWithheld)) {
            return created;
        }
        for slice in plan.update.iter().filter(|slice| !plan.withdraws(slice)) {
            self.update(sync, budget, slice, on_write).await?;
        }
        // What is to be deleted may hold the endpoints of a slice that was not created.
        created?;
        for slice in plan.delete.iter().filter(|slice| !plan.withdraws(slice)) {
            self.delete(sync, budget, slice, None, on_write).await?;
        }
        Ok(())
    }

    /// Creates the new slices of one address type, until admission has given away as many as the budget allows.
    async fn create_all(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        plan: &AddressTypePlan,
        taken: &mut Vec<Taken>,
        on_write: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        let create = if plan.creates_suppressed { &[][..] } else { &plan.create };
        let mut has_lost = false;
        for slice in create {
            if !budget.may_create() {
                return Err(Stop::CreatesWithheld);
            }
            take(budget)?;
            let Some(created) = self.writer.create(sync, &key(slice), slice).await? else {
                return Err(Stop::NamespaceTerminating);
            };
            let is_lost = is_reassigned(slice, &created);
            budget.created(is_lost);
            if is_lost {
                // Whatever is left of the plan may need it.
                has_lost = true;
                taken.push(Taken::new(slice, &created));
            }
            on_write(Written::Created(&created));
        }
        if has_lost { Err(Stop::CreatesWithheld) } else { Ok(()) }
    }

    async fn update(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        slice: &EndpointSlice,
        on_write: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        take(budget)?;
        on_write(Written::Updated(&self.writer.update(sync, &key(slice), slice).await?));
        Ok(())
    }

    /// Deletes a slice that admission gave to another manager or Service when we created it, if nobody has changed it since.
    /// If the delete fails, the slice stays: another client has changed or deleted it.
    pub(super) async fn discard(&self, sync: &SyncContext, namespace: &str, taken: &Taken) {
        let preconditions = Preconditions {
            uid: Some(taken.uid.clone()),
            resource_version: Some(taken.resource_version.clone()),
        };
        let key = ObjectKey::new(namespace, &*taken.name);
        if let Err(error) = self.writer.delete::<EndpointSlice>(sync, &key, &preconditions).await {
            debug!(%key, %error, "Left an EndpointSlice that admission gave to another manager");
        }
    }

    /// Deletes a slice with its uid as a precondition: a new slice of the same name belongs to another client.
    async fn delete(
        &self,
        sync: &SyncContext,
        budget: &mut WriteBudget<'_>,
        slice: &EndpointSlice,
        resource_version: Option<String>,
        on_write: &mut impl FnMut(Written<'_>),
    ) -> Result<(), Stop> {
        take(budget)?;
        let preconditions = Preconditions { uid: slice.metadata.uid.clone(), resource_version };
        self.writer.delete::<EndpointSlice>(sync, &key(slice), &preconditions).await?;
        on_write(Written::Deleted(&slice.metadata));
        Ok(())
    }

    /// The fingerprint of everything that was to be written for one address type.
    fn fingerprint(&self, plan: &AddressTypePlan) -> u64 {
        self.writer.fingerprint(plan.create.iter().chain(&plan.update).chain(&plan.delete))
    }
}

/// True if the stored slice is of another manager or Service than the one that was sent.
fn is_reassigned(sent: &EndpointSlice, stored: &ObjectMeta) -> bool {
    let label =
        |metadata: &ObjectMeta, name| metadata.labels.as_ref().and_then(|labels| labels.get(name).cloned());
    [MANAGED_BY, SERVICE_NAME].iter().any(|name| label(&sent.metadata, *name) != label(stored, *name))
}

fn take(budget: &mut WriteBudget<'_>) -> Result<(), Stop> {
    if budget.take() { Ok(()) } else { Err(Stop::BudgetSpent) }
}

/// The key of a slice; a new slice has only the prefix of a name.
fn key(slice: &EndpointSlice) -> ObjectKey {
    let metadata = &slice.metadata;
    let name = metadata.name.as_deref().or(metadata.generate_name.as_deref()).unwrap_or_default();
    ObjectKey::new(metadata.namespace.as_deref().unwrap_or_default(), name)
}
