//! The election of the manager: its Lease, identity and clients.

use std::time::Duration;

use controller_kit::election::{ElectionMetrics, Hold, Identity, Leadership, LeaseLock};
use controller_kit::recorder::Recorder;
use endpoint_informers::lifecycle::PendingElection;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;

use crate::api_clients::Clients;
use crate::config::{Config, LeaderElection};
use crate::connection::ConnectionError;
use crate::runtimes::Handles;
use crate::version;

/// The last part of the elector's user agent.
const ELECTION: &str = "leader-election";

/// The time after the end of its lease for which a leader that is not renewed stays healthy (`leaderelection`
/// `NewLeaderHealthzAdaptor`; kube-controller-manager passes 20 s).
const HEALTH_TOLERANCE: Duration = Duration::from_secs(20);

/// The annotations by which an operator, or `handover`, keeps every replica from leading: those of deploy/ too.
pub const HOLD: Hold = Hold {
    annotation: "endpoint-controller-manager/hold",
    released: "endpoint-controller-manager/hold-released",
};

/// The election; none if it is off.
pub(crate) fn pending(
    config: &Config,
    clients: &Clients<'_>,
    handles: &Handles,
    registry: &mut Registry,
) -> Result<Option<PendingElection>, ConnectionError> {
    let Some(config) = &config.leader_election else { return Ok(None) };
    let metrics = ElectionMetrics::register(registry);
    let _control = handles.control.enter();
    Ok(Some(new(config, clients.unshared(ELECTION)?, clients.of(ELECTION), metrics)))
}

/// An election over `client`, which is neither rate-limited nor bound to leadership, and has connections of its own: those
/// of controllers may be busy, or dead and many. To be called, and `client` made, in the context of the control runtime.
/// Events go through `events`.
fn new(
    config: &LeaderElection,
    client: ApiClient,
    events: ApiClient,
    metrics: ElectionMetrics,
) -> PendingElection {
    let events = Recorder::new(events, version::NAME);
    let lock = LeaseLock::new(client, &config.namespace, &config.name).with_hold(HOLD);
    PendingElection::new(config.timing, lock, Identity::of_this_host(version::NAME), events, metrics)
}

/// A health check that fails if a leader has not renewed the Lease in time, and should be restarted.
pub(crate) fn health(
    leadership: Leadership,
    LeaderElection { timing, name, .. }: &LeaderElection,
) -> impl Fn() -> Result<(), String> + use<> {
    let tolerance = timing.lease_duration().saturating_sub(timing.renew_deadline()) + HEALTH_TOLERANCE;
    let lease = name.clone();
    move || match leadership.overdue() {
        Some(overdue) if overdue > tolerance => {
            Err(format!("failed election to renew leadership on lease {lease}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
