//! Checks of the API server: its version, streaming lists, priority and fairness.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::connection::server_version::ServerVersion;
use endpoint_controller_manager::gates::Minor;

use crate::preflight::check::{Check, Id, PRIORITY, PRIORITY_OF_LEASE, STREAMING, VERSION};
use crate::preflight::facts::Priority;
use crate::preflight::subject::Subject;
use crate::preflight::unknown::Fact;

/// The levels that clients share that no other `FlowSchema` matches.
const SHARED: [&str; 2] = ["global-default", "catch-all"];

pub(super) fn version(version: &Fact<ServerVersion>, config: &Config) -> Check {
    let version = match version {
        Ok(version) => version,
        Err(unknown) => return Check::not_checked(VERSION, unknown),
    };
    if let Some(skew) = version.skew(config.gates.versions()) {
        return Check::warning(VERSION, skew.message, skew.remedy);
    }
    let (oldest, newest) = (Minor::KNOWN.start(), Minor::KNOWN.end());
    Check::ok(VERSION, format!("The API server is {}; {oldest} to {newest} are supported", version.text))
}

pub(super) fn streaming(streaming: &Fact<bool>) -> Check {
    match streaming {
        Ok(true) => Check::ok(STREAMING, "The API server streams lists"),
        Ok(false) => Check::warning(
            STREAMING,
            "The API server does not stream lists (WatchList): a start reads pages, which cost it more memory",
            "Nothing; or enable the feature gate WatchList of kube-apiserver",
        ),
        Err(unknown) => Check::not_checked(STREAMING, unknown),
    }
}

pub(super) fn priority(priority: &Fact<Option<Priority>>, subject: &Subject) -> Check {
    check_priority(PRIORITY, "Requests", "workload-high", priority, subject)
}

pub(super) fn priority_of_lease(priority: &Fact<Option<Priority>>, subject: &Subject) -> Check {
    check_priority(PRIORITY_OF_LEASE, "Requests for the Lease", "leader-election", priority, subject)
}

fn check_priority(
    id: Id,
    what: &str,
    usual: &str,
    priority: &Fact<Option<Priority>>,
    subject: &Subject,
) -> Check {
    let of = subject.name();
    match priority {
        Ok(None) => Check::ok(id, "The API server has no priority and fairness: no level can be full"),
        Ok(Some(Priority { flow_schema, level })) if SHARED.contains(&&**level) => Check::warning(
            id,
            format!(
                "{what} of {of} get the priority level {level} (FlowSchema {flow_schema}), which all other clients \
                 share: when these fill it, endpoint-controller-manager waits, and may lose its Lease"
            ),
            format!(
                "Run it with a service account of kube-system, or create a FlowSchema with the level {usual} for its user"
            ),
        ),
        Ok(Some(Priority { flow_schema, level })) => {
            Check::ok(id, format!("{what} of {of} get the priority level {level} (FlowSchema {flow_schema})"))
        }
        Err(unknown) => Check::not_checked(id, unknown),
    }
}
