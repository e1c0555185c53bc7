//! The Leases of both programs.

use endpoint_controller_manager::config::Config;

use crate::lease::{Lease, State, ago, state};
use crate::preflight::check::{Judged, ok, warning};
use crate::preflight::facts::Facts;

/// Checks kube-controller-manager's.
pub(super) fn upstream(facts: &Facts) -> Judged<'_> {
    let lease = facts.upstream_lease.as_ref()?.as_ref();
    let none = "Check that kube-controller-manager runs: all other controllers of the cluster are in it";
    match state(lease) {
        State::Held(holder) => ok(format!("Held by {holder}, renewed {}", renewed(lease, facts))),
        State::Expired(holder) => warning(
            format!("{holder} does not renew it any more; the last time was {}", renewed(lease, facts)),
            none,
        ),
        State::Free | State::Hold => warning("No process holds it", none),
    }
}

/// Checks that of endpoint-controller-manager.
pub(super) fn own<'a>(facts: &'a Facts, config: &Config) -> Judged<'a> {
    if config.leader_election.is_none() {
        return warning(
            "Without --leader-elect endpoint-controller-manager uses no Lease, and writes as soon as its cache is \
             filled",
            "Run one replica, and start it after kube-controller-manager has ended its controllers",
        );
    }
    let lease = facts.own_lease.as_ref()?.as_ref();
    match state(lease) {
        State::Free => {
            ok("Not held: a replica that starts leads at once, unless the Lease is put on hold first")
        }
        State::Hold => ok("On hold: a replica that starts waits until the hold is released"),
        State::Held(holder) => ok(format!("Held by {holder}, renewed {}", renewed(lease, facts))),
        State::Expired(holder) => warning(
            format!(
                "Left by {holder}, which ended without releasing it {}, unless it still runs with another clock",
                renewed(lease, facts)
            ),
            "Look whether that process runs, and compare the clock of its node with that of the API server. A Lease that was \
             left needs nothing: the next start waits for its duration, and acquires it",
        ),
    }
}

fn renewed(lease: Option<&Lease>, facts: &Facts) -> String {
    lease.and_then(|lease| lease.renewed).map_or_else(|| "never".to_owned(), |time| ago(time, facts.now))
}
