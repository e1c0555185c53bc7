//! The lifecycle of a process of controllers: contend for the Lease, refresh the cache, work, release.
//!
//! ```text
//! lead: Lease acquired ─> relist what controllers write ─┐
//! work: controllers run <────────────────────────────────┘
//! stop: no new syncs ─> syncs under way finish ─> their events ─> Lease released ─> the event about that
//! ```
//!
//! [`Lifecycle::run_until`] is all of it. A process that has more to do between the steps, such as handling a second
//! signal, calls [`lead`](Lifecycle::lead), [`work`](Lifecycle::work) and [`stop`](Lifecycle::stop) itself.

mod controllers;
mod election;
mod error;

use std::future::pending;
use std::mem;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::list_watch::Caches;
pub use controllers::ControllerTask;
use controllers::RunningControllers;
use election::LeaseHandle;
pub use election::PendingElection;
pub use error::LifecycleError;

/// The progress of a process, for its health checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The caches are being filled.
    Starting,
    /// The caches are kept up to date while another process leads.
    Standby,
    /// This process has acquired the Lease, and relists what it writes.
    Relisting,
    /// The controllers run.
    Running,
    /// The controllers finish their writes in progress.
    Stopping,
}

/// Controllers that work while the process has the Lease, or always if there is no election. If this is dropped, or a future of
/// [`Self::run_until`] or [`Self::stop`], syncs under way are cancelled, and the Lease is renewed no more.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
/// use controller_kit::recorder::{EventWriter, Recorder};
/// use endpoint_informers::controller::Controller;
/// use endpoint_informers::lifecycle::{ControllerTask, Lifecycle, LifecycleError, PendingElection};
/// use endpoint_informers::list_watch::Caches;
/// use kube_api::ApiClient;
///
/// # async fn example<C: Controller>(client: ApiClient, caches: Caches, new: fn(ApiClient) -> (Arc<C>, EventWriter)) -> Result<(), LifecycleError> {
/// let lock = LeaseLock::new(client.clone(), "kube-system", "example");
/// let events = Recorder::new(client.clone(), "example");
/// let identity = Identity::unique("host-1");
/// let election = PendingElection::new(Config::default(), lock, identity, events, ElectionMetrics::default());
/// let controller = new(client.with_leadership(election.leadership()));
/// let terminated = async { drop(tokio::signal::ctrl_c().await) };
/// Lifecycle::new(caches, [ControllerTask::new(controller, 0, None)]).with_election(election).run_until(terminated).await
/// # }
/// ```
#[must_use = "no controller runs unless this does"]
pub struct Lifecycle {
    caches: Caches,
    controllers: Vec<ControllerTask>,
    election: Option<PendingElection>,
    lease: Option<LeaseHandle>,
    running: Option<RunningControllers>,
    phase: watch::Sender<Phase>,
    shutdown_timeout: Duration,
    runtime: Handle,
}

impl Lifecycle {
    /// A lifecycle without an election. Controllers, and the tasks that write events, are spawned on the runtime of the caller.
    /// They start when `caches` are synced.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new(caches: Caches, controllers: impl IntoIterator<Item = ControllerTask>) -> Self {
        Self {
            caches,
            controllers: controllers.into_iter().collect(),
            election: None,
            lease: None,
            running: None,
            phase: watch::Sender::new(Phase::Starting),
            shutdown_timeout: Duration::MAX,
            runtime: Handle::current(),
        }
    }

    /// The same lifecycle, in which the controllers work only while the process has the Lease. Their clients must write
    /// [with its leadership](PendingElection::leadership).
    pub fn with_election(self, election: PendingElection) -> Self {
        Self { election: Some(election), ..self }
    }

    /// The same lifecycle; [`Self::stop`] waits at most this long for writes in progress. By default it has no limit.
    pub fn with_shutdown_timeout(self, shutdown_timeout: Duration) -> Self {
        Self { shutdown_timeout, ..self }
    }

    /// The same lifecycle, which reports its progress to `phase`.
    pub fn with_phase(self, phase: watch::Sender<Phase>) -> Self {
        Self { phase, ..self }
    }

    /// Runs the whole lifecycle: works until `stop` completes, and then finishes what is under way. A process that is not
    /// at work yet ends at once.
    ///
    /// # Errors
    ///
    /// As for [`Self::lead`], [`Self::work`] and [`Self::stop`].
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), LifecycleError> {
        let lead_and_work = async {
            match self.lead().await {
                Ok(()) => self.work().await,
                Err(failed) => failed,
            }
        };
        let failed = tokio::select! {
            biased;
            () = stop => None,
            failed = lead_and_work => Some(failed),
        };
        match failed {
            None => self.stop().await,
            // Nothing was written, so that another process may lead at once.
            Some(failed @ LifecycleError::Relist(_)) => self.stop().await.and(Err(failed)),
            Some(failed) => Err(failed),
        }
    }

    /// Waits until this process leads, and its cache holds what previous leaders wrote ([`Caches::relist_and_wait`]); without an
    /// election, until the caches are [synced](Caches::synced). May be cancelled to [stop](Self::stop).
    ///
    /// # Errors
    ///
    /// [`LifecycleError::LeaseLost`], or [`LifecycleError::Relist`], after which [`Self::stop`] releases the Lease.
    pub async fn lead(&mut self) -> Result<(), LifecycleError> {
        if let Some(election) = self.election.take() {
            self.lease = Some(election.contend(&self.runtime));
        }
        if self.lease.is_none() {
            // The first lists are enough, because no other process writes.
            self.caches.synced().await;
        }
        self.phase.send_replace(Phase::Standby);
        let Some(lease) = &mut self.lease else { return Ok(()) };
        let Some(alone_since) = lease.acquired().await else { return Err(lease.lost().await) };
        self.phase.send_replace(Phase::Relisting);
        tokio::select! {
            biased;
            caught_up = self.caches.relist_and_wait(alone_since) => Ok(caught_up?),
            lost = lease.lost() => Err(lost),
        }
    }

    /// Waits until the Lease is lost; for ever without an election. To be awaited between [`Self::lead`] and [`Self::work`].
    /// May be cancelled.
    pub async fn lost(&mut self) -> LifecycleError {
        match &mut self.lease {
            Some(lease) => lease.lost().await,
            None => pending().await,
        }
    }

    /// Starts the controllers, and returns only if one ends by itself or the Lease is lost. May be cancelled to
    /// [stop](Self::stop).
    pub async fn work(&mut self) -> LifecycleError {
        let controllers = RunningControllers::start(mem::take(&mut self.controllers), &self.runtime);
        let running = self.running.insert(controllers);
        self.phase.send_replace(Phase::Running);
        let Some(lease) = &mut self.lease else { return LifecycleError::TaskEnded(running.ended().await) };
        tokio::select! {
            biased;
            ended = running.ended() => LifecycleError::TaskEnded(ended),
            lost = lease.lost() => lost,
        }
    }

    /// Starts no new sync, lets those under way finish, and then releases the Lease, so that another process may lead at
    /// once. If writes may still be under way after the shutdown timeout, the Lease runs out by itself.
    ///
    /// # Errors
    ///
    /// [`LifecycleError::LeaseLost`] if that happened before the release.
    pub async fn stop(self) -> Result<(), LifecycleError> {
        self.phase.send_replace(Phase::Stopping);
        let finished = match self.running {
            Some(running) => running.stop(self.shutdown_timeout).await,
            None => true,
        };
        match self.lease {
            Some(lease) if finished => lease.release().await,
            Some(lease) => {
                lease.abandon();
                Ok(())
            }
            None => Ok(()),
        }
    }
}
