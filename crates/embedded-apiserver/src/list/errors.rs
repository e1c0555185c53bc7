//! Errors of lists and watches, in the words of the API server.

use std::borrow::Cow;

use crate::status::{Cause, Status};

/// 504: the version is in the future.
pub(crate) fn too_large(version: u64, current: u64, retry_after_seconds: u32) -> Status {
    let message = format!("Timeout: Too large resource version: {version}, current: {current}");
    let mut status = Status::new(504, "Timeout", message);
    let details = status.details.get_or_insert_default();
    details.retry_after_seconds = retry_after_seconds;
    details.causes.push(Cause {
        reason: Cow::Borrowed("ResourceVersionTooLarge"),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    });
    status
}

/// 410: the version of a list is compacted.
pub(super) fn expired() -> Status {
    Status::expired("The resourceVersion for the provided list is too old.")
}

/// 410: the version of a continue token is compacted. `token` continues at the current version.
pub(super) fn continue_expired(token: String) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = token;
    status
}

/// 400: an unusable continue token.
pub(super) fn invalid_token() -> Status {
    Status::bad_request("invalid continue token")
}
