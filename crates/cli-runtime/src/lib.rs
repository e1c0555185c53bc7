//! The parts that command lines share, in the place of `k8s.io/cli-runtime`: subcommands, manifests, results.
//!
//! ```text
//! words ─> Program ─> subcommand        -f ─> input ─> objects ─> differences ─> printing ─> stdout
//! ```

// What is printed goes through `printing`, which escapes control characters.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod completion;
pub mod differences;
pub mod input;
mod man;
mod names;
pub mod printing;
mod program;
pub mod style;
pub mod text;
pub mod usage;

pub use names::Names;
pub use program::{COMMANDS_FIRST, Program, Subcommand, long_form};
