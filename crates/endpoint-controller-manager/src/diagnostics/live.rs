//! Objects of a cluster as JSON, which keep what reasons need: conditions, gates and times.

mod kinds;
mod list;

pub(crate) use kinds::Resource;
pub(crate) use list::{List, list};
