//! The takeover gate: controllers start only if their first writes are few.
//!
//! A wrong flag, a wrong feature gate or a wrong cluster shows itself in the first plans: they would rewrite everything.
//! With `--takeover-max-writes=N`, a new leader makes all plans before its controllers run. If they amount to more than N
//! writes, it waits, for an approval or until the plans have become fewer, and holds the Lease meanwhile.

mod approval;

use std::sync::Arc;
use std::time::Duration;

use cli_runtime::differences::fields_changed;
use component_server::Checks;
use controller_kit::election::LeaseEvents;
use controller_kit::environment::spawn_in;
use controller_kit::recorder::EventType;
use endpoint_informers::lifecycle::{Lifecycle, LifecycleError};
use endpoint_informers::pending::PendingWrite;
use kube_api::time::{Instant, sleep};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::controller_set::first_writes::{DryRun, FirstWrite, FirstWrites};
use crate::signals::Approvals;
use approval::{ANNOTATION, approval};

pub(crate) use approval::ApprovingLease;

/// The time between two counts while the gate is closed.
const INTERVAL: Duration = Duration::from_secs(30);

/// The time after which the event of a closed gate is emitted again: API servers delete events after an hour.
const EVENT_PERIOD: Duration = Duration::from_mins(10);

/// The number of writes that a message shows.
const SHOWN: usize = 10;

/// The number of fields that a message shows of each write.
const FIELDS: usize = 5;

/// The name of the check in `/readyz`.
const CHECK: &str = "takeover";

/// A gate that a new leader has to pass before its controllers run.
pub(crate) struct TakeoverGate {
    max_writes: usize,
    approvals: Approvals,
    /// Of the controllers, which are kept until the gate is passed.
    first_writes: Arc<FirstWrites>,
    /// The runtime of the controllers, where plans are made.
    runtime: Handle,
    /// The reason why the gate is closed.
    closed: watch::Sender<Option<String>>,
    /// The Lease, and its events.
    lease: Option<(ApprovingLease, LeaseEvents)>,
}

impl TakeoverGate {
    /// A gate for at most `max_writes` writes, or for more with an approval, which the Lease may have. `/readyz` and events about
    /// the Lease tell why it is closed.
    ///
    /// It plans on the runtime in which it is made.
    pub(crate) fn new(
        max_writes: usize,
        first_writes: FirstWrites,
        approvals: Approvals,
        readyz: &Checks,
        lease: Option<(ApprovingLease, LeaseEvents)>,
    ) -> Self {
        let closed = watch::Sender::new(None);
        let reason = closed.subscribe();
        readyz.register(CHECK, move || reason.borrow().clone().map_or(Ok(()), Err));
        let (first_writes, runtime) = (Arc::new(first_writes), Handle::current());
        Self { max_writes, approvals, first_writes, runtime, closed, lease }
    }

    /// Waits until the first writes of the controllers are few enough, or approved; fails if the Lease is lost.
    pub(crate) async fn pass(self, lifecycle: &mut Lifecycle) -> Result<(), LifecycleError> {
        let lease = self.lease.as_ref().map(|(lease, _)| lease);
        let (mut awaited, mut reported) = (None, None::<(String, Instant)>);
        loop {
            let dry_run = tokio::select! {
                biased;
                lost = lifecycle.lost() => return Err(lost),
                dry_run = self.dry_run() => dry_run?,
            };
            if dry_run.total <= self.max_writes {
                self.open(dry_run.total);
                return Ok(());
            }
            // Before the message that leads to one.
            let signals = awaited.get_or_insert_with(|| self.approvals.awaited());
            // The first count: without a writer, live changes of the cluster change the number all the time.
            match &mut reported {
                None => reported = Some((self.report(&dry_run), Instant::now())),
                Some((message, time)) if time.elapsed() >= EVENT_PERIOD => {
                    *time = Instant::now();
                    self.event(EventType::Warning, "TakeoverHeld", message);
                }
                Some(_) => {}
            }
            self.closed.send_replace(Some(self.reason(dry_run.total)));
            tokio::select! {
                biased;
                lost = lifecycle.lost() => return Err(lost),
                by = approval(signals, lease) => {
                    info!(by, "The takeover is approved");
                    self.open(dry_run.total);
                    return Ok(());
                }
                () = sleep(INTERVAL) => {}
            }
        }
    }

