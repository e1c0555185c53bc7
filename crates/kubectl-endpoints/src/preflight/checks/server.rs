//! Checks of the API server: its version, streaming lists, priority and fairness.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::connection::server_version::ServerVersion;
use endpoint_controller_manager::gates::Minor;

use crate::preflight::check::{Judged, ok, warning};
use crate::preflight::facts::Priority;
use crate::preflight::subject::Subject;
use crate::preflight::unknown::Fact;

/// The levels that clients share that no other `FlowSchema` matches.
const SHARED: [&str; 2] = ["global-default", "catch-all"];

pub(super) fn version<'a>(version: &'a Fact<ServerVersion>, config: &Config) -> Judged<'a> {
    let version = version.as_ref()?;
    if let Some(skew) = version.skew(config.gates.versions()) {
        return warning(skew.message, skew.remedy);
    }
    let (oldest, newest) = (Minor::KNOWN.start(), Minor::KNOWN.end());
    ok(format!("The API server is {}; {oldest} to {newest} are supported", version.text))
}

pub(super) fn streaming(streaming: &Fact<bool>) -> Judged<'_> {
    if *streaming.as_ref()? {
        return ok("The API server streams lists");
    }
    warning(
        "The API server does not stream lists (WatchList): a start reads pages, which cost it more memory",
        "Nothing; or enable the feature gate WatchList of kube-apiserver",
    )
}

/// Looks at the priority of some requests, whose level usually is this one.
pub(super) fn priority<'a>(
    what: &str,
    usual: &str,
    priority: &'a Fact<Option<Priority>>,
    subject: &Subject,
) -> Judged<'a> {
    let Some(Priority { flow_schema, level }) = priority.as_ref()? else {
        return ok("The API server has no priority and fairness: no level can be full");
    };
    let of = subject.name();
    if !SHARED.contains(&&**level) {
        return ok(format!("{what} of {of} get the priority level {level} (FlowSchema {flow_schema})"));
    }
    warning(
        format!(
            "{what} of {of} get the priority level {level} (FlowSchema {flow_schema}), which all other clients \
             share: when these fill it, endpoint-controller-manager waits, and may lose its Lease"
        ),
        format!(
            "Run it with a service account of kube-system, or create a FlowSchema with the level {usual} for its user"
        ),
    )
}
