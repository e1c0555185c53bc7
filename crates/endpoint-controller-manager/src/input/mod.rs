//! The objects that subcommands are given: from files, folders and stdin, with their places for error messages.
//!
//! ```text
//! source (files, stdin) ─> document (YAML or JSON to a tree) ─> object (lists taken apart) ─> the subcommand
//!                                                  position (the line of a field) <── refusal ──┘
//! ```

pub(crate) mod document;
pub(crate) mod object;
pub(crate) mod position;
pub(crate) mod problem;
mod read;
pub(crate) mod refusal;
pub(crate) mod source;

pub(crate) use read::objects;
