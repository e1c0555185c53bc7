//! Plans that a sync did not finish, within its budget or because of an error, and that the next ones go on with.
//!
//! A sync plans anew. If an admission policy changes what is sent, its plan has the updates again that the syncs before have made:
//! those of the first slices would be made without end, and the rest never. So an update is made once for a plan, and once more if
//! another client changes the slice. What that client changes after that is left to the next plan, as a repair.
//!
//! The first refused write ends the plan of its address type. So a slice of which an update or the deletion is refused goes behind
//! the others until it is written: upstream's order is random, and this one must not keep what comes after that slice from ever
//! being written.
//!
//! If slices change faster than they can be written, a plan is never finished. One sync in [`TURNS`] begins with the updates whose
//! slices have waited longest, so that each is updated at least once in as many turns of five writes as there are slices, of either
//! address type. A type whose first write was refused in a turn too short for the others stays behind them, for twice as many turns
//! each time: a turn that can do nothing else makes the Service wait for the back-off of the error.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;

use controller_kit::key::ObjectKey;
use controller_kit::write::WriteError;
use endpointslice::{AddressType, SlicePlan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::Message as _;
use parking_lot::Mutex;

use crate::slices::writes::Applied;

/// The syncs of an unfinished plan of which one begins with the slices that have waited longest: as many as a turn of the write
/// order has writes.
const TURNS: usize = 5;

/// The most doublings of the turns for which a blocked address type stays behind.
const MAX_DOUBLINGS: u32 = 5;

/// The unfinished plans, by Service.
#[derive(Debug, Default)]
pub(super) struct UnfinishedPlans(Mutex<HashMap<ObjectKey, Unfinished>>);

#[derive(Debug, Default)]
struct Unfinished {
    /// The number of syncs since the plan was begun.
    turns: usize,
    /// The last write of each slice that was updated, or refused to be, by its name.
    tried: HashMap<String, Tried>,
    /// Slices that another client has changed since they were updated. They may be updated once more.
    changed: HashSet<String>,
    /// Those that a client has changed again.
    contested: HashSet<String>,
    /// The address types of which nothing was written in their last turn.
    blocked: HashMap<AddressType, Blocked>,
    /// The last turn had more to write, and nothing failed.
    was_cut: bool,
    /// True until the Service is requeued, if the next sync need not wait for the back-off of an error.
    requeues: bool,
}

#[derive(Debug)]
struct Tried {
    turn: usize,
    outcome: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// This content was written.
    Made { fingerprint: u64 },
    /// Something was written that may have been undone.
    Undone,
    /// By the API server or by admission.
    Refused,
}

/// An address type that stays behind the others.
#[derive(Debug, Default)]
struct Blocked {
    /// The number of turns that blocked it, up to [`MAX_DOUBLINGS`].
    times: u32,
    /// The turn in which it is as good as the others again.
    until: usize,
}

impl Unfinished {
    /// True if this update was made.
    fn has_made(&self, slice: &EndpointSlice, ignores_annotations: bool) -> bool {
        self.tried.get(name(slice)).is_some_and(|tried| match tried.outcome {
            Outcome::Made { fingerprint: made } => made == fingerprint(slice, ignores_annotations),
            Outcome::Undone | Outcome::Refused => false,
        })
    }

    /// The turn in which the last write of the slice of this name was refused, if it is to stay behind the others.
    fn refused(&self, slice: &str) -> Option<usize> {
        let Tried { turn, outcome } = self.tried.get(slice)?;
        (*outcome == Outcome::Refused).then_some(*turn)
    }

    /// The turn in which this slice was tried last.
    fn tried(&self, slice: &EndpointSlice) -> Option<usize> {
        self.tried.get(name(slice)).map(|tried| tried.turn)
    }

    /// Puts what waits longest first, if that is its turn, and what is refused last.
    fn sort(&self, plan: &mut SlicePlan) {
        for plan in &mut plan.types {
            plan.update.sort_by_key(|slice| self.refused(name(slice)));
            plan.delete.sort_by_key(|slice| self.refused(name(slice)));
            plan.withdrawals.retain(|name| self.refused(name).is_none());
        }
        plan.delete_if_unchanged.sort_by_key(|slice| self.refused(name(slice)));
        if self.is_by_age() {
            let has_others = plan.types.iter().any(|plan| {
                !plan.create.is_empty() || plan.update.iter().any(|slice| !plan.withdraws(slice))
            });
            for plan in &mut plan.types {
                plan.update.sort_by_key(|slice| self.tried(slice));
                // Of a plan that ends with its writes, they are made in any case.
                if self.was_cut && has_others {
                    plan.withdrawals.clear();
                }
            }
            plan.types.sort_by_key(|plan| plan.update.first().map(|slice| self.tried(slice)));
        }
        let until = |address_type| self.blocked.get(&address_type).map(|blocked| blocked.until);
        plan.types.sort_by_key(|plan| until(plan.address_type).filter(|until| *until > self.turns));
    }

    fn is_by_age(&self) -> bool {
        self.turns % TURNS == TURNS - 1
    }

    /// True if a plan is to be sorted, or a part of it left out.
    fn changes(&self, plan: &SlicePlan, ignores_annotations: bool) -> bool {
        let mut updates = plan.types.iter().flat_map(|plan| &plan.update);
        self.is_by_age()
            || !self.blocked.is_empty()
            || self.tried.values().any(|tried| tried.outcome == Outcome::Refused)
            || updates.any(|slice| self.has_made(slice, ignores_annotations))
    }

    /// Records the end of a turn that made these `updates` of a plan.
    fn end_turn<'a>(
        &mut self,
        plan: &SlicePlan,
        updates: impl Iterator<Item = &'a EndpointSlice>,
        applied: &Applied,
        ignores_annotations: bool,
    ) {
        let turn = self.turns;
        self.turns += 1;
        self.was_cut = applied.unfinished && applied.errors.is_empty();
        self.tried.extend(updates.map(|slice| {
            let outcome = Outcome::Made { fingerprint: fingerprint(slice, ignores_annotations) };
            (name(slice).to_owned(), Tried { turn, outcome })
        }));
        let refused = applied.errors.iter().filter(|error| error.is_refused());
        let refused = refused.filter_map(WriteError::name).map(str::to_owned);
        self.tried.extend(refused.map(|name| (name, Tried { turn, outcome: Outcome::Refused })));
        self.blocked.retain(|address_type, _| !applied.advanced.contains(address_type));
        for address_type in applied.blocked.iter().filter(|_| applied.unfinished) {
            let blocked = self.blocked.entry(*address_type).or_default();
            blocked.until = self.turns + (TURNS << blocked.times);
            blocked.times = (blocked.times + 1).min(MAX_DOUBLINGS);
        }
        let is_new = || plan.types.iter().any(|plan| !self.blocked.contains_key(&plan.address_type));
        let writes = applied.created + applied.updated + applied.deleted;
        // A type of a namespace that is being deleted is blocked without an error.
        self.requeues = applied.unfinished && (writes > 0 || applied.errors.is_empty() && is_new());
    }

    /// Begins the retry of a plan that was tried in full.
    fn retry(&mut self) {
        self.changed.clear();
        for name in self.contested.drain() {
            self.tried.entry(name).and_modify(|tried| tried.outcome = Outcome::Undone);
        }
    }

    /// Records that updates may have been undone.
    fn undone(&mut self) {
        for tried in self.tried.values_mut().filter(|tried| tried.outcome != Outcome::Refused) {
            tried.outcome = Outcome::Undone;
        }
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
        let Some(unfinished) = plans.get(key) else { return plan };
        if !unfinished.changes(&plan, ignores_annotations) {
            return plan;
        }
        let mut plan = plan.into_owned();
        for plan in &mut plan.types {
            plan.update.retain(|slice| !unfinished.has_made(slice, ignores_annotations));
        }
        unfinished.sort(&mut plan);
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
        if !applied.unfinished && applied.errors.is_empty() {
            return !unfinished.contested.is_empty();
        }
        let updates = plan.types.iter().flat_map(|plan| &plan.update);
        let made = updates.filter(|slice| updated.iter().any(|updated| updated == name(slice)));
        unfinished.end_turn(plan, made, applied, ignores_annotations);
        if !applied.unfinished {
            unfinished.retry();
        }
        plans.insert(key.clone(), unfinished);
        false
    }

    /// Records that another client changed the slice of this name.
    pub(super) fn changed(&self, key: &ObjectKey, name: &str) {
        let mut plans = self.0.lock();
        let Some(unfinished) = plans.get_mut(key) else { return };
        let Some(tried) = unfinished.tried.get_mut(name) else { return };
        if !matches!(tried.outcome, Outcome::Made { .. }) {
            return;
        }
        if unfinished.changed.insert(name.to_owned()) {
            tried.outcome = Outcome::Undone;
        } else {
            unfinished.contested.insert(name.to_owned());
        }
    }

    /// Records that the slice of this name is gone.
    pub(super) fn gone(&self, key: &ObjectKey, name: &str) {
        if let Some(unfinished) = self.0.lock().get_mut(key) {
            unfinished.tried.remove(name);
            unfinished.changed.remove(name);
            unfinished.contested.remove(name);
        }
    }

    /// Records that updates may have been undone without an event.
    pub(super) fn undone(&self, key: &ObjectKey) {
        if let Some(unfinished) = self.0.lock().get_mut(key) {
            unfinished.undone();
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
