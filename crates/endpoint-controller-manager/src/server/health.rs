//! The checks of `/healthz`, `/livez` and `/readyz`.

use component_server::Checks;
use controller_kit::election::Leadership;
use endpoint_informers::lifecycle::Phase;
use endpoint_informers::list_watch::Caches;
use tokio::sync::watch;

use crate::config::LeaderElection;
use crate::leader_election;

/// The checks of the three pages.
pub(crate) struct Health {
    /// Upstream's checks by upstream's names.
    pub(crate) healthz: Checks,
    /// Fails if a restart would help.
    pub(crate) livez: Checks,
    /// Passes if the caches are synced, and the controllers run or could start at once.
    pub(crate) readyz: Checks,
}

impl Health {
    pub(crate) fn new(caches: &Caches, phase: &watch::Sender<Phase>) -> Self {
        let readyz = Checks::new();
        for (resource, _) in caches.kinds() {
            let caches = caches.clone();
            let is_synced = move || caches.kinds().any(|kind| kind == (resource, true));
            let check = move || if is_synced() { Ok(()) } else { Err("not synced yet".to_owned()) };
            readyz.register(&format!("informer-sync/{resource}"), check);
        }
        let phase = phase.subscribe();
        readyz.register("controllers", move || match *phase.borrow() {
            Phase::Standby | Phase::Running => Ok(()),
            Phase::Starting => Err("not started yet".to_owned()),
            Phase::Relisting => Err("relisting after acquiring the lease".to_owned()),
            Phase::Stopping => Err("shutting down".to_owned()),
        });
        Self { healthz: Checks::new(), livez: Checks::new(), readyz }
    }

    /// Adds upstream's check of the election.
    pub(crate) fn watch_election(&self, leadership: &Leadership, config: &LeaderElection) {
        for checks in [&self.healthz, &self.livez] {
            checks.register("leaderElection", leader_election::health(leadership.clone(), config));
        }
    }
}
