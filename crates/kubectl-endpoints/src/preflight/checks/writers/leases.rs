//! The Leases of both programs.

use endpoint_controller_manager::config::Config;

use crate::lease::{Lease, State, ago, state};
use crate::preflight::check::{Check, OWN_LEASE, UPSTREAM_LEASE};
use crate::preflight::facts::Facts;

/// The checks of kube-controller-manager's Lease and of this program's.
pub(super) fn leases(facts: &Facts, config: &Config) -> [Check; 2] {
    [upstream(facts), own(facts, config)]
}

fn upstream(facts: &Facts) -> Check {
    let lease = match &facts.upstream_lease {
        Ok(lease) => lease.as_ref(),
        Err(unknown) => return Check::not_checked(UPSTREAM_LEASE, unknown),
    };
    let none = "Check that kube-controller-manager runs: all other controllers of the cluster are in it";
    match state(lease) {
        State::Held(holder) => {
            Check::ok(UPSTREAM_LEASE, format!("Held by {holder}, renewed {}", renewed(lease, facts)))
        }
        State::Expired(holder) => Check::warning(
            UPSTREAM_LEASE,
            format!("{holder} does not renew it any more; the last time was {}", renewed(lease, facts)),
            none,
        ),
        State::Free | State::Hold => Check::warning(UPSTREAM_LEASE, "No process holds it", none),
    }
}

fn own(facts: &Facts, config: &Config) -> Check {
    if config.leader_election.is_none() {
        return Check::warning(
            OWN_LEASE,
            "Without --leader-elect endpoint-controller-manager uses no Lease, and writes as soon as its cache is \
             filled",
            "Run one replica, and start it after kube-controller-manager has ended its controllers",
        );
    }
    let lease = match &facts.own_lease {
        Ok(lease) => lease.as_ref(),
        Err(unknown) => return Check::not_checked(OWN_LEASE, unknown),
    };
    match state(lease) {
        State::Free => Check::ok(
            OWN_LEASE,
            "Not held: a replica that starts leads at once, unless the Lease is put on hold first",
        ),
        State::Hold => {
            Check::ok(OWN_LEASE, "On hold: a replica that starts waits until the hold is released")
        }
        State::Held(holder) => {
            Check::ok(OWN_LEASE, format!("Held by {holder}, renewed {}", renewed(lease, facts)))
        }
        State::Expired(holder) => Check::warning(
            OWN_LEASE,
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
