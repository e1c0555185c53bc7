//! Checks of the API server: its version, streaming lists, priority and fairness.

use crate::config::Config;
use crate::diagnostics::preflight::check::{Check, Id, PRIORITY, PRIORITY_OF_LEASE, STREAMING, VERSION};
use crate::diagnostics::preflight::facts::{Priority, ServerVersion};
use crate::diagnostics::preflight::subject::Subject;
use crate::diagnostics::preflight::unknown::Fact;
use crate::gates::Minor;

/// The levels that clients share that no other `FlowSchema` matches.
const SHARED: [&str; 2] = ["global-default", "catch-all"];

pub(super) fn version(version: &Fact<ServerVersion>, config: &Config) -> Check {
    let version = match version {
        Ok(version) => version,
        Err(unknown) => return Check::not_checked(VERSION, unknown),
    };
    let text = &version.text;
    let Some(minor) = version.minor.map(Minor::new) else {
        return Check::warning(
            VERSION,
            format!("The API server's version {text} is none of Kubernetes'"),
            "Try this program on a test cluster of the same version",
        );
    };
    let (oldest, newest) = (Minor::KNOWN.start(), Minor::KNOWN.end());
    let emulated = config.gates.versions().emulated();
    if minor < *oldest {
        Check::warning(
            VERSION,
            format!(
                "The API server is {text}, older than {oldest}, the oldest release that this program supports"
            ),
            "Upgrade the API server first",
        )
    } else if minor > *newest {
        Check::warning(
            VERSION,
            format!(
                "The API server is {text}, newer than {newest}, the newest release that this program supports"
            ),
            "Use a release of this program that supports it",
        )
    } else if emulated > minor {
        Check::warning(
            VERSION,
            format!(
                "The API server is {text}, and this program behaves as {emulated}: components are never newer"
            ),
            format!(
                "Give --emulated-version={minor}, here and to the program; or upgrade the API server first"
            ),
        )
    } else {
        Check::ok(VERSION, format!("The API server is {text}; {oldest} to {newest} are supported"))
    }
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
                 share: when these fill it, this program waits, and may lose its Lease"
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
