//! The comparisons of one controller: the policy in place of its syncs, and the handler that queues what other clients change.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use endpoint_informers::cache::{Cache, Change, Handler, State};
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice};
use endpoint_informers::pending::{Decision, PendingWrite, WritePolicy};
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::service_key;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER};
use kube_api::time::Instant;
use parking_lot::Mutex;
use tracing::{info, warn};

use super::differences::{Differences, Lasting, Outcome, Totals};
use super::found::{Field, Identity, found};
use super::metrics::Metrics;
use crate::controllers::Controller;

/// The comparisons of one controller.
pub(super) struct Comparison {
    which: Controller,
    queue: WorkQueue<ObjectKey>,
    differences: Mutex<Differences>,
    /// It has this as a handler.
    cache: Weak<Cache>,
    metrics: Metrics,
}

/// The result of one controller.
pub(super) struct Summary {
    pub(super) controller: &'static str,
    pub(super) totals: Totals,
    pub(super) lasting: Vec<Lasting>,
    /// Objects that differ and have not outlasted the grace period.
    pub(super) recent: usize,
    /// Objects that differ and are not followed.
    pub(super) untracked: usize,
    /// Keys that wait to be compared.
    pub(super) waiting: usize,
}

impl Comparison {
    pub(super) fn new(
        which: Controller,
        queue: WorkQueue<ObjectKey>,
        grace: Duration,
        cache: Weak<Cache>,
        metrics: Metrics,
    ) -> Self {
        Self { which, queue, differences: Mutex::new(Differences::new(grace)), cache, metrics }
    }

    pub(super) fn summary(&self) -> Summary {
        let differences = self.differences.lock();
        Summary {
            controller: self.which.name(),
            totals: differences.totals,
            lasting: differences.listed.clone(),
            recent: differences.recent(),
            untracked: differences.untracked(),
            waiting: self.queue.len(),
        }
    }

    fn managed_by(&self) -> Option<&'static str> {
        match self.which {
            Controller::Endpoints => None,
            Controller::EndpointSlice => Some(ENDPOINTSLICE_CONTROLLER),
            Controller::EndpointSliceMirroring => Some(ENDPOINTSLICE_MIRRORING_CONTROLLER),
        }
    }

    fn log(&self, key: &ObjectKey, outcome: &Outcome) {
        let controller = self.which.name();
        for (lasting, _) in outcome.lasting.iter().filter(|(_, is_listed)| *is_listed) {
            let Lasting { identity, fields, more, since, keeps_pods, .. } = lasting;
            warn!(
                controller, service = %key, kind = identity.kind.name(), object = %object(identity),
                fields = %texts(fields, *more), age = ?since.elapsed(), kept_ready = keeps_pods,
                "A difference outlasts the grace period"
            );
        }
        let not_listed = outcome.lasting.iter().filter(|(_, is_listed)| !is_listed).count();
        if not_listed > 0 {
            warn!(
                controller,
                count = not_listed,
                "More differences outlast the grace period than a report lists"
            );
        }
        for (identity, since) in &outcome.ended {
            let (kind, object) = (identity.kind.name(), object(identity));
            info!(controller, service = %key, kind, object, took = ?since.elapsed(), "A lasting difference has ended");
        }
    }
}

impl WritePolicy for Comparison {
    /// Never allows a sync.
    fn decide(&self, key: &ObjectKey, pending: &dyn Fn() -> Option<Vec<PendingWrite>>) -> Decision {
        let found = found(&key.name, pending());
        let cache = self.cache.upgrade().filter(|_| !found.is_empty());
        let keeps_pods = cache.is_some_and(|cache| cache.disruption_report().kept_pods > 0);
        let outcome = {
            let mut differences = self.differences.lock();
            let outcome = differences.compare(key, found, Instant::now(), keeps_pods);
            // With the lock, so that the last comparison sets the gauges.
            self.metrics.count(self.which.name(), &outcome);
            outcome
        };
        self.log(key, &outcome);
        outcome.again.map_or(Decision::Skip, Decision::After)
    }
}

/// Every change of the objects that the controller writes is another client's. It is compared at once, so that a difference ends
/// when the cache shows it: the controller's own handlers wait for a second, for repairs. What lists bring at the start is
/// among the initial keys.
impl Handler for Comparison {
    fn slice(&self, change: &Change<CachedSlice>, _state: &State, is_initial_list: bool) {
        let (old, new) = match change {
            Change::Added(_) if is_initial_list => return,
            Change::Added(slice) | Change::Deleted { last: slice, .. } => (slice, slice),
            Change::Updated { old, new } => (old, new),
        };
        let is_ours = |slice: &Arc<CachedSlice>| slice.managed_by.as_deref() == self.managed_by();
        if self.managed_by().is_none() || !is_ours(old) && !is_ours(new) {
            return;
        }
        let keys: BTreeSet<ObjectKey> =
            [old, new].into_iter().filter_map(|slice| service_key(slice)).collect();
        for key in keys {
            self.queue.add(key);
        }
    }

    fn endpoints(&self, change: &Change<CachedEndpoints>, _state: &State, is_initial_list: bool) {
        let is_known = is_initial_list && matches!(change, Change::Added(_));
        if self.which == Controller::Endpoints && !is_known {
            self.queue.add(change.latest().key());
        }
    }
}

/// The kind and the name of an object.
pub(super) fn object(identity: &Identity) -> String {
    let rest = if identity.is_generated { "<generated>" } else { "" };
    format!("{}/{}{rest}", identity.object, identity.name)
}

/// Fields on one line.
fn texts(fields: &[Field], more: usize) -> String {
    let side = |value: &Option<Box<str>>| value.as_deref().unwrap_or("none").to_owned();
    let text = |field: &Field| format!("{}: {} -> {}", field.path, side(&field.before), side(&field.after));
    let mut texts: Vec<String> = fields.iter().map(text).collect();
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    texts.join("; ")
}
