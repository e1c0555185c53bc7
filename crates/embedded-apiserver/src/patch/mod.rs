//! Patches: JSON merge patch, JSON patch, strategic merge patch. Server-side apply is in [`managed_fields`](crate::managed_fields).
//!
//! Merge patches and JSON patches work on JSON text, of which they read what they change; strategic patches work on trees. The
//! caller decodes the result as the type of the object, which reports what does not fit.

mod document;
pub(crate) mod go_text;
mod json_patch;
mod merge;
mod refusal;
mod strategic;

#[cfg(test)]
mod tests;

pub(crate) use json_patch::{check_operations, json_patch};
pub(crate) use merge::merge;
pub(crate) use strategic::{restore, strategic};
