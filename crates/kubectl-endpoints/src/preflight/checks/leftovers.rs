//! Checks of what an earlier try has left.

use endpoint_controller_manager::config::Config;

use crate::lease::{Lease, State, ago, state};
use crate::preflight::check::{Judged, counted, first_ten, ok, warning};
use crate::preflight::facts::Facts;

/// The state of endpoint-controller-manager's Lease; free if it cannot be read.
fn own(facts: &Facts) -> State<'_> {
    state(facts.own_lease.as_ref().ok().and_then(Option::<Lease>::as_ref))
}

pub(super) fn workloads(facts: &Facts) -> Judged<'_> {
    let workloads = facts.workloads.as_ref()?;
    let list = first_ten(workloads);
    match own(facts) {
        State::Held(_) if workloads.is_empty() => {
            ok("The program runs, in no Deployment or pod with its label")
        }
        State::Held(_) => ok(format!("The program runs: {list}")),
        State::Hold if workloads.is_empty() => warning(
            "The Lease is on hold, and no Deployment or pod of endpoint-controller-manager waits for it",
            "Continue the migration. After a rollback, the hold keeps a process that is started again from leading",
        ),
        State::Hold => ok(format!("The program waits for the release of the Lease: {list}")),
        State::Free | State::Expired(_) if workloads.is_empty() => {
            ok("No Deployment and no static pod of endpoint-controller-manager")
        }
        State::Free | State::Expired(_) => warning(
            format!("Left of an earlier try, or not able to start: {list}"),
            "See its log; delete it (kubectl delete -k deploy/base) before you begin anew",
        ),
    }
}

pub(super) fn objects<'a>(facts: &'a Facts, config: &Config) -> Judged<'a> {
    let writers = facts.writers.as_ref()?;
    match writers.0.get(&config.user_agent_name) {
        Some(_) if matches!(own(facts), State::Held(_)) => {
            ok("endpoint-controller-manager leads: its objects are not leftovers")
        }
        Some(written) => warning(
            format!(
                "{} was the last writer of {}, and does not lead: the newest is {}, {}",
                config.user_agent_name,
                counted(written.count, "object"),
                written.object,
                ago(written.newest, facts.now)
            ),
            "Nothing, if that try was meant: their next change writes them as any other",
        ),
        None => ok("No object was last written by endpoint-controller-manager"),
    }
}
