//! Plans that a sync did not finish within its budget, and that the next ones go on with.
//!
//! A sync plans anew. If an admission policy changes what is sent, its plan has the updates again that the syncs before have made:
//! those of the first slices would be made without end, and the rest never. So an update is made once for a plan, and once more if
//! another client changes the slice. What that client changes after that is left to the next plan, as a repair. A slice of another
//! address type whose deletion is refused goes behind the others.
//!
//! If slices change faster than they can be written, a plan is never finished. One sync in [`TURNS`] begins with the updates whose
//! slices have waited longest, so that each is updated at least once in as many turns of five writes as there are slices, of either
//! address type. A type of which a write is refused stays behind the other, for twice as many turns each time: a turn that can do
//! nothing else makes the Service wait for the back-off of the error.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;

use controller_kit::key::ObjectKey;
use endpointslice::{AddressType, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::Message as _;
use parking_lot::Mutex;

use crate::slices::writes::Applied;

/// The syncs of an unfinished plan of which one begins with the slices that have waited longest: as many as a turn of the write
/// order has writes.
const TURNS: usize = 5;

/// How often the turns for which a refused address type stays behind are doubled.
const MAX_DOUBLINGS: u32 = 10;

/// The unfinished plans, by Service.
#[derive(Debug, Default)]
pub(super) struct UnfinishedPlans(Mutex<HashMap<ObjectKey, Unfinished>>);

#[derive(Debug, Default)]
struct Unfinished {
    /// The updates made since the plan was begun, by the name of the slice.
    sent: HashMap<String, Sent>,
    /// The number of syncs since then.
    turns: usize,
    /// Slices that another client has changed since they were updated. They may be updated once more.
    changed: HashSet<String>,
    /// True if a client has changed one of them again.
    is_contested: bool,
    /// The address types of which a write was refused, and was not made since.
    refused: HashMap<AddressType, Refused>,
    /// The number of refused deletions of slices that go last: as many of them go behind the others.
    refused_deletions: usize,
    /// True until the Service is requeued, if the last sync made at least one of the writes.
    requeues: bool,
}

/// An update that was made.
#[derive(Debug)]
struct Sent {
    fingerprint: u64,
    /// The turn in which it was made.
    turn: usize,
}

/// An address type that is behind the others.
#[derive(Debug, Default)]
struct Refused {
    /// How often it was refused.
    times: u32,
    /// The turn in which it is as good as the others again.
    until: usize,
}

impl Unfinished {
    /// Records which address types a turn was refused, and which it completed.
    fn record_refusals(&mut self, applied: &Applied) {
        self.refused.retain(|address_type, _| !applied.complete.contains(address_type));
        for address_type in &applied.refused {
            let refused = self.refused.entry(*address_type).or_default();
            refused.until = self.turns + (TURNS << refused.times);
            refused.times = (refused.times + 1).min(MAX_DOUBLINGS);
        }
        self.refused_deletions += applied.errors.len() - applied.refused.len();
    }
}

impl UnfinishedPlans {
    /// The part of a plan that the syncs before have not made, in the order in which it is to be made.
    ///
    /// Cost: a fingerprint of each update of a slice that they updated.
    pub(super) fn rest<'a>(
        &self,
        key: &ObjectKey,
        plan: Cow<'a, SlicePlan>,
        ignores_annotations: bool,
    ) -> Cow<'a, SlicePlan> {
        let plans = self.0.lock();
        let Some(Unfinished { sent, turns, refused, refused_deletions, .. }) = plans.get(key) else {
            return plan;
        };
        let is_sent = |slice: &EndpointSlice| {
            sent.get(name(slice))
                .is_some_and(|sent| sent.fingerprint == fingerprint(slice, ignores_annotations))
        };
        let has_sent = plan.types.iter().flat_map(|plan| &plan.update).any(is_sent);
        let is_by_age = turns % TURNS == TURNS - 1;
        if !has_sent && !is_by_age && refused.is_empty() && *refused_deletions == 0 {
            return plan;
        }
        let mut plan = plan.into_owned();
        for plan in &mut plan.types {
            plan.update.retain(|slice| !is_sent(slice));
        }
        if is_by_age {
            let turn = |slice: &EndpointSlice| sent.get(name(slice)).map(|sent| sent.turn);
            plan.types.iter_mut().for_each(|plan| plan.update.sort_by_key(turn));
            plan.types.sort_by_key(|plan| plan.update.first().map(turn));
        }
        let until = |address_type| refused.get(&address_type).map(|refused| refused.until);
        plan.types.sort_by_key(|plan| until(plan.address_type).filter(|until| until > turns));
        let behind = refused_deletions.checked_rem(plan.delete_if_unchanged.len()).unwrap_or_default();
        plan.delete_if_unchanged.rotate_left(behind);
        Cow::Owned(plan)
    }

    /// Records the outcome of a plan, of which the slices of these names were updated. Returns true if a change by another client
    /// is left to the next plan.
    pub(super) fn applied(
        &self,
        key: &ObjectKey,
        plan: &SlicePlan,
        applied: &Applied,
        updated: &[String],
        ignores_annotations: bool,
    ) -> bool {
        let mut plans = self.0.lock();
        let mut unfinished = plans.remove(key).unwrap_or_default();
        if !applied.unfinished {
            return unfinished.is_contested;
        }
        let updates = plan.types.iter().flat_map(|plan| &plan.update);
        let made = updates.filter(|slice| updated.iter().any(|updated| updated == name(slice)));
        let turn = unfinished.turns;
        unfinished.sent.extend(made.map(|slice| {
            (name(slice).to_owned(), Sent { fingerprint: fingerprint(slice, ignores_annotations), turn })
        }));
        unfinished.turns += 1;
        unfinished.record_refusals(applied);
        // If none was made, the back-off of the error requeues the key.
        unfinished.requeues = applied.created + applied.updated + applied.deleted > 0;
        plans.insert(key.clone(), unfinished);
        false
    }

    /// Records that another client changed the slice of this name.
    pub(super) fn changed(&self, key: &ObjectKey, name: &str) {
        let mut plans = self.0.lock();
        let Some(unfinished) = plans.get_mut(key) else { return };
        if !unfinished.sent.contains_key(name) {
            return;
        }
        if unfinished.changed.insert(name.to_owned()) {
            unfinished.sent.remove(name);
        } else {
            unfinished.is_contested = true;
        }
    }

    /// Records that updates may have been undone without an event.
    pub(super) fn undone(&self, key: &ObjectKey) {
        if let Some(unfinished) = self.0.lock().get_mut(key) {
            unfinished.sent.clear();
        }
    }

    /// True if the Service is to be requeued. Once for each plan: a sync that finds the cache behind makes none.
    pub(super) fn take_requeue(&self, key: &ObjectKey) -> bool {
        self.0.lock().get_mut(key).is_some_and(|unfinished| mem::take(&mut unfinished.requeues))
    }

    /// Forgets a Service.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// The Services with an unfinished plan.
    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().keys().cloned().collect()
    }
}

/// The name of a slice to update. It may have no uid: some updates replace whatever is stored.
fn name(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

/// A fingerprint of what plans decide about a slice. The rest of it, such as annotations for a Service, is as the slice was read,
/// and an admission policy may change it each time.
fn fingerprint(slice: &EndpointSlice, ignores_annotations: bool) -> u64 {
    let mut slice = slice.clone();
    let ObjectMeta { labels, annotations, owner_references, .. } = mem::take(&mut slice.metadata);
    let annotations = annotations.filter(|_| !ignores_annotations);
    slice.metadata = ObjectMeta { labels, annotations, ..ObjectMeta::default() };
    let owner = owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let mut hasher = DefaultHasher::new();
    owner.map(|owner| &owner.uid).hash(&mut hasher);
    slice.encode().hash(&mut hasher);
    hasher.finish()
}
