//! The loop that acquires a Lease and renews it.

use std::pin::pin;
use std::time::Duration;

use kube_api::time::{Instant, sleep, sleep_until, timeout};
use kube_api::{ApiError, Leadership, LeadershipState as State, NEW_CONNECTION_TIMEOUT, error_chain};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::claim::{self, Claim, Observation};
use super::config::Config;
use super::events::LeaseEvents;
use super::lock::{Identity, LeaseLock};
use super::metrics::ElectionMetrics;
use crate::environment;
use crate::recorder::{EventType, Recorder};

/// The loss of leadership.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeaseLost {
    /// The Lease could not be renewed in time; the log has the errors.
    #[error("lease {lease} was not renewed within {deadline:?}")]
    Deadline {
        /// The Lease as `namespace/name`.
        lease: String,
        /// The renew deadline.
        deadline: Duration,
    },
    /// Another holder was written without waiting for expiry, for example with kubectl.
    #[error("lease {lease} was taken by {holder}")]
    Taken {
        /// The Lease as `namespace/name`.
        lease: String,
        /// The new holder.
        holder: String,
    },
}

/// Contends for a Lease, and renews it.
///
/// ```no_run
/// use kube_api::ApiClient;
/// use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
/// use controller_kit::recorder::Recorder;
/// use tokio::sync::oneshot;
///
/// # async fn example(client: ApiClient, writer: ApiClient, recorder: Recorder, metrics: ElectionMetrics) {
/// let lock = LeaseLock::new(client, "kube-system", "widget-controller");
/// let identity = Identity::unique("host-1");
/// let (elector, leadership) = Elector::new(Config::default(), lock, identity, recorder, metrics);
/// let writer = writer.with_leadership(leadership.clone());
/// let (release, released) = oneshot::channel::<()>();
/// let election = tokio::spawn(elector.run(async move { drop(released.await) }));
///
/// if leadership.gained().await {
///     // … start the workers; on a signal, stop them, wait for them, and only then:
///     drop(release);
/// }
/// match election.await {
///     Ok(Ok(())) => {} // released
///     lost => {}       // writes are refused already; end the process
/// }
/// # }
/// ```
#[must_use = "nothing is elected unless this runs"]
pub struct Elector {
    config: Config,
    lock: LeaseLock,
    identity: Identity,
    events: LeaseEvents,
    metrics: ElectionMetrics,
    state: watch::Sender<State>,
    observed: Option<Observation>,
    /// True if we sent a write with our identity, successful or not.
    claimed: bool,
    /// The time since which no other process has held the Lease.
    vacant_since: Option<Instant>,
    /// The time limit of the next read while we don't lead. It grows while no response comes: the request may have to wait for
    /// a new connection, which ends with it and begins again with the next.
    read_limit: Duration,
}

/// The outcome of a try.
enum Standing {
    /// We hold the Lease, by a write sent at this time.
    Leader { sent: Instant },
    /// Another process holds the Lease, for at least this long.
    Standby { left: Duration },
}

/// One that is dropped while it leads, as by an aborted task, leads no more: the Lease expires.
impl Drop for Elector {
    fn drop(&mut self) {
        if matches!(self.state.send_replace(State::Over), State::Leading { .. }) {
            self.metrics.set_leading(self.lock.name(), false);
        }
    }
}

impl Elector {
    /// An elector, and the leadership that it gains.
    ///
    /// The recorder gets upstream's events about the Lease, with reason `LeaderElection`: `<identity> became leader`
    /// and `<identity> stopped leading`. Upstream names the component as their source.
    pub fn new(
        config: Config,
        lock: LeaseLock,
        identity: Identity,
        recorder: Recorder,
        metrics: ElectionMetrics,
    ) -> (Self, Leadership) {
        let (state, leadership) = Leadership::new();
        metrics.contends(lock.name());
        let events = LeaseEvents::new(recorder, lock.reference(None));
        let elector = Self {
            config,
            lock,
            identity,
            events,
            metrics,
            state,
            observed: None,
            claimed: false,
            vacant_since: None,
            read_limit: config.request_timeout(),
        };
        (elector, leadership)
    }

    /// Events about the Lease, for others to record.
    pub fn events(&self) -> LeaseEvents {
        self.events.clone()
    }

    /// Reads the Lease without contending for it.
    ///
    /// If this happens before the cache is filled, and the Lease is there, free, and unchanged until it is acquired, no
    /// other process has written meanwhile ([`Leadership::alone_since`]). If the read fails, that is not known.
    pub async fn observe(&mut self) {
        if let Err(error) = self.read().await {
            debug!(lock = %self.lock, err = error_chain(&error), "Failed to read lease");
        }
    }