    /// Plans away from the election: the plan of a large Service would delay a renewal of the Lease. May be cancelled.
    async fn dry_run(&self) -> Result<DryRun, LifecycleError> {
        let first_writes = Arc::clone(&self.first_writes);
        let mut tasks = JoinSet::new();
        spawn_in(&mut tasks, &self.runtime, async move { first_writes.dry_run(SHOWN).await });
        match tasks.join_next().await {
            Some(Ok(dry_run)) => Ok(dry_run),
            Some(Err(error)) => Err(LifecycleError::TaskEnded(error.to_string())),
            None => Err(LifecycleError::TaskEnded("the plans of the takeover gate".to_owned())),
        }
    }

    fn open(&self, writes: usize) {
        info!(writes, max = self.max_writes, "The takeover gate is open");
        self.closed.send_replace(None);
        let message = format!("the controllers start with {writes} writes");
        self.event(EventType::Normal, "TakeoverPassed", &message);
    }

    fn reason(&self, writes: usize) -> String {
        format!(
            "the controllers would make {writes} writes at their start, more than --takeover-max-writes={}; check \
             flags, feature gates and the cluster; to make them, annotate the Lease with {ANNOTATION}=HOLDER, where HOLDER \
             is its spec.holderIdentity, or send SIGUSR2, or restart with a higher number",
            self.max_writes
        )
    }

    fn event(&self, event_type: EventType, reason: &str, message: &str) {
        if let Some((_, events)) = &self.lease {
            events.event(event_type, reason, message);
        }
    }

    /// Says why the gate is closed. Returns the message of the event.
    fn report(&self, dry_run: &DryRun) -> String {
        let reason = self.reason(dry_run.total);
        warn!(writes = dry_run.total, max = self.max_writes, "Not starting the controllers: {reason}");
        for write in &dry_run.shown {
            let FirstWrite { controller, key, write } = write;
            warn!(controller, service = %key, "Would {write}{}", fields(write));
        }
        let first: Vec<String> =
            dry_run.shown.iter().map(|first| format!("{} ({})", first.write, first.key)).collect();
        let message = format!("{reason}. The first of them: {}", first.join(", "));
        self.event(EventType::Warning, "TakeoverHeld", &message);
        message
    }
}

/// The fields that an update changes.
fn fields(write: &PendingWrite) -> String {
    let (Some(stored), Some(desired)) = write.sides() else { return String::new() };
    let changes = fields_changed(&stored, &desired);
    let fields: Vec<&str> = changes.iter().map(|field| &*field.path).collect();
    let more = fields.len().saturating_sub(FIELDS);
    let shown = fields.get(..FIELDS).unwrap_or(&fields).join(", ");
    if more == 0 { format!(": {shown}") } else { format!(": {shown} and {more} more fields") }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use endpoint_informers::list_watch::Caches;
    use parking_lot::Mutex;

    use super::*;
    use crate::runtimes::{Handles, Runtimes};

    /// The time that a plan waits for its end; a passing test never reaches it.
    const LIMIT: Duration = Duration::from_mins(1);

    /// The control runtime, where the election is, goes on while a plan takes long.
    #[test]
    fn first_writes_are_planned_on_the_runtime_of_the_controllers() {
        Runtimes::start().unwrap().run(async |handles: Handles| {
            let (end, ended) = channel::<()>();
            let ended = Mutex::new(ended);
            let first_writes = FirstWrites::of_plan(move || {
                let _ = ended.lock().recv_timeout(LIMIT);
            });
            let (gate, mut lifecycle) = {
                let _work = handles.work.enter();
                let gate = TakeoverGate::new(0, first_writes, Approvals::default(), &Checks::new(), None);
                (gate, Lifecycle::new(Caches::default(), []))
            };
            let (passed, sent) = tokio::join!(gate.pass(&mut lifecycle), async { end.send(()) });
            assert!(passed.is_ok() && sent.is_ok(), "{passed:?} {sent:?}");
        });
    }
}
