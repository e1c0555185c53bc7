//! The two `leader_election_*` metrics of every Kubernetes component, and two of ours.

use kube_api::plain_counter::PlainCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = [(&'static str, String); 1];

/// The metrics of all elections of a process, by the name of the Lease. Cheap to clone. By default not registered.
///
/// Names, types, labels and help are those of `k8s.io/component-base` (`metrics/prometheus/clientgo/leaderelection`), except
/// `leader_election_expired_leases_total`: a process that loses the Lease ends, so that its successor counts the loss; and
/// `leader_election_held`, which tells a Lease that no process may acquire from one that none can.
#[derive(Clone, Debug, Default)]
pub struct ElectionMetrics {
    master_status: Family<Labels, Gauge>,
    slow_path: Family<Labels, PlainCounter>,
    expired: Family<Labels, PlainCounter>,
    held: Family<Labels, Gauge>,
}

impl ElectionMetrics {
    /// Adds the metrics to `registry`. A second call on the same registry would expose every name twice.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 \
                    indicates master. 'name' is the string used to identify the lease. Please make sure to group by name";
        registry.register("leader_election_master_status", help, metrics.master_status.clone());
        let help = "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to \
                    identify the lease. Please make sure to group by name";
        registry.register("leader_election_slowpath_total", help, metrics.slow_path.clone());
        let help = "[ALPHA] Number of times that this process acquired the lease because its holder had ceased to renew \
                    it. 'name' is the string used to identify the lease";
        registry.register("leader_election_expired_leases_total", help, metrics.expired.clone());
        let help = "[ALPHA] Gauge of if the relevant lease has a hold in force, 1 indicates that no process acquires it \
                    until an operator releases the hold, 0 indicates none. 'name' is the string used to identify the lease";
        registry.register("leader_election_held", help, metrics.held.clone());
        metrics
    }

    /// Exposes the series of this Lease.
    pub(super) fn contends(&self, lease: &str) {
        self.set_leading(lease, false);
        self.set_held(lease, false);
        self.expired.get_or_create_owned(&labels(lease));
    }

    pub(super) fn count_expired(&self, lease: &str) {
        self.expired.get_or_create_owned(&labels(lease)).inc();
    }

    pub(super) fn set_leading(&self, lease: &str, leading: bool) {
        self.master_status.get_or_create_owned(&labels(lease)).set(leading.into());
    }

    pub(super) fn set_held(&self, lease: &str, held: bool) {
        self.held.get_or_create_owned(&labels(lease)).set(held.into());
    }

    pub(super) fn count_slow_path(&self, lease: &str) {
        self.slow_path.get_or_create_owned(&labels(lease)).inc();
    }
}

fn labels(lease: &str) -> Labels {
    [("name", lease.to_owned())]
}
