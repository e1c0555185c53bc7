//! Patches: JSON merge patch, JSON patch, strategic merge patch. Server-side apply is in [`managed_fields`](crate::managed_fields).
//!
//! Patches work on trees. The caller decodes the result as the type of the object, which reports what does not fit.

pub(crate) mod go_text;
mod json_patch;
mod merge;
mod strategic;

#[cfg(test)]
mod tests;

use crate::status::{Details, Status};

pub(crate) use json_patch::{check_operations, json_patch};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;

/// 422 without the reason: upstream keeps it to itself.
fn unprocessable() -> Status {
    let mut status =
        Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
    status.details = Some(Box::<Details>::default());
    status
}
