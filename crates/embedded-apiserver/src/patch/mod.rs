//! Patches: JSON merge patch, JSON patch, strategic merge patch.
//!
//! They work on trees. The caller decodes the result as the type of the object, which reports what does not fit.

mod json_patch;
mod merge;
mod nulls;
mod refusal;
mod strategic;

#[cfg(test)]
mod tests;

pub(crate) use json_patch::{check_operations, json_patch};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;