    /// Contends until `stop` completes, or until leadership is gained and lost.
    ///
    /// `stop` should complete when all writers have stopped: until then the Lease is renewed, and then it is released,
    /// so that another process can acquire it at once. Releasing takes one or two round trips, and at most the renew
    /// deadline; if it fails, the Lease expires. Failures before leadership is gained are retried for ever.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), LeaseLost> {
        let outcome = tokio::select! {
            biased;
            () = pin!(stop) => Ok(()),
            lost = self.contend() => Err(lost),
        };
        let led = matches!(self.state.send_replace(State::Over), State::Leading { .. });
        self.metrics.set_leading(self.lock.name(), false);
        match &outcome {
            Ok(()) if self.claimed => self.release().await,
            Ok(()) => {}
            Err(lost) => warn!(lock = %self.lock, err = %lost, "Lost lease"),
        }
        if led {
            self.event("stopped leading");
        }
        outcome
    }

    async fn contend(&mut self) -> LeaseLost {
        info!(lock = %self.lock, identity = %self.identity, "Attempting to acquire leader lease");
        let acquired = self.acquire().await;
        self.metrics.set_leading(self.lock.name(), true);
        info!(lock = %self.lock, identity = %self.identity, "Successfully acquired lease");
        self.event("became leader");
        self.keep(acquired).await
    }

    async fn acquire(&mut self) -> Instant {
        loop {
            let wait = self.config.standby_wait();
            let wait = match self.attempt().await {
                Ok(Standing::Leader { sent }) if sent.elapsed() < self.config.renew_deadline() => {
                    return sent;
                }
                // The process was stopped meanwhile: another may hold the Lease by now.
                Ok(Standing::Leader { .. }) => continue,
                Ok(Standing::Standby { left }) => wait.min(left),
                Err(error) => {
                    warn!(lock = %self.lock, err = error_chain(&error), "Failed to acquire lease");
                    wait
                }
            };
            sleep(wait).await;
        }
    }

    /// Renews until a renewal fails for the renew deadline.
    async fn keep(&mut self, mut renewed: Instant) -> LeaseLost {
        loop {
            let until = renewed.checked_add(self.config.renew_deadline()).unwrap_or(renewed);
            let alone_since = self.vacant_since.unwrap_or(renewed);
            self.state.send_replace(State::Leading { until, alone_since });
            let renewal = tokio::select! {
                // First, so that a process that was stopped for too long neither uses an old response nor renews.
                biased;
                () = sleep_until(until) => {
                    let deadline = self.config.renew_deadline();
                    Err(LeaseLost::Deadline { lease: self.lock.to_string(), deadline })
                }
                renewal = self.renew() => renewal,
            };
            match renewal {
                Ok(sent) => renewed = sent,
                Err(lost) => return lost,
            }
        }
    }

    /// Tries until the Lease is renewed, and returns the time at which that write was sent.
    async fn renew(&mut self) -> Result<Instant, LeaseLost> {
        loop {
            sleep(self.config.retry_period()).await;
            match self.write().await {
                Ok(sent) => return Ok(sent),
                Err(error) => {
                    let err = error_chain(&error);
                    debug!(lock = %self.lock, err, "Failed to update lease optimistically, reading it");
                }
            }
            match self.attempt().await {
                Ok(Standing::Leader { sent }) => return Ok(sent),
                Ok(Standing::Standby { .. }) => {
                    let holder = self.observed.as_ref().map_or("", Observation::holder).to_owned();
                    return Err(LeaseLost::Taken { lease: self.lock.to_string(), holder });
                }
                Err(error) => warn!(lock = %self.lock, err = error_chain(&error), "Failed to renew lease"),
            }
        }
    }

    /// Reads the Lease and, if our claim allows it, writes it.
    async fn attempt(&mut self) -> Result<Standing, ApiError> {
        self.read().await?;
        let is_leader = self.is_leader();
        let claim = |known: &Observation| known.claim(self.identity.as_str(), is_leader, Instant::now());
        let claim = self.observed.as_ref().map(claim);
        match claim {
            Some(Claim::Wait(left)) => return Ok(Standing::Standby { left }),
            Some(Claim::Held) => return Ok(Standing::Standby { left: Duration::MAX }),
            Some(Claim::Renew) => self.metrics.count_slow_path(self.lock.name()),
            Some(Claim::TakeOver) | None => {}
        }
        let is_held = self.observed.as_ref().is_some_and(|known| !known.holder().is_empty());
        let sent = self.write().await?;
        if claim == Some(Claim::TakeOver) && is_held {
            self.metrics.count_expired(self.lock.name());
        }
        Ok(Standing::Leader { sent })
    }

    async fn read(&mut self) -> Result<(), ApiError> {
        let least = self.config.request_timeout();
        let limit = if self.is_leader() { least } else { self.read_limit };
        let answer = self.lock.get(limit).await;
        self.read_limit = match answer {
            Err(ApiError::Timeout(_)) => limit.saturating_mul(2).min(NEW_CONNECTION_TIMEOUT).max(least),
            _ => least,
        };
        let lease = answer?;
        let (known, now) = (self.observed.take(), Instant::now());
        let hold = self.lock.hold();
        self.observed = lease.map(|lease| Observation::new(lease, hold, known.as_ref(), now));
        self.update_vacancy(now);
        self.report_hold(known.as_ref().and_then(Observation::hold));
        let holder = self.observed.as_ref().map_or("", Observation::holder);
        if holder != known.as_ref().map_or("", Observation::holder) {
            info!(lock = %self.lock, holder, "Lease changed hands");
        }
        Ok(())
    }

    /// Shows the hold in force, and logs it if it is not the one from before.
    fn report_hold(&self, before: Option<&str>) {
        let hold = self.observed.as_ref().and_then(Observation::hold);
        self.metrics.set_held(self.lock.name(), hold.is_some());
        if hold == before {
            return;
        }
        let Some(hold) = hold else {
            info!(lock = %self.lock, "The hold of the lease was released");
            return;
        };
        let release = self.lock.release_command();
        if self.is_leader() {
            warn!(lock = %self.lock, hold, release, "Leading while the lease is held: no process will succeed this one");
        } else {
            info!(lock = %self.lock, hold, release, "Waiting, because the lease is held");
        }
    }

    fn is_leader(&self) -> bool {
        matches!(*self.state.borrow(), State::Leading { .. })
    }

    /// Updates the time since which no other process has held the Lease, after it was read.
    fn update_vacancy(&mut self, now: Instant) {
        match &self.observed {
            // Still ours: unchanged.
            Some(lease) if lease.holder() == self.identity.as_str() => {}
            Some(lease) => self.vacant_since = lease.vacant_since(now),
            // Another process may have held it since the last read: then it was deleted.
            None => self.vacant_since = Some(now),
        }
    }

    /// Writes our identity to the Lease as last seen, and returns the time at which the write was sent.
    async fn write(&mut self) -> Result<Instant, ApiError> {
        self.claimed = true;
        let sent = Instant::now();
        let known = self.observed.as_ref().map(Observation::lease);
        let previous = known.and_then(|lease| lease.spec.as_ref());
        let (identity, seconds) = (self.identity.as_str(), self.config.lease_seconds());
        let spec = claim::held(previous, identity, seconds, environment::now());
        let lease = self.lock.put(known, spec, self.config.request_timeout()).await?;
        self.observed = Some(Observation::new(lease, self.lock.hold(), None, Instant::now()));
        Ok(sent)
    }

    async fn release(&mut self) {
        match timeout(self.config.renew_deadline(), self.try_release()).await {
            Ok(Ok(())) => info!(lock = %self.lock, "Released lease"),
            Ok(Err(error)) => {
                warn!(lock = %self.lock, err = error_chain(&error), "Failed to release lease")
            }
            Err(_) => warn!(lock = %self.lock, "Failed to release lease in time"),
        }
    }

    /// Reads the Lease first, and again after a conflict, because a write of ours may have been in progress.
    async fn try_release(&mut self) -> Result<(), ApiError> {
        loop {
            self.read().await?;
            let Some(known) = self.observed.as_ref().filter(|known| known.holder() == self.identity.as_str())
            else {
                return Ok(());
            };
            let spec = claim::released(known.lease().spec.as_ref(), environment::now());
            match self.lock.put(Some(known.lease()), spec, self.config.request_timeout()).await {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome.map(drop),
            }
        }
    }

    fn event(&self, what: &str) {
        self.events.refer_to(self.lock.reference(self.observed.as_ref().map(Observation::lease)));
        self.events.event(EventType::Normal, "LeaderElection", format!("{} {what}", self.identity));
    }
}
