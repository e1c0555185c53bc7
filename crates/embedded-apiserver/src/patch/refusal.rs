//! The response to patches that do not apply.

use crate::status::{Details, Status};

/// 422 without the reason: upstream keeps it to itself.
pub(super) fn unprocessable() -> Status {
    let mut status =
        Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
    status.details = Some(Box::<Details>::default());
    status
}
