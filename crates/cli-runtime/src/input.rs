//! The objects that subcommands are given: from files, directories and stdin, with their places for error messages.
//!
//! ```text
//! source (files, stdin) ─> document (YAML or JSON to a tree) ─> object (lists taken apart) ─> the subcommand
//! ```

pub mod document;
pub mod object;
mod parse;
pub mod position;
pub mod problem;
pub mod source;

pub use parse::objects;
