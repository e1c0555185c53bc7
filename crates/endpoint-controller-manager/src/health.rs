//! What `/healthz`, `/livez` and `/readyz` ask.

use component_server::Checks;
use endpoint_informers::list_watch::Caches;
use tokio::sync::watch;

use crate::leading::Candidate;

/// How far the controllers have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The cache is being filled.
    Starting,
    /// The cache is kept up to date, and another process works.
    Standby,
    /// This process leads, and makes sure that its cache misses nothing.
    CatchingUp,
    /// They work.
    Running,
    /// They finish what they began.
    Stopping,
}

/// The checks of the three pages.
pub(crate) struct Health {
    /// Upstream's checks by upstream's names.
    pub(crate) healthz: Checks,
    /// Whether a restart would help.
    pub(crate) livez: Checks,
    /// Whether the cache holds everything, and the controllers work on it or could at once.
    pub(crate) readyz: Checks,
}

impl Health {
    pub(crate) fn new(caches: &Caches, phase: &watch::Sender<Phase>) -> Self {
        let readyz = Checks::new();
        for kind in caches.kinds().iter().cloned() {
            let name = format!("informer-sync/{}", kind.resource);
            let check = move || if kind.is_synced() { Ok(()) } else { Err("not synced yet".to_owned()) };
            readyz.register(&name, check);
        }
        let phase = phase.subscribe();
        readyz.register("controllers", move || match *phase.borrow() {
            Phase::Standby | Phase::Running => Ok(()),
            Phase::Starting => Err("not started yet".to_owned()),
            Phase::CatchingUp => Err("catching up".to_owned()),
            Phase::Stopping => Err("shutting down".to_owned()),
        });
        Self { healthz: Checks::new(), livez: Checks::new(), readyz }
    }

    /// Adds upstream's check of the election.
    pub(crate) fn watch_election(&self, candidate: &Candidate) {
        for checks in [&self.healthz, &self.livez] {
            checks.register("leaderElection", candidate.health());
        }
    }
}
