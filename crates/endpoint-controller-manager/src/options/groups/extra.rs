//! Flags of this program that kube-controller-manager doesn't have.

use endpointslice::disruption::Scope;

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Checked, Count, Duration, Int, Path};
use crate::version;

pub(super) const FLAGS: &[Flag] = &[
    Flag::new(
        "config",
        "",
        "Configuration file of kind KubeControllerManagerConfiguration \
         (kubecontrollermanager.config.k8s.io/v1alpha1); flags take precedence over its fields",
        Path(|settings, file| settings.config_file = file),
    ),
    Flag::new(
        "disable-compression",
        "false",
        "Do not ask the API server to compress responses",
        Bool(|settings, on| settings.api_server.disable_compression = on),
    )
    .key("Generic.DisableCompression"),
    Flag::new(
        "disruption-confirmation-period",
        "0s",
        "With the feature gate EndpointsKeepReadyOnDisruption, the time for which pods of any node keep their \
         readiness after its kubelet was lost, because others may be lost too; 0 means that they are withdrawn at \
         once, and published again if a disruption begins",
        Duration(|settings, period| settings.disruption.confirmation = seconds(period)),
    )
    .key("Generic.DisruptionConfirmationPeriod"),
    Flag::new(
        "disruption-lost-nodes-percent",
        "90",
        "With the feature gate EndpointsKeepReadyOnDisruption, the percentage of nodes with a lost kubelet, of those \
         that are lost or ready, from which on pods keep their readiness; never fewer than three nodes",
        Count { min: 50, max: 100, set: |settings, percent| settings.disruption.percent = percent },
    )
    .key("Generic.DisruptionLostNodesPercent"),
    Flag::new(
        "disruption-max-duration",
        "0s",
        "With the feature gate EndpointsKeepReadyOnDisruption, the time after which pods of a node whose kubelet is \
         lost are withdrawn in a disruption too; 0 means no limit",
        Duration(|settings, end| settings.disruption.end = Some(seconds(end)).filter(|end| *end > 0)),
    )
    .key("Generic.DisruptionMaxDuration"),
    Flag::new(
        "disruption-scope",
        "cluster",
        "With the feature gate EndpointsKeepReadyOnDisruption, the nodes of which the percentage is counted: cluster \
         for all together, or zone for those of each zone",
        Checked(|settings, scope| disruption_scope(scope).map(|scope| settings.disruption.scope = scope)),
    )
    .key("Generic.DisruptionScope")
    .value_name("cluster|zone"),
    Flag::new(
        "enable-pod-field-selector",
        "true",
        "Request only pods that have an address and have not ended, so that the API server sends fewer and the process \
         keeps fewer; if false, all pods are requested, and the annotation \
         endpoints.kubernetes.io/last-change-trigger-time also has the time at which a pod ended",
        Bool(|settings, on| settings.select_pods = on),
    )
    .key("Generic.EnablePodFieldSelector"),
    Flag::new(
        "kube-api-qps-ceiling",
        "500",
        "With --kube-api-qps=auto, the maximum number of requests per second to the API server, for each controller",
        Count { min: 20, max: i32::MAX, set: |settings, qps| settings.qps_ceiling = qps },
    )
    .key("Generic.KubeAPIQPSCeiling"),
    Flag::new(
        "takeover-max-writes",
        "-1",
        "Maximum number of writes at the start of the controllers, as a guard against a wrong flag, feature gate or \
         cluster. If their plans exceed it, nothing is written, /readyz and an event about the Lease say why, and \
         the process waits for the annotation endpoint-controller-manager/takeover-approved of the Lease with the \
         identity of its holder, for SIGUSR2, or for a restart with a higher number. A negative value means no \
         limit",
        Int(|settings, writes| settings.takeover_max_writes = usize::try_from(writes).ok()),
    )
    .key("Generic.TakeoverMaxWrites"),
    Flag::new(
        "user-agent-name",
        version::NAME,
        "First word of the user agent, which the API server records as the field manager in managedFields",
        Checked(|settings, name| user_agent_name(name).map(|name| settings.user_agent_name = name)),
    )
    .value_name("NAME"),
];

/// Whole seconds, as the times of conditions have.
fn seconds(duration: std::time::Duration) -> i64 {
    let begun = u64::from(duration.subsec_nanos() > 0);
    i64::try_from(duration.as_secs().saturating_add(begun)).unwrap_or(i64::MAX)
}

fn disruption_scope(scope: &str) -> Result<Scope, String> {
    match scope {
        "cluster" => Ok(Scope::Cluster),
        "zone" => Ok(Scope::Zone),
        _ => Err(format!("must be cluster or zone, but got {scope:?}")),
    }
}

/// A product in the sense of RFC 9110, within the API server's limit for field managers.
fn user_agent_name(name: &str) -> Result<String, String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if (1..=128).contains(&name.len()) && name.chars().all(is_token) {
        Ok(name.to_owned())
    } else {
        Err(format!("must be a word of at most 128 letters, digits, '-', '_' or '.', but got {name:?}"))
    }
}
