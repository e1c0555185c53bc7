//! Parameters that exclude each other: `ValidateListOptions` of `k8s.io/apimachinery pkg/apis/meta/internalversion`.

use super::options::ListOptions;
use crate::kinds::{Errors, Path};
use crate::status::Status;

const MATCH: Path<'static> = Path::root("resourceVersionMatch");

/// Checks the parameters against each other, and fails with 422 and all errors.
pub(super) fn validate(options: &ListOptions) -> Result<(), Status> {
    let mut errors = Errors::default();
    if options.watch {
        of_watch(options, &mut errors);
    } else {
        of_list(options, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into_status("meta.k8s.io", "ListOptions", "")) }
}

fn of_list(options: &ListOptions, errors: &mut Errors) {
    let wanted = options.resource_version_match.as_str();
    if !wanted.is_empty() {
        if options.resource_version.is_empty() {
            errors.forbidden(&MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !options.continue_token.is_empty() {
            errors.forbidden(&MATCH, "resourceVersionMatch is forbidden when continue is provided");
        }
        if wanted != "Exact" && wanted != "NotOlderThan" {
            errors.not_supported(&MATCH, wanted, &["Exact", "NotOlderThan", ""]);
        }
        if wanted == "Exact" && options.resource_version == "0" {
            let text = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.forbidden(&MATCH, text);
        }
    }
    if options.send_initial_events.is_some() {
        let path = Path::root("sendInitialEvents");
        errors.forbidden(&path, "sendInitialEvents is forbidden for list");
    }
}

fn of_watch(options: &ListOptions, errors: &mut Errors) {
    let wanted = options.resource_version_match.as_str();
    let has_initial_events = options.send_initial_events.is_some();
    if has_initial_events && wanted != "NotOlderThan" {
        let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.forbidden(&MATCH, text);
    }
    if wanted.is_empty() {
        return;
    }
    if !has_initial_events {
        let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.forbidden(&MATCH, text);
    }
    if wanted != "NotOlderThan" {
        errors.not_supported(&MATCH, wanted, &["NotOlderThan"]);
    }
    if !options.continue_token.is_empty() {
        errors.forbidden(&MATCH, "resourceVersionMatch is forbidden when continue is provided");
    }
}
