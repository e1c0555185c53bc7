//! The writes that wait for others, with the feature gate `EndpointSliceCoalescing`.
//!
//! [`endpointslice::coalescing`] decides which writes of a plan may wait. The Service is queued again for the time at which one
//! of them may no longer wait. What waits is not remembered across restarts: the next process finds the same differences, and
//! lets them wait anew.

use std::collections::HashMap;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::SlicePlan;
use endpointslice::coalescing::{HeldBack, PlannedWrite, Rules, Waiting};
use kube_api::time::Instant;
use parking_lot::Mutex;

/// The longest time for which a change waits.
const LONGEST: Duration = Duration::from_secs(5);

/// The changes that wait, by Service.
pub(crate) struct Deferrals {
    started: Instant,
    waiting: Mutex<HashMap<ObjectKey, Waiting>>,
}

/// The changes of a Service that wait, before and after its sync.
pub(crate) struct Deferral {
    before: Waiting,
    after: HeldBack,
}

impl Deferrals {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), waiting: Mutex::default() }
    }

    /// Takes the writes out of a Service's plan that may wait. `writes` looks at each write, if any may wait or has waited.
    pub(crate) fn hold_back(
        &self,
        key: &ObjectKey,
        plan: &mut SlicePlan,
        rules: Rules,
        trigger_time: Option<&str>,
        writes: impl FnOnce(&SlicePlan) -> Vec<PlannedWrite>,
    ) -> Deferral {
        let before = self.waiting.lock().remove(key).unwrap_or_default();
        if plan.is_empty() || rules.are_urgent() && before.is_empty() {
            return Deferral { before, after: HeldBack::default() };
        }
        let writes = writes(plan);
        let after = before.hold_back(plan, writes, self.started.elapsed(), LONGEST, trigger_time);
        Deferral { before, after }
    }

    /// Records whether the writes that did not wait were all made. Returns the time until the next must be made.
    pub(crate) fn finish(&self, key: &ObjectKey, deferral: Deferral, complete: bool) -> Option<Duration> {
        let Deferral { before, after } = deferral;
        let delay =
            after.waiting.deadline(LONGEST).map(|deadline| deadline.saturating_sub(self.started.elapsed()));
        // A retry must not let the changes of a failed write wait again.
        let waiting = if complete { after.waiting } else { after.waiting.or_earlier(before) };
        if !waiting.is_empty() {
            self.waiting.lock().insert(key.clone(), waiting);
        }
        delay
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.waiting.lock().remove(key);
    }

    /// The Services with changes that wait.
    pub(crate) fn services(&self) -> Vec<ObjectKey> {
        self.waiting.lock().keys().cloned().collect()
    }
}

impl Deferral {
    /// The numbers of writes that wait from now on, and of those that are made because they may wait no longer.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.after.deferred, self.after.expired)
    }
}
