//! Checks of what this program would do first.

use crate::preflight::check::{Check, DELETIONS, PLANS, counted, first_ten};
use crate::preflight::facts::Takeover;
use crate::preflight::unknown::Fact;

pub(super) fn deletions(takeover: &Fact<Takeover>) -> Check {
    let deletions = match takeover {
        Ok(takeover) => &takeover.deletions,
        Err(unknown) => return Check::not_checked(DELETIONS, unknown),
    };
    if deletions.is_empty() {
        return Check::ok(DELETIONS, "A start deletes nothing");
    }
    Check::warning(
        DELETIONS,
        format!("A start deletes {}: {}", counted(deletions.len(), "object"), first_ten(deletions)),
        "Create a Service without a selector of the name of each that is in use, before any start of \
         endpoint-controller-manager or kube-controller-manager; kubectl endpoints audit shows them one by one",
    )
}

pub(super) fn plans(takeover: &Fact<Takeover>) -> Check {
    let Takeover { changes, problems, services, .. } = match takeover {
        Ok(takeover) => takeover,
        Err(unknown) => return Check::not_checked(PLANS, unknown),
    };
    if !changes.is_empty() {
        return Check::failed(
            PLANS,
            format!("The first plans have {}: {}", counted(changes.len(), "write"), first_ten(changes)),
            "Give endpoint-controller-manager the flags of kube-controller-manager (--max-endpoints-per-slice, \
             --mirroring-max-endpoints-per-subset, --feature-gates, --controllers), here and when it runs; if they \
             are the same, the program that writes is behind (kubectl endpoints audit), or waits for the approval of its first \
             writes (kubectl endpoints status)",
        );
    }
    if !problems.is_empty() {
        return Check::warning(
            PLANS,
            format!("The first plans change nothing, as far as they can be made: {}", first_ten(problems)),
            "See the events of these Services; kube-controller-manager may fail for them too",
        );
    }
    Check::ok(PLANS, format!("The first plans of {} change nothing", counted(*services, "Service")))
}
