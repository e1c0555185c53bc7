//! The judgements: facts to checks, without requests.

mod built_in;
mod leases;
mod leftovers;
mod permissions;
mod server;
mod takeover;
mod writers;

use endpoint_controller_manager::config::Config;

use super::check::{
    BUILT_INS, Check, DELETIONS, KUBEADM, OBJECTS, OWN_LEASE, PLANS, PRIORITY, PRIORITY_OF_LEASE, STREAMING,
    UPSTREAM_LEASE, VERSION, WORKLOADS, WRITERS,
};
use super::facts::Facts;
use super::subject::Subject;
pub(crate) use writers::UPSTREAM;

/// All checks, in the order in which they are shown.
pub(super) fn checks(facts: &Facts, config: &Config, subject: &Subject, before_release: bool) -> Vec<Check> {
    let requests = server::priority("Requests", "workload-high", &facts.priority, subject);
    let of_lease =
        server::priority("Requests for the Lease", "leader-election", &facts.priority_of_lease, subject);
    let mut checks = vec![
        Check::new(VERSION, server::version(&facts.version, config)),
        Check::new(STREAMING, server::streaming(&facts.streaming)),
        Check::new(PRIORITY, requests),
        Check::new(PRIORITY_OF_LEASE, of_lease),
    ];
    checks.extend(permissions::permissions(&facts.permissions, subject));
    checks.extend([
        Check::new(WRITERS, writers::last_writers(facts, config)),
        Check::new(UPSTREAM_LEASE, leases::upstream(facts)),
        Check::new(OWN_LEASE, leases::own(facts, config)),
        Check::new(BUILT_INS, built_in::built_ins(facts, config, before_release)),
        Check::new(KUBEADM, built_in::kubeadm(facts)),
        Check::new(DELETIONS, takeover::deletions(&facts.takeover)),
        Check::new(PLANS, takeover::plans(&facts.takeover)),
        Check::new(WORKLOADS, leftovers::workloads(facts)),
        Check::new(OBJECTS, leftovers::objects(facts, config)),
    ]);
    checks
}

#[cfg(test)]
mod tests;
