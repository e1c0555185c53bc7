//! Flags of the leader election (`k8s.io/component-base` `config/options/leaderelectionconfig.go`).

use controller_kit::election;

use crate::config::LeaderElection;
use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Duration, Text};
use crate::options::settings::LeaderElectionSettings;
use crate::version;

pub(super) const FLAGS: &[Flag] = &[
    Flag::new(
        "leader-elect",
        "true",
        "Run the controllers only while holding the Lease, so that one of several replicas works; if false, run a \
         single replica",
        Bool(|settings, on| settings.leader_election.enabled = on),
    )
    .key("Generic.LeaderElection.leaderElect"),
    Flag::new(
        "leader-elect-lease-duration",
        "15s",
        "Time that other replicas wait after the last renewal they have seen before one of them acquires the Lease",
        Duration(|settings, time| settings.leader_election.lease_duration = time),
    )
    .key("Generic.LeaderElection.leaseDuration"),
    Flag::new(
        "leader-elect-renew-deadline",
        "10s",
        "Time that the leader tries to renew the Lease before it stops leading; must be less than \
         --leader-elect-lease-duration",
        Duration(|settings, time| settings.leader_election.renew_deadline = time),
    )
    .key("Generic.LeaderElection.renewDeadline"),
    Flag::new(
        "leader-elect-resource-lock",
        "leases",
        "Type of the lock object: leases",
        Text(|settings, resource| resource.clone_into(&mut settings.leader_election.resource_lock)),
    )
    .value_name("RESOURCE")
    .key("Generic.LeaderElection.resourceLock"),
    Flag::new(
        "leader-elect-resource-name",
        version::NAME,
        "Name of the Lease",
        Text(|settings, name| name.clone_into(&mut settings.leader_election.name)),
    )
    .value_name("NAME")
    .key("Generic.LeaderElection.resourceName"),
    Flag::new(
        "leader-elect-resource-namespace",
        "kube-system",
        "Namespace of the Lease",
        Text(|settings, namespace| namespace.clone_into(&mut settings.leader_election.namespace)),
    )
    .value_name("NAMESPACE")
    .key("Generic.LeaderElection.resourceNamespace"),
    Flag::new(
        "leader-elect-retry-period",
        "2s",
        "Time between attempts to acquire or renew the Lease",
        Duration(|settings, time| settings.leader_election.retry_period = time),
    )
    .key("Generic.LeaderElection.retryPeriod"),
];

/// The election, or none if it is off: its other flags are not checked then, as upstream does.
pub(crate) fn checked(settings: LeaderElectionSettings) -> Result<Option<LeaderElection>, String> {
    if !settings.enabled {
        return Ok(None);
    }
    if settings.resource_lock != "leases" {
        return Err(r#"--leader-elect-resource-lock: resourceLock value must be "leases""#.to_owned());
    }
    let LeaderElectionSettings { lease_duration, renew_deadline, retry_period, name, namespace, .. } =
        settings;
    for (flag, value) in [("name", &name), ("namespace", &namespace)] {
        if value.is_empty() {
            return Err(format!("--leader-elect-resource-{flag} must not be empty"));
        }
    }
    let timing = election::Config::new(lease_duration, renew_deadline, retry_period);
    Ok(Some(LeaderElection { timing: timing.map_err(|error| error.to_string())?, namespace, name }))
}
