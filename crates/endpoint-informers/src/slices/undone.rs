//! Updates that changed nothing: the API server answered with the version that was there, because an admission policy took back
//! what they changed.
//!
//! A sync that fails for another reason, such as a pod whose node is missing, is retried without end, and would make the same
//! updates each time. Upstream makes them in each of its 15 tries.

use std::borrow::Cow;
use std::collections::HashMap;

use controller_kit::key::ObjectKey;
use endpointslice::SlicePlan;
use endpointslice::expectations::ObjectVersion;
use endpointslice::model::Uid;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;

/// The updates that changed nothing, by Service: those since its syncs began to fail.
#[derive(Debug, Default)]
pub(super) struct Undone(Mutex<HashMap<ObjectKey, Vec<Update>>>);

/// An update, and the slice as it was before and after it.
#[derive(Debug)]
struct Update {
    slice: EndpointSlice,
    uid: Uid,
    version: ObjectVersion,
}

impl Undone {
    /// Leaves out of a plan the updates that changed nothing before, of slices that are as they were then. Forgets the others.
    pub(super) fn without<'a>(
        &self,
        key: &ObjectKey,
        plan: &'a SlicePlan,
        is_as_then: impl Fn(&Uid, ObjectVersion) -> bool,
    ) -> Cow<'a, SlicePlan> {
        let mut undone = self.0.lock();
        let Some(undone) = undone.get_mut(key) else { return Cow::Borrowed(plan) };
        undone.retain(|update| is_as_then(&update.uid, update.version));
        let is_undone = |slice: &EndpointSlice| undone.iter().any(|update| update.slice == *slice);
        let mut plan = plan.clone();
        for plan in &mut plan.types {
            plan.update.retain(|slice| !is_undone(slice));
        }
        Cow::Owned(plan)
    }

    /// Records the updates of a plan to which the API server answered with the version that was there.
    pub(super) fn record(&self, key: &ObjectKey, plan: &SlicePlan, unchanged: &[ObjectMeta]) {
        let updates = plan.types.iter().flat_map(|plan| &plan.update);
        let undone = updates.filter_map(|slice| {
            let found = unchanged.iter().find(|it| it.name.is_some() && it.name == slice.metadata.name)?;
            let uid = Uid::from(found.uid.as_deref().unwrap_or_default());
            Some(Update { slice: slice.clone(), uid, version: ObjectVersion::from(found) })
        });
        if unchanged.is_empty() {
            return;
        }
        let mut known = self.0.lock();
        let known = known.entry(key.clone()).or_default();
        // Those that this plan left out stay.
        known.retain(|update| unchanged.iter().all(|it| it.name != update.slice.metadata.name));
        known.extend(undone);
    }

    /// Forgets a Service that is in sync, or gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// The Services of which something is remembered.
    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().keys().cloned().collect()
    }
}
