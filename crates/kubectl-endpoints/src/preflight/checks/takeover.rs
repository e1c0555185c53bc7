//! Checks of what endpoint-controller-manager would do first.

use crate::preflight::check::{Judged, counted, failed, first_ten, ok, warning};
use crate::preflight::facts::Takeover;
use crate::preflight::unknown::Fact;

pub(super) fn deletions(takeover: &Fact<Takeover>) -> Judged<'_> {
    let deletions = &takeover.as_ref()?.deletions;
    if deletions.is_empty() {
        return ok("A start deletes nothing");
    }
    warning(
        format!("A start deletes {}: {}", counted(deletions.len(), "object"), first_ten(deletions)),
        "Create a Service without a selector of the name of each that is in use, before any start of \
         endpoint-controller-manager or kube-controller-manager; kubectl endpoints audit shows them one by one",
    )
}

pub(super) fn plans(takeover: &Fact<Takeover>) -> Judged<'_> {
    let Takeover { changes, problems, services, .. } = takeover.as_ref()?;
    if !changes.is_empty() {
        return failed(
            format!("The first plans have {}: {}", counted(changes.len(), "write"), first_ten(changes)),
            "Give endpoint-controller-manager the flags of kube-controller-manager (--max-endpoints-per-slice, \
             --mirroring-max-endpoints-per-subset, --feature-gates, --controllers), here and when it runs; if they \
             are the same, the program that writes is behind (kubectl endpoints audit), or waits for the approval of its first \
             writes (kubectl endpoints status)",
        );
    }
    if !problems.is_empty() {
        return warning(
            format!("The first plans change nothing, as far as they can be made: {}", first_ten(problems)),
            "See the events of these Services; kube-controller-manager may fail for them too",
        );
    }
    ok(format!("The first plans of {} change nothing", counted(*services, "Service")))
}
