//! The objects that `simulate` is given: from files, folders and stdin, with their places for error messages.
//!
//! ```text
//! source (files, stdin) ─> document (YAML or JSON to a tree) ─> object (lists taken apart) ─> load
//!                                                  position (the line of a field) <── refusal ──┘
//! ```

pub(crate) mod document;
pub(crate) mod object;
pub(crate) mod position;
pub(crate) mod problem;
pub(crate) mod refusal;
pub(crate) mod source;
