//! Selectors of lists and watches, and their matching on encoded objects.
//!
//! An object is scanned for what a selector asks, never decoded: a label costs a pass over the metadata, a field a pass over
//! the messages on its path.

mod fields;
mod labels;
mod lexer;
mod scan;
mod selection;

pub(crate) use crate::go_quote::quote as go_quote;
pub(crate) use fields::{FieldSelector, FieldSource, SelectableField};
pub use labels::LabelSelector;
pub(crate) use scan::text_at;
pub(crate) use selection::Selection;
