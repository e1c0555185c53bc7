//! Values as Go prints them.

pub(crate) use crate::go_quote::{is_printable, quote};
pub(crate) use crate::patch::go_text::json;
