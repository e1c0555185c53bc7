//! Parameters that exclude each other: `ValidateListOptions` of `k8s.io/apimachinery pkg/apis/meta/internalversion`.

use std::borrow::Cow;

use super::options::ListOptions;
use crate::selectors::go_quote;
use crate::status::{Cause, Status};

const MATCH: &str = "resourceVersionMatch";

/// Checks the parameters against each other.
///
/// # Errors
/// 422 with all errors.
pub(super) fn validate(options: &ListOptions) -> Result<(), Status> {
    let causes = if options.watch { of_watch(options) } else { of_list(options) };
    if causes.is_empty() { Ok(()) } else { Err(invalid(causes)) }
}

fn of_list(options: &ListOptions) -> Vec<Cause> {
    let mut causes = Vec::new();
    let wanted = options.resource_version_match.as_str();
    if !wanted.is_empty() {
        if options.resource_version.is_empty() {
            causes.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !options.continue_token.is_empty() {
            causes.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if wanted != "Exact" && wanted != "NotOlderThan" {
            causes.push(unsupported(wanted, r#""Exact", "NotOlderThan", """#));
        }
        if wanted == "Exact" && options.resource_version == "0" {
            let text = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(forbidden(MATCH, text));
        }
    }
    if options.send_initial_events.is_some() {
        causes.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    causes
}

fn of_watch(options: &ListOptions) -> Vec<Cause> {
    let mut causes = Vec::new();
    let wanted = options.resource_version_match.as_str();
    if options.send_initial_events.is_some() && wanted != "NotOlderThan" {
        let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(forbidden(MATCH, text));
    }
    if !wanted.is_empty() {
        if options.send_initial_events.is_none() {
            let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(forbidden(MATCH, text));
        }
        if wanted != "NotOlderThan" {
            causes.push(unsupported(wanted, r#""NotOlderThan""#));
        }
        if !options.continue_token.is_empty() {
            causes.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    causes
}

fn forbidden(field: &str, text: &str) -> Cause {
    Cause {
        reason: Cow::Borrowed("FieldValueForbidden"),
        message: format!("Forbidden: {text}"),
        field: field.to_owned(),
    }
}

fn unsupported(value: &str, supported: &str) -> Cause {
    let value = go_quote(value);
    Cause {
        reason: Cow::Borrowed("FieldValueNotSupported"),
        message: format!("Unsupported value: {value}: supported values: {supported}"),
        field: MATCH.to_owned(),
    }
}

fn invalid(causes: Vec<Cause>) -> Status {
    let errors: Vec<_> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let errors = match errors.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {errors}");
    let mut status = Status::new(422, "Invalid", message).about("meta.k8s.io", "ListOptions", "");
    status.details.get_or_insert_default().causes = causes;
    status
}
