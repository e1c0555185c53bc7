//! Patches: JSON merge patch, strategic merge patch, and a part of JSON patch. Server-side apply is in
//! [`managed_fields`](crate::managed_fields).
//!
//! All work on trees. The caller decodes the result as the type of the object, which reports what does not fit.

pub(crate) mod go_text;
mod json;
mod merge;
mod refusal;
mod strategic;

#[cfg(test)]
mod tests;

pub(crate) use json::json;
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;
